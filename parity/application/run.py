"""A run as data: its scope (``Run``), its built kernels (``Prepared``) and its outcome (``Results``)."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from parity.application.columns import Columns, default_runners, runner_targets, select_columns
from parity.application.named_instances import build_named
from parity.application.stored_results import CaseQueries
from parity.application.undeclared import undeclared_kernels
from parity.build.result import Built
from parity.build.settings import BuildCallbacks
from parity.engine.bench import Measurement
from parity.engine.calls import Progress, quiet
from parity.engine.case_records import NOT_RECORDED, CaseRecord, Column, Provenance, Task
from parity.engine.checked_case import BEYOND_TARGET
from parity.engine.execution import execute_plan as stream
from parity.engine.known_issues import KnownIssues, load_known_issues
from parity.engine.plan import Plan, make_tasks, runnable_tasks, runner_columns
from parity.engine.pool import PoolFactory, RemoteWorkers, Workers
from parity.engine.record_file import RecordWriter, environment, records_without_code
from parity.engine.shards import Shard, Share
from parity.errors import SYSTEM_ERRORS, NotAvailable, ResourceExhausted, UsageError, describe_os_error, pluralize
from parity.model.code_object import CodeObject
from parity.mutation.recall import Recall
from parity.op import Entry
from parity.platform.cache import digest
from parity.platform.serialization import json_text
from parity.report.failures import not_judged
from parity.report.matrix import make_matrix
from parity.report.printable import PrintableMatrix
from parity.runners import available, gpu_runner, kernel_runner, replayed_recording
from parity.runners.recording_file import Environment
from parity.suite.loading import Suite, find_suite
from parity.suite.options import DEFAULT_RUNNER, EXAMPLES
from parity.suite.sample_cache import all_large
from parity.suite.selection import Selection


@dataclass(frozen=True)
class Settings:
    """Settings for drawing and executing cases.

    Args:
        examples: Cases to draw per kernel. Default: 20, or the number in the recording if nothing else executes.
        seed: Seed of the drawn cases. Default: 0, or the seed of the recording if nothing else executes.
        checked: Check every memory access.
        jobs: Maximum number of worker processes. Default: one per processor.
        as_usual: Cases are drawn as without options, so a known issue that no case shows any more is stale.
    """

    examples: int | None = None
    seed: int | None = None
    checked: bool = True
    jobs: int | None = None
    as_usual: bool = True


@dataclass(frozen=True)
class Run:
    """The scope of a run: kernels of a suite, and the columns that execute them. Nothing is built or executed yet.

    ``only`` restricts the run to these tasks, if given. ``share`` describes the shard, if the run is a shard of a
    larger one. ``cluster`` executes the run instead of this machine, if given.
    """

    suite: Suite
    selection: Selection
    columns: Columns
    settings: Settings = field(default_factory=Settings)
    only: tuple[Task, ...] | None = None
    share: Share | None = None
    cluster: RemoteWorkers | None = None

    @classmethod
    def of(
        cls,
        *selectors: str,
        dtypes: Sequence[str] = (),
        runners: Sequence[str] = (),
        targets: Sequence[str] = (),
        suite: Suite | None = None,
        settings: Settings | None = None,
        cluster: RemoteWorkers | None = None,
    ) -> Run:
        """Return a run of the selected kernels.

        Args:
            selectors: Modules, ops, kernels, patterns or case texts. Default: every kernel.
            dtypes: Run only kernels of these dtypes.
            runners: Runner names. Default: the emulator; also CUDA's kernels on the CPU if an op has no reference.
            targets: Target names. Default: the usual targets of each runner.
            suite: Default: the suite of the project around the working directory, or the suite shipped with parity.
            settings: Settings for drawing and executing cases.
            cluster: A cluster that executes the run instead of this machine.

        Raises:
            UsageError: A name is unknown, or the project is invalid.
            NotAvailable: No runner works here.
        """
        suite = suite or find_suite()
        selection = suite.select(selectors, dtypes)
        find = cluster.available if cluster else available
        entries = suite.entries_in(selection)
        columns = select_columns(runners or default_runners(entries, targets, find), targets, find, entries)
        return cls(suite, selection, columns, settings or Settings(), cluster=cluster)

    @classmethod
    def on_one(
        cls,
        suite: Suite,
        selection: Selection,
        runner: str | None,
        targets: Sequence[str],
        settings: Settings,
        purpose: str,
        cluster: RemoteWorkers | None = None,
    ) -> Run:
        """Return a run on a single runner that ignores known issues.

        ``runner`` defaults to a GPU if there is one, else the emulator; ``targets`` to the usual targets of the runner.
        ``purpose`` names the command in error messages.

        Raises:
            UsageError: The runner does not execute kernels.
            NotAvailable: The runner does not work here, or does not support a target.
        """
        find = cluster.available if cluster else available
        found = (not runner and gpu_runner(purpose, find)) or kernel_runner(runner or DEFAULT_RUNNER, purpose, find)
        if replayed_recording(found) is not None:
            raise UsageError(f"{purpose} executes kernels, but {runner} only replays stored values")
        wanted = runner_targets(found, targets, suite.entries_in(selection))
        chosen = Columns(runner_columns(found, wanted, runner or found.name), {}, ())
        return cls(replace(suite, known=None), selection, chosen, settings, cluster=cluster)

    def shard(self, shard: Shard, costs: Mapping[str, float]) -> Run:
        """Return one shard of the run.

        ``costs`` maps names of kernel entries to their cost in any unit; if it is empty, all kernels cost the same. The
        same run and costs give the same shards on every machine.

        Raises:
            UsageError: There are more shards than kernels.
        """
        share = Share.of(shard, [entry.name for entry in self.entries], costs)
        entries = tuple(entry for entry in self.selection.entries if entry.name in share.mine)
        cases = tuple(case for case in self.selection.cases if self.suite.entry(case).name in share.mine)
        return replace(self, selection=Selection(entries, cases), share=share)

    def __post_init__(self) -> None:
        if not self.columns.live and (self.settings.seed, self.settings.examples) != (None, None):
            head = self._recorded_head
            raise UsageError(
                "--seed and --examples draw cases, but a recording has a fixed set of cases "
                f"(seed {head['seed']}, {head['examples']} examples per kernel); leave them out, or add "
                f"--runner {DEFAULT_RUNNER}, which also runs drawn cases"
            )

    @property
    def _recorded_head(self) -> Mapping[str, Any]:
        return next(iter(self.columns.recordings.values())).head

    def environment(self, plan: Plan, arguments: Iterable[str] = ()) -> Environment:
        """Return versions and digests of everything that decides the outcome of ``plan``."""
        describe = (self.cluster.describe,) if self.cluster else ()
        return environment(plan, arguments, self.share, *describe)

    def workers(self, progress: Progress) -> Workers:
        """Return the workers that execute a plan of this run."""
        if (cluster := self.cluster) is None:
            return Workers(self.settings.jobs, progress)
        return Workers(self.settings.jobs, progress, lambda plan, jobs: cluster.pool(self.suite, plan))

    @property
    def exclusive_pools(self) -> PoolFactory | None:
        """The factory of a pool that gives each measurement a device to itself; None: measure in this process."""
        if (cluster := self.cluster) is None:
            return None
        return lambda plan, jobs: cluster.pool(self.suite, plan, alone=True)

    @property
    def seed(self) -> int:
        """The seed of the drawn cases."""
        return (self.settings.seed or 0) if self.columns.live else int(self._recorded_head["seed"])

    @property
    def examples(self) -> int:
        """The number of cases drawn per kernel."""
        return (self.settings.examples or EXAMPLES) if self.columns.live else int(self._recorded_head["examples"])

    @functools.cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The selected kernel entries."""
        return self.suite.entries_in(self.selection)

    @functools.cached_property
    def known(self) -> KnownIssues:
        """The known issues of the suite on these columns."""
        return load_known_issues(self.suite, self.columns.every)

    @property
    def notes(self) -> Iterator[str]:
        """Warnings to show before the run: unavailable runners, invalid known issues, changed sources."""
        yield from self.columns.problems
        yield from self.known.mistakes
        yield from self.changed_kernels

    @functools.cached_property
    def changed_kernels(self) -> tuple[str, ...]:
        """Warnings about kernel sources that changed since they were recorded."""
        return tuple(self.columns.changed_kernels(self.suite, {entry.kernel for entry in self.entries}))

    @property
    def everywhere(self) -> bool:
        """True if the run includes every kernel of the suite."""
        return self.only is None and len(self.entries) == len(self.suite.entries)

    @property
    def problems(self) -> tuple[str, ...]:
        """What keeps the run from testing everything: unavailable runners, and mistakes in the project.

        Problems of a capture are launches without a kernel of the project. They do not concern selected launches.
        """
        unusable = () if self.suite.capture and not self.everywhere else self.suite.problems
        return (*self.columns.problems, *unusable, *self.known.mistakes)

    @functools.cached_property
    def tasks(self) -> tuple[Task, ...]:
        """One task per kernel, with the columns to run it on."""
        return make_tasks(self.selection, self.columns.runnable) if self.only is None else self.only

    @property
    def modules(self) -> list[str]:
        """The modules that contain the kernels."""
        return self.suite.modules_with(self.entries if self.only is None else map(self.suite.entry, self.only))

    @property
    def targets(self) -> list[str]:
        """The targets to compile for, including targets that are only compiled. Recorded columns need no code."""
        built = self.columns.built
        if self.only is not None:
            built = tuple(column for task in self.only for column in task.columns if column in built)
        return list(dict.fromkeys([*(column.target for column in built), *self.columns.compiled]))

    def build(self, done: Callable[[Built], None] | None = None) -> Prepared:
        """Compile the modules for all targets. A compile error becomes part of the results.

        ``done`` is called with each finished module.

        Raises:
            UsageError, MissingTool: As ``parity.build.modules.build``.
        """
        suite, built = self.suite, list[Built]()
        if targets := self.targets:
            progress = BuildCallbacks(done)
            suite, built = build_named(suite, self.modules, targets, jobs=self.settings.jobs, progress=progress)
        code = self.columns.code(built)
        tasks, problems = self.columns.with_recorded(self.tasks, self.suite)
        tasks = runnable_tasks(self.known.with_cases(tasks, self.suite), self.suite, code)
        drawing = {"examples": self.examples, "seed": self.seed}
        plan = Plan.of(suite, tasks, code, **drawing, checked=self.settings.checked, known=self.known)
        plan = replace(plan, compiled=tuple({path: None for each in built for path in each.files}))
        return Prepared(self, tuple(built), plan, tuple(problems))

    @property
    def draws_all(self) -> bool:
        """True if the run draws at least the cases that a run with default options draws."""
        return not self.columns.live or (self.examples >= EXAMPLES and self.settings.as_usual)

    def drawn(self, plan: Plan) -> set[str]:
        """Return the kernels for which the run draws at least the cases of a run with default options."""
        if not self.draws_all:
            return set()
        picked = {(case.op, case.dtypes) for case in self.selection.cases}
        return {kernel for task, kernel in self.kernels(plan) if (task.op, task.dtypes) not in picked}

    def without_code(
        self, entries: Iterable[Entry], columns: Sequence[Column], errors: Mapping[tuple[str, str], str]
    ) -> list[CaseRecord]:
        """Return a record for every kernel that has no code on a column.

        ``errors`` maps (module, target) to the compiler's message.
        """
        return list(map(self.known.mark, records_without_code(entries, columns, errors, self.suite.missing)))

    def not_recorded(self, plan: Plan) -> list[CaseRecord]:
        """Return a record for every kernel for which a recording has no case of the plan."""
        ran = {(kernel, column) for task, kernel in self.kernels(plan) for column in task.columns}
        pairs = ((entry, column) for entry in self.entries for column in self.columns.recordings)
        return [CaseRecord.of(e, column, "", NOT_RECORDED) for e, column in pairs if (e.kernel, column) not in ran]

    def kernels(self, plan: Plan) -> Iterator[tuple[Task, str]]:
        """Yield the tasks of the plan, each with the name of its kernel."""
        return ((task, self.suite.entry(task).kernel) for task in plan.tasks)


@dataclass(frozen=True)
class Prepared:
    """A run with its built kernels. ``problems`` are warnings about recorded cases that are no longer valid."""

    run: Run
    built: tuple[Built, ...]
    plan: Plan
    problems: tuple[str, ...] = ()

    def head(self, arguments: Iterable[str] = ()) -> Environment:
        """Return the environment of the run, and digests that decide whether another run can resume it."""
        run, plan = self.run, self.plan
        known = run.suite.known
        valid = (issue.location for issue in run.known.issues if not issue.expired)
        settings = {
            "selection": digest(*map(repr, plan.tasks)),
            "launches": plan.launches,
            "known issues": digest(known.read_bytes(), *valid) if known and known.is_file() else "",
            "recordings": digest(*(json_text(each.head["members"]) for each in run.columns.recordings.values())),
        }
        return {**run.environment(plan, arguments), "settings": settings}

    def stream(self, progress: Progress = quiet, kept: Iterable[CaseRecord] = ()) -> Iterator[CaseRecord]:
        """Execute the kernels that have no record in ``kept``, and yield each record when it arrives.

        Closing the generator ends the worker processes.

        Raises:
            NotAvailable: A device was lost and did not come back.
        """
        run, done = self.run, {(record.op, record.kernel) for record in kept}
        left = tuple(task for task, kernel in run.kernels(self.plan) if (task.op, kernel) not in done)
        if left:
            plan = replace(self.plan, tasks=left)
            yield from stream(plan, run.suite, run.workers(progress))

    def execute(
        self,
        progress: Progress = quiet,
        each: Callable[[CaseRecord], None] | None = None,
        record: Path | None = None,
        arguments: Iterable[str] = (),
        kept: Sequence[CaseRecord] = (),
    ) -> Results:
        """Execute the run until it ends or is interrupted, and return the results so far.

        Args:
            progress: Receives the progress.
            each: Called with each record when it arrives.
            record: A file that receives one line per record.
            arguments: The command-line arguments to store in the file.
            kept: Records of an interrupted run (see ``parity.application.resuming``); their kernels do not run again.

        Raises:
            UsageError: The file is not writable.
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
            stopped = ResourceExhausted(describe_os_error(error))
        seconds = time.perf_counter() - start if self.plan.tasks else 0.0
        return Results(self.run, self.plan, self.built, records, seconds, stopped)


@dataclass(frozen=True)
class Results(CaseQueries):
    """The results of a run.

    ``records`` holds one record per case, and ``seconds`` the execution time. ``stopped`` is the exception that ended
    the run early. ``measured`` maps (kernel, column) to a measurement, and ``recall`` is the stored recall of planted
    faults; both are optional.
    """

    run: Run
    plan: Plan
    built: tuple[Built, ...]
    records: Sequence[CaseRecord]
    seconds: float
    stopped: KeyboardInterrupt | NotAvailable | None = None
    measured: Mapping[tuple[str, Column], Measurement] = field(default_factory=dict)
    recall: Recall | None = None

    @property
    def complete(self) -> bool:
        """True unless the run ended early."""
        return self.stopped is None

    @property
    def without_cases(self) -> list[CaseRecord]:
        """A record for every kernel without cases on a column, because it did not compile or was not recorded."""
        run = self.run
        errors = {(b.module, b.target): b.error.log for b in self.built if b.error}
        return [*run.without_code(run.entries, run.columns.every, errors), *run.not_recorded(self.plan)]

    @property
    def undeclared(self) -> dict[str, tuple[str, ...]]:
        """The kernels without an op in built modules; if everything is selected, also the kernels of other files."""
        if self.run.suite.capture:
            return {}
        built: dict[str, list[CodeObject]] = {}
        for (module, _), code in self.plan.code.items():
            built.setdefault(module, []).append(code)
        run = self.run
        return undeclared_kernels(run.suite, built, everywhere=run.everywhere)

    @functools.cached_property
    def matrix(self) -> PrintableMatrix:
        """The matrix, with one row per kernel and one column per runner and target."""
        run, plan = self.run, self.plan
        records = [*self.records, *self.without_cases]
        issues = run.known.review(records, run.drawn(plan) if self.complete else ())
        machines = tuple(sorted(run.cluster.machines)) if run.cluster else ()
        provenance = Provenance(self.seconds, plan.seed, plan.examples, self.complete, plan.made_by, machines)
        matrix = make_matrix(run.entries, run.columns.every, records, issues=issues, provenance=provenance)
        matrix = matrix.with_measurements(self.measured)
        matrix = replace(matrix, undeclared=self.undeclared, problems=run.problems)
        return PrintableMatrix.from_matrix(matrix.with_recall(self.recall) if self.recall else matrix)

    @functools.cached_property
    def stale(self) -> tuple[str, ...]:
        """Warnings about recorded cases that now denote another launch or other inputs."""
        return tuple(self.run.columns.stale(self.records, self.run.suite))

    @property
    def notes(self) -> Iterator[str]:
        """Warnings about stale recorded cases, and about cases that were skipped or not judged."""
        yield from self.stale
        skipped = (each.verdict.detail for each in self.records if each.verdict.kind == BEYOND_TARGET)
        yield from (f"skipped, as Triton's autotuner does: {detail}" for detail in dict.fromkeys(skipped))
        yield from self._few_cases
        yield from not_judged(self.records)

    @property
    def _few_cases(self) -> Iterator[str]:
        """A warning if ops have few cases, because all are large."""
        run, cases = self.run, dict[str, list[str]]()
        if run.suite.capture or run.selection.cases or self.plan.examples > EXAMPLES:
            return
        for record in self.records:
            cases.setdefault(record.op, []).append(record.case)
        if large := [name for name, texts in cases.items() if all_large(run.suite.op(name), texts)]:
            names = f"{pluralize(len(large), 'op')}, such as {large[0]}"
            yield f"few cases of {names}, because all of them are large; --examples {EXAMPLES + 1} runs more"


def replay(recording: str | Path, *selectors: str, suite: Suite | None = None) -> Results:
    """Judge the cases of a recording, or only the cases of the selected kernels, without executing anything.

    Raises:
        UsageError: The file is not a recording, or a name is unknown.
    """
    return Run.of(*selectors, runners=[f"recorded={recording}"], suite=suite).build().execute()
