"""Plans: everything that decides the outcome of a run, as data that travels to worker processes."""

from __future__ import annotations

import zlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.compilers.compile_options import Sides
from parity.engine.case_records import Column, Task
from parity.engine.known_issues import KnownIssues
from parity.model.code_object import CodeObject
from parity.op import Entry
from parity.runners import OpRunner, Runner, device_description
from parity.suite.loading import Suite, load_suite
from parity.suite.sample_cache import kernel_cases
from parity.suite.selection import Selection

SECONDS = 60.0
"""Time limit for one case in seconds."""

CAPTURED_SECONDS = 600.0
"""Time limit for a captured launch in seconds. A launch may be larger than any case."""


@dataclass(frozen=True)
class Plan:
    """A run in a form that pickles. Ops hold functions, so tasks refer to them by name.

    Attributes:
        kernels: The folder of the kernels.
        cases: The folder of the case files.
        tasks: The kernel entries to run, each with its columns.
        examples: Cases to draw per kernel entry. With the default number or more, edge cases are added.
        seed: Seed of the drawn cases.
        checked: Check every memory access.
        code: The code object for each (module, column).
        seconds: Time limit for one case.
        known: The known issues. Known failures are marked and not shrunk.
        sides: Compile options of both sides.
        instantiated, chosen: As in ``Suite``.
        launches: "any", or "host" if cases keep to the launches of the host code.
        allow_vacuous: As in ``Suite``.
        specs: Replaces the spec of a column's runner where its file lies at another path.
        files: Names of the case files that declare the ops of the tasks; empty if unknown.
        imported: The files that the case files import and read.
        compiled: The files that the built modules may include, and their sources.
        captured: The suite itself, if its cases are the launches of a capture. It holds no functions.
    """

    kernels: Path
    cases: Path
    tasks: tuple[Task, ...]
    examples: int
    seed: int
    checked: bool
    code: Mapping[tuple[str, Column], CodeObject]
    seconds: float = SECONDS
    known: KnownIssues = field(default_factory=KnownIssues)
    sides: Sides = field(default_factory=Sides)
    instantiated: Mapping[str, Sequence[str]] = field(default_factory=dict)
    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict)
    launches: str = "any"
    allow_vacuous: tuple[str, ...] = ()
    specs: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    imported: tuple[Path, ...] = ()
    compiled: tuple[Path, ...] = ()
    captured: Suite | None = None

    @classmethod
    def of(
        cls,
        suite: Suite,
        tasks: Sequence[Task],
        code: Mapping[tuple[str, Column], CodeObject],
        *,
        examples: int,
        seed: int = 0,
        checked: bool = True,
        known: KnownIssues | None = None,
    ) -> Plan:
        """Return a plan for tasks of a suite."""
        return cls(
            suite.kernels.absolute(),
            suite.cases.absolute(),
            tuple(tasks),
            examples,
            seed,
            checked,
            code,
            known=known or KnownIssues(),
            sides=suite.sides,
            instantiated=suite.instantiated,
            chosen=suite.chosen,
            launches=suite.launches,
            imported=suite.imported,
            captured=suite if suite.capture else None,
            seconds=CAPTURED_SECONDS if suite.capture else SECONDS,
            allow_vacuous=suite.allow_vacuous,
            files=tuple({suite.case_files[task.op].name: None for task in tasks}) if suite.case_files else (),
        )

    def suite(self) -> Suite:
        """Load the suite of this plan; only the case files that the tasks need, if possible.

        Raises:
            UsageError: A folder has become unusable.
        """
        if self.captured:
            return self.captured
        found = load_suite(self.kernels, self.cases, sides=self.sides, only=self.files)
        if (
            self.files and not {task.op for task in self.tasks} <= found.ops.keys()
        ):  # a case file depends on another case file
            found = load_suite(self.kernels, self.cases, sides=self.sides)
        found = replace(found, instantiated=self.instantiated, chosen=self.chosen)
        return replace(found, launches=self.launches, allow_vacuous=self.allow_vacuous)

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(dict.fromkeys(column for task in self.tasks for column in task.columns))

    @property
    def made_by(self) -> dict[str, str]:
        """The origin of each target's code: its sources, compiler and headers."""
        found: dict[str, dict[str, None]] = {}
        for (_, column), code in self.code.items():
            if code.made_by:
                found.setdefault(column.target, {})[code.made_by] = None
        return {target: "; ".join(texts) for target, texts in found.items()}

    def entry_seed(self, entry: Entry) -> int:
        """Return the seed of one kernel entry. It does not depend on what else is selected."""
        return zlib.crc32(f"{self.seed}/{entry.name}".encode())

    def draw(self, suite: Suite, task: Task, *, sparse: bool = False) -> list[tuple[str, str]]:
        """Return the title (or an empty string) and text of every case of a task; of sparse cases if requested.

        Raises:
            UsageError: The op's declaration gives no case.
        """
        if task.cases is not None:
            return list(task.cases)
        entry = suite.entry(task)
        found = kernel_cases(entry.op, entry.dtypes, self.launches, self.entry_seed(entry), self.examples)
        titles = {text: title for title, text, is_sparse in found if sparse or not is_sparse}
        for title, text in (*suite.found_cases(entry), *task.also):
            titles.setdefault(text, title)  # a recording has the found cases, too
        return [(title, text) for text, title in titles.items()]


def runner_columns(runner: Runner | OpRunner, targets: Iterable[str], spec: str = "") -> tuple[Column, ...]:
    """Return one column per target. ``spec`` is the text that selected the runner, if it is not the runner's name."""
    device = device_description(runner).get("gpu", "")
    return tuple(
        Column(runner.name, target, str(runner.evidence), runner.vendor, spec or runner.name, device)
        for target in targets
    )


def make_tasks(selection: Selection, columns: Iterable[Column]) -> tuple[Task, ...]:
    """Return one task per kernel entry. Explicit cases are grouped by entry."""
    everywhere = tuple(columns)
    found = [Task(e.op.name, e.dtypes, everywhere) for e in selection.entries]
    texts: dict[tuple[str, tuple[str, ...]], list[tuple[str, str]]] = {}
    for case in selection.cases:
        texts.setdefault((case.op, case.dtypes), []).append(("", str(case)))
    found += [Task(*key, everywhere, tuple(each), picked=True) for key, each in texts.items()]
    return tuple(found)


def runnable_tasks(tasks: Iterable[Task], suite: Suite, code: Container[tuple[str, Column]]) -> tuple[Task, ...]:
    """Restrict each task to the columns that have code for it or need none, and drop tasks without columns."""
    found = (
        replace(task, columns=tuple(c for c in task.columns if c.ready(suite.op(task.op).module, code)))
        for task in tasks
    )
    return tuple(task for task in found if task.columns)
