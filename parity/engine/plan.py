"""Plans: what a run will do, as data that can be sent to a worker process."""

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
from parity.suite.options import EXAMPLES
from parity.suite.sample_cache import drawn_cases
from parity.suite.selection import Selection

__all__ = ["Plan", "make_tasks", "runnable_tasks", "runner_columns"]

SECONDS = 60.0
"""Limit for a case that gives no answer."""


@dataclass(frozen=True)
class Plan:
    """A run: everything that decides its outcome, in a form that pickles (ops hold functions, so they are named).

    ``examples`` cases are drawn per kernel entry beside the named ones, from ``seed``; if they are as many as usual,
    the edges of an op (``Op.edge_cases``) come beside them. ``code`` maps a module and a column to the code object that
    runs there, if one does. A case that gives no answer within ``seconds`` is ended. A failure that is ``known`` is
    marked, and not made smaller. ``sides`` is how the suite's kernels are compiled.
    ``launches`` is "any", or "host" if drawn and named cases keep to the host's own launches. ``specs`` has what
    makes a runner, by the spec of its columns, where its file lies at another place. ``files`` are the names of the
    case files that declare the ops of the tasks; none, if that is not known.
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
    launches: str = "any"
    specs: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()

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
        seconds: float = SECONDS,
        known: KnownIssues | None = None,
    ) -> Plan:
        """A run of tasks of a suite, of which a worker process has all that it needs to load it again."""
        return cls(
            suite.kernels.absolute(),
            suite.cases.absolute(),
            tuple(tasks),
            examples,
            seed,
            checked,
            code,
            seconds,
            known or KnownIssues(),
            suite.sides,
            suite.launches,
            files=tuple({suite.case_files[task.op].name: None for task in tasks}) if suite.case_files else (),
        )

    def suite(self) -> Suite:
        """The suite of this run, loaded anew: as far as the tasks need it, if that is enough.

        Raises:
            UsageError: a folder cannot be used any more.
        """
        found = load_suite(self.kernels, self.cases, sides=self.sides, only=self.files)
        if self.files and not {task.op for task in self.tasks} <= found.ops.keys():  # a case file that needs another
            found = load_suite(self.kernels, self.cases, sides=self.sides)
        return replace(found, launches=self.launches)

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

    def seed_of(self, entry: Entry) -> int:
        """The seed of one kernel entry, so that its cases do not depend on what else is selected."""
        return zlib.crc32(f"{self.seed}/{entry.name}".encode())

    def draw(self, suite: Suite, task: Task) -> list[tuple[str, str]]:
        """Title (or an empty string) and text of every case of a task.

        Raises:
            UsageError: the op's declaration gives no case.
        """
        if task.cases is not None:
            return list(task.cases)
        entry = suite.entry(task)
        op, dtypes, launches = entry.op, entry.dtypes, self.launches
        cases = [(title, str(case)) for title, case in op.named_cases(dtypes, launches=launches)]
        found = drawn_cases(op, dtypes, launches, self.seed_of(entry), self.examples)
        if not found:
            fulfils = f"fulfils where={op.where!r} and " if op.where else ""
            raise op.origin.error(f"nothing that is drawn {fulfils}has a launch; give choices= that do")
        cases += [("", text) for text in found]
        if self.examples >= EXAMPLES:
            edges = op.edge_cases([op.parse(text) for text in found], launches=launches)
            cases += [(title, str(case)) for title, case in edges]
        drawn = {text for _, text in cases}
        return cases + [(title, text) for title, text in (*suite.found_cases(entry), *task.also) if text not in drawn]


def runner_columns(runner: Runner | OpRunner, targets: Iterable[str], spec: str = "") -> tuple[Column, ...]:
    """A column per target. ``spec`` is how the runner was asked for, if not by its name alone."""
    device = device_description(runner).get("gpu", "")
    return tuple(
        Column(runner.name, target, str(runner.evidence), runner.vendor, spec or runner.name, device)
        for target in targets
    )


def make_tasks(selection: Selection, columns: Iterable[Column]) -> tuple[Task, ...]:
    """One task per kernel entry; explicit cases are grouped by entry."""
    everywhere = tuple(columns)
    found = [Task(e.op.name, e.dtypes, everywhere) for e in selection.entries]
    texts: dict[tuple[str, tuple[str, ...]], list[tuple[str, str]]] = {}
    for case in selection.cases:
        texts.setdefault((case.op, case.dtypes), []).append(("", str(case)))
    found += [Task(*key, everywhere, tuple(each)) for key, each in texts.items()]
    return tuple(found)


def runnable_tasks(tasks: Iterable[Task], suite: Suite, code: Container[tuple[str, Column]]) -> tuple[Task, ...]:
    """The tasks, each on the columns that have code for it, or need none; tasks without a column are left out."""
    found = (
        replace(task, columns=tuple(c for c in task.columns if c.ready(suite.op(task.op).module, code)))
        for task in tasks
    )
    return tuple(task for task in found if task.columns)
