"""A run as data, and its steps: build, execute."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parity.application.columns import Columns, columns, default_runners, targets_of
from parity.application.measuring import measure
from parity.application.recording import record
from parity.application.results import Results
from parity.build.builder import Built, build_suite
from parity.engine import (
    NOT_RECORDED,
    CaseRecord,
    Column,
    Known,
    Plan,
    Progress,
    RecordWriter,
    Shard,
    Share,
    Task,
    columns_of,
    environment,
    known_issues,
    quiet,
    runnable,
    tasks_of,
    without_code,
)
from parity.engine import run as stream
from parity.engine.pool import Pools, worker_pool
from parity.errors import SYSTEM_ERRORS, NotAvailable, ResourceExhausted, UsageError, refusal
from parity.op import Entry
from parity.platform.cache import digest
from parity.platform.files import below
from parity.platform.serialization import json_text
from parity.runners import available, gpu_runner, kernel_runner, replayed_recording
from parity.runners.recording_file import Environment
from parity.suite.loading import Selection, Suite, find_suite
from parity.suite.options import DEFAULT_RUNNER, EXAMPLES

if TYPE_CHECKING:
    from parity.cluster import Cluster

__all__ = ["Prepared", "Run", "Settings", "replay"]


@dataclass(frozen=True)
class Settings:
    """The settings with which a run draws and executes cases.

    ``examples`` cases are drawn per kernel from ``seed`` (default: 20, from 0, or those of a recording that is replayed
    alone). ``checked``: every memory access is. ``jobs`` limits the processes (default: one per processor).
    ``as_usual`` says that cases are drawn as they are without options: a known issue that none of them meets is mended.
    """

    examples: int | None = None
    seed: int | None = None
    checked: bool = True
    jobs: int | None = None
    as_usual: bool = True


@dataclass(frozen=True)
class Run:
    """The scope of a run: kernels of a suite, on columns. Nothing is built or executed yet.

    ``picked`` are the kernels, each with its columns, where not every kernel runs on every column. ``share`` says of
    what run it is a shard, if it is one. ``cluster`` executes it, if there is one, and not this machine.
    """

    suite: Suite
    selection: Selection
    columns: Columns
    settings: Settings = field(default_factory=Settings)
    picked: tuple[Task, ...] | None = None
    share: Share | None = None
    cluster: Cluster | None = None

    @classmethod
    def of(
        cls,
        *selectors: str,
        dtypes: Sequence[str] = (),
        runners: Sequence[str] = (),
        targets: Sequence[str] = (),
        suite: Suite | None = None,
        settings: Settings | None = None,
        cluster: Cluster | None = None,
    ) -> Run:
        """A run of what the selectors name (modules, ops, kernels, patterns, printed cases), all by default.

        ``runners`` are by default the emulator and, if an op has no reference, CUDA's side on the CPU. ``suite`` is by
        default that of the project around the working folder, else the one shipped with parity. ``cluster`` executes
        instead of this machine (``parity.connected``).

        Raises:
            UsageError: a name is unknown, or the project cannot be used.
            NotAvailable: no runner can work here.
        """
        suite = suite or find_suite()
        selection = suite.select(selectors, dtypes)
        find = cluster.available if cluster else available
        chosen = runners or default_runners(suite.entries_of(selection), targets, find)
        return cls(suite, selection, columns(chosen, targets, find), settings or Settings(), cluster=cluster)

    @classmethod
    def on_one(
        cls,
        suite: Suite,
        selection: Selection,
        runner: str | None,
        targets: Sequence[str],
        settings: Settings,
        purpose: str,
        cluster: Cluster | None = None,
    ) -> Run:
        """A run whose cases are executed by one runner (default: a GPU if there is one, else the emulator), on these
        targets (default: its usual ones), and not judged by what is known to fail. ``purpose`` is what needs such a
        run, for messages.

        Raises:
            UsageError: the runner executes no kernels.
            NotAvailable: it cannot work here, or cannot run one of the targets.
        """
        find = cluster.available if cluster else available
        found = (
            kernel_runner(runner, purpose, find)
            if runner
            else gpu_runner(purpose, find) or kernel_runner(DEFAULT_RUNNER, purpose, find)
        )
        if replayed_recording(found) is not None:
            raise UsageError(f"{purpose} executes kernels, and {runner} only has what was executed before")
        chosen = Columns(columns_of(found, targets_of(found, targets), runner or found.name), {}, ())
        return cls(replace(suite, known=None), selection, chosen, settings, cluster=cluster)

    def shard(self, shard: Shard | None, costs: Mapping[str, float] | None = None) -> Run:
        """One shard of the run; all of it, if None.

        ``costs`` are what entries cost, by their name, in any unit; without them every kernel counts the same. The same
        run and costs have the same shards on every machine.

        Raises:
            UsageError: the run has fewer kernels than there are shards.
        """
        if shard is None:
            return self
        share = Share.of(shard, [entry.name for entry in self.entries], costs or {})
        entries = tuple(entry for entry in self.selection.entries if entry.name in share.mine)
        cases = tuple(case for case in self.selection.cases if self.suite.entry(case).name in share.mine)
        return replace(self, selection=Selection(entries, cases), share=share)

    def __post_init__(self) -> None:
        if not self.columns.live and (self.settings.seed, self.settings.examples) != (None, None):
            head = self._recorded_head
            raise UsageError(
                "--seed and --examples draw cases, and a recording has only its own "
                f"(seed {head['seed']}, {head['examples']} examples per kernel); leave them out, or add "
                f"--runner {DEFAULT_RUNNER}, which runs drawn cases beside the recorded ones"
            )

    @property
    def _recorded_head(self) -> Mapping[str, Any]:
        return next(iter(self.columns.recordings.values())).head

    def environment(self, plan: Plan, arguments: Iterable[str] = ()) -> Environment:
        """Versions and digests of everything that decides the outcome of a plan of this run."""
        if self.cluster:
            return environment(plan, arguments, self.share, self.cluster.describe)
        return environment(plan, arguments, self.share)

    @property
    def pools(self) -> Pools:
        """A function that makes the pool for a plan of this run."""
        if (cluster := self.cluster) is None:
            return worker_pool
        return lambda plan, jobs: cluster.pool(self.suite, plan)

    @property
    def measuring(self) -> Pools | None:
        """The function that makes a pool in which a measurement has a device to itself; None for this process."""
        if (cluster := self.cluster) is None:
            return None
        return lambda plan, jobs: cluster.pool(self.suite, plan, alone=True)

    @property
    def seed(self) -> int:
        """From where cases are drawn."""
        return (self.settings.seed or 0) if self.columns.live else int(self._recorded_head["seed"])

    @property
    def examples(self) -> int:
        """Cases that are drawn per kernel."""
        return (self.settings.examples or EXAMPLES) if self.columns.live else int(self._recorded_head["examples"])

    @functools.cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The kernels."""
        return self.suite.entries_of(self.selection)

    @functools.cached_property
    def known(self) -> Known:
        """The failures to expect."""
        return known_issues(self.suite, self.columns.every)

    @property
    def notes(self) -> Iterator[str]:
        """Notes for before the run: runners that cannot work, mistakes in known issues, sources that changed."""
        yield from self.columns.problems
        yield from self.known.mistakes
        yield from self.columns.changed_kernels(self.suite, {entry.kernel for entry in self.entries})

    @functools.cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The kernels, each with the columns that it is to run on."""
        return tasks_of(self.selection, self.columns.runnable) if self.picked is None else self.picked

    @property
    def modules(self) -> list[str]:
        """The modules with the kernels."""
        return self.suite.modules_of(self.entries if self.picked is None else map(self.suite.entry, self.picked))

    @property
    def targets(self) -> list[str]:
        """The targets to compile for: those that execute, and those that are only compiled. Recorded ones need none."""
        built = self.columns.built
        if self.picked is not None:
            built = tuple(column for task in self.picked for column in task.columns if column in built)
        return list(dict.fromkeys([*(column.target for column in built), *self.columns.compiled]))

    def build(self, done: Callable[[Built], None] | None = None) -> Prepared:
        """Compile the modules for the targets. A module that does not compile is no error.

        Raises:
            UsageError, MissingTool: as ``toolchain.build``.
        """
        targets, settings = self.targets, self.settings
        built = build_suite(self.suite, self.modules, targets, jobs=settings.jobs, done=done) if targets else []
        code = self.columns.code(built)
        tasks, problems = self.columns.with_recorded(self.tasks, self.suite)
        plan = Plan.of(
            self.suite,
            runnable(self.known.with_cases(tasks, self.suite), self.suite, code),
            code,
            examples=self.examples,
            seed=self.seed,
            checked=settings.checked,
            known=self.known,
        )
        return Prepared(self, tuple(built), plan, tuple(problems))

    @property
    def draws_all(self) -> bool:
        """True if the run draws every case that a run with default options draws."""
        return not self.columns.live or (self.examples >= EXAMPLES and self.settings.as_usual)

    def drawn(self, plan: Plan) -> set[str]:
        """The kernels of which the run draws every case that a run with default options draws."""
        if not self.draws_all:
            return set()
        picked = {(case.op, case.dtypes) for case in self.selection.cases}
        return {kernel for task, kernel in self.kernels(plan) if (task.op, task.dtypes) not in picked}

    def without_code(
        self, entries: Iterable[Entry], columns: Sequence[Column], errors: Mapping[tuple[str, str], str]
    ) -> list[CaseRecord]:
        """A record for every kernel that has no code on a column; ``errors`` are what the compiler said, by module and
        target.
        """
        return list(map(self.known.mark, without_code(entries, columns, errors, self.suite.missing)))

    def not_recorded(self, plan: Plan) -> list[CaseRecord]:
        """A record for every kernel of which a recording has no case that the plan asks for."""
        ran = {(kernel, column) for task, kernel in self.kernels(plan) for column in task.columns}
        pairs = ((entry, column) for entry in self.entries for column in self.columns.recordings)
        return [CaseRecord.of(e, column, "", NOT_RECORDED) for e, column in pairs if (e.kernel, column) not in ran]

    def kernels(self, plan: Plan) -> Iterator[tuple[Task, str]]:
        """The tasks of the plan, each with its kernel."""
        return ((task, self.suite.entry(task).kernel) for task in plan.tasks)


@dataclass(frozen=True)
class Prepared:
    """A run whose kernels are built. ``problems`` are recorded cases that are no longer valid."""

    run: Run
    built: tuple[Built, ...]
    plan: Plan
    problems: tuple[str, ...] = ()

    def head(self, arguments: Iterable[str] = ()) -> Environment:
        """The environment of the run, with what else decides whether another run can go on with it."""
        run, plan = self.run, self.plan
        known = run.suite.known
        valid = (issue.location for issue in run.known.issues if not issue.expired)
        settings = {
            "selection": digest(*map(repr, plan.tasks)),
            "launches": plan.launches,
            "modules of the cases": digest(*(path.read_bytes() for path in below(run.suite.cases, ".py"))),
            "known issues": digest(known.read_bytes(), *valid) if known and known.is_file() else "",
            "recordings": digest(*(json_text(each.head["members"]) for each in run.columns.recordings.values())),
        }
        return {**run.environment(plan, arguments), "settings": settings}

    def stream(self, progress: Progress = quiet, kept: Iterable[CaseRecord] = ()) -> Iterator[CaseRecord]:
        """Execute the kernels of which nothing is ``kept``, and yield each case as it arrives; closing the generator
        ends the processes.

        Raises:
            NotAvailable: a device was lost for good.
        """
        run, done = self.run, {(record.op, record.kernel) for record in kept}
        left = tuple(task for task, kernel in run.kernels(self.plan) if (task.op, kernel) not in done)
        if left:
            plan = replace(self.plan, tasks=left)
            yield from stream(plan, run.suite, jobs=run.settings.jobs, progress=progress, pools=run.pools)

    def execute(
        self,
        progress: Progress = quiet,
        each: Callable[[CaseRecord], None] | None = None,
        record: Path | None = None,
        arguments: Iterable[str] = (),
        kept: Sequence[CaseRecord] = (),
    ) -> Results:
        """Execute to the end, or to Ctrl-C: then the results are those that there are, and say what ended it.

        ``each`` is called with every case as it arrives; ``record`` is a file that gets a line for each, with the
        ``arguments`` of the command in its head. The kernels in ``kept`` (of ``parity.application.resuming``) are not
        executed again.

        Raises:
            UsageError: the file cannot be written.
        """
        records = list(kept)
        stopped: KeyboardInterrupt | NotAvailable | None = None
        start = time.perf_counter()
        try:
            head = self.head(arguments)
            with (
                RecordWriter(record, head, kept) if record else nullcontext() as writer,
                closing(self.stream(progress, kept)) as results,  # type: ignore[type-var]
            ):
                for one in results:
                    if writer:
                        writer.add(one)
                    records.append(one)
                    if each:
                        each(one)
        except (KeyboardInterrupt, NotAvailable) as problem:
            stopped = problem
        except OSError as error:
            if error.errno not in SYSTEM_ERRORS:
                raise
            stopped = ResourceExhausted(refusal(error))
        seconds = time.perf_counter() - start if self.plan.tasks else 0.0
        return Results(self.run, self.plan, self.built, records, seconds, stopped)

    measure = measure  # methods: both take what is prepared first
    record = record


def replay(recording: str | Path, *selectors: str, suite: Suite | None = None) -> Results:
    """Judge what was recorded on another machine (all of it, or of the kernels that are named); nothing is executed.

    Raises:
        UsageError: the file is no recording, or a name is unknown.
    """
    return Run.of(*selectors, runners=[f"recorded={recording}"], suite=suite).build().execute()
