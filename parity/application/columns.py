"""The columns of a run: which runner executes which target, and the cases and code that recordings contribute."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256

from parity.build.result import Built
from parity.compilers.targets import TRITON_TARGETS, gpu_of, target
from parity.compilers.toolchain import versions_of
from parity.engine.case_records import CaseRecord, Column, Task
from parity.engine.plan import runner_columns
from parity.engine.record_file import COMPILED
from parity.errors import NotAvailable, UsageError
from parity.model.code_object import CodeObject
from parity.op import Entry
from parity.platform.files import CUDA_SUFFIXES
from parity.runners import Evidence, OpRunner, Runner, available, default_targets, replayed_recording
from parity.runners.recording_file import Recording
from parity.suite.loading import Suite
from parity.suite.options import CUDA_SIDE, DEFAULT_RUNNER

Find = Callable[[str], Runner | OpRunner]

NAMED = 3
"""Number of recorded cases that a warning names one by one."""


@dataclass(frozen=True)
class Columns:
    """The columns of a run.

    ``runnable`` are the columns that execute or replay, CUDA first. ``recordings`` maps replaying columns to their
    recordings. ``compiled`` are targets that are only compiled. ``problems`` describe requested runners that do not
    work here.
    """

    runnable: tuple[Column, ...]
    recordings: Mapping[Column, Recording]
    compiled: tuple[str, ...]
    problems: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[Column, ...]:
        """The columns of the matrix: first the runnable ones, then targets that are only compiled."""
        return self.runnable + tuple(Column("", name, Evidence.COMPILED) for name in self.compiled)

    @property
    def built(self) -> tuple[Column, ...]:
        """The columns for which kernels are built."""
        return tuple(column for column in self.runnable if column.built)

    def code(self, built: Iterable[Built]) -> dict[tuple[str, Column], CodeObject]:
        """Return the code object for each (module, column), from the builds or from a recording."""
        objects = {(b.module, b.target): b.code_object for b in built if b.code_object}
        found = {(m, c): code for c in self.built for (m, target), code in objects.items() if target == c.target}
        for c, recording in self.recordings.items():
            found |= {(m, c): code for (m, target), code in recording.code().items() if target == c.target}
        return found

    @property
    def live(self) -> tuple[Column, ...]:
        """The columns that execute."""
        return tuple(column for column in self.runnable if column.live)

    def with_recorded(self, tasks: Sequence[Task], suite: Suite) -> tuple[tuple[Task, ...], list[str]]:
        """Add recorded cases to the tasks, and return a warning for every recorded case that is no longer valid.

        Recorded cases are added to drawn cases, or replace them if nothing executes. A task keeps a replaying column
        only if one of its cases was recorded there. Cases are identified by text and not by seed, because other
        versions draw other cases.
        """
        found, problems = self._recorded(suite, {suite.entry(task).kernel for task in tasks})

        def one(task: Task) -> Task:
            name = suite.entry(task).name
            recorded = {column: texts.get(name, {}) for column, texts in found.items()}
            if task.cases is not None:
                wanted = {text for _, text in task.cases}
                has = {column for column, texts in recorded.items() if wanted & set(texts)}
            else:
                has = {column for column, texts in recorded.items() if texts}
                cases = {text: title for texts in recorded.values() for text, title in texts.items()}
                also = tuple((title, text) for text, title in cases.items())
                task = replace(task, also=also) if self.live else replace(task, cases=also)
            return replace(task, columns=tuple(c for c in task.columns if c in has or c not in self.recordings))

        return tuple(map(one, tasks)), list(_named(problems))

    def _recorded(
        self, suite: Suite, kernels: Container[str]
    ) -> tuple[dict[Column, dict[str, dict[str, str]]], dict[str, str]]:
        """Return the title of each valid recorded case by column, entry and text; and the error of each invalid case
        by text. Files may have kernels of the same name.
        """
        found: dict[Column, dict[str, dict[str, str]]] = {column: {} for column in self.recordings}
        problems: dict[str, str] = {}
        for column, recording in self.recordings.items():
            for case in recording.cases:
                if case.target != column.target or case.kernel not in kernels:
                    continue
                try:
                    entry = suite.entry(suite.parse(case.case))
                    if entry.kernel != case.kernel:
                        raise UsageError(f"it called {case.kernel} and now calls {entry.kernel}")
                    found[column].setdefault(entry.name, {})[case.case] = case.title
                except UsageError as error:
                    problems[case.case] = str(error)
        return found, problems

    def changed_kernels(self, suite: Suite, kernels: Container[str]) -> Iterator[str]:
        """Yield warnings about kernel sources that changed since they were recorded."""
        modules = {case.module for recording in self._each() for case in recording.cases if case.kernel in kernels}
        sources = {
            name
            for recording in self._each()
            for name in changed_sources(_sources(recording), suite)
            if name.endswith(COMPILED) and (recording.head["vendor"] == "amd" or not _is_ported(name, suite))
        }
        changed = [n for n in sorted(sources) if not n.endswith(CUDA_SUFFIXES) or n.partition(".cu")[0] in modules]
        if changed and modules:
            names = ", ".join(changed)
            yield f"{names} changed since the recording, whose values come from the old kernels; record again"

    def stale(self, records: Iterable[CaseRecord], suite: Suite) -> Iterator[str]:
        """Yield warnings about recorded cases that now denote another launch or other inputs."""
        stale = [record for record in records if record.verdict.kind == "not recorded"]
        if stale:
            files = sorted({n for r in self._each() for n in changed_sources(_sources(r), suite) if n.endswith(".py")})
            why = f" ({', '.join(files)} changed since)" if files else ""
            mean = "recorded cases mean" if len(stale) > 1 else "recorded case means"
            yield (
                f"{len(stale)} {mean} a different launch or different inputs now{why}, such as {stale[0].case}: "
                "they are not judged; record again"
            )

    def _each(self) -> list[Recording]:
        return list({id(recording): recording for recording in self.recordings.values()}.values())


def select_columns(
    specs: Sequence[str], targets: Sequence[str], find: Find = available, entries: Iterable[Entry] = ()
) -> Columns:
    """Return the columns for runners and targets. ``find`` returns a runner that works.

    Without targets, every runner uses its usual targets for the ``entries``. A runner that supports none of the targets
    keeps its usual targets, so that targets of the emulator can be combined with a recording. A target that no runner
    supports is only compiled. A runner that does not work becomes a problem, if another runner works.

    Raises:
        UsageError: A runner or target is unknown, or two runners give the same column.
        NotAvailable: No runner works here, or no runner supports any of the targets.
    """
    runners, problems, entries = {}, [], tuple(entries)
    for spec in dict.fromkeys(specs):
        try:
            runners[spec] = find(spec)
        except NotAvailable as error:
            problems.append(str(error))
    if not runners:
        raise NotAvailable("\n".join(problems))
    asked = tuple(dict.fromkeys(targets))
    compiled = tuple(
        name for name in versions_of(asked) if not any(gpu_of(name) in r.targets() for r in runners.values())
    )
    for name in compiled:
        target(name)
    if asked and compiled == versions_of(asked):
        can = "; ".join(f"{spec!r} only {' '.join(r.targets())}" for spec, r in runners.items())
        who = "the runner" if len(runners) == 1 else "no runner"
        advice = "to see whether the kernels compile, use parity build"
        raise NotAvailable(f"{who} cannot run {' or '.join(asked)}: {can}; {advice}")
    found: list[Column] = []
    recordings = {}
    for spec, each in runners.items():
        own = [name for name in asked if gpu_of(name) in each.targets()] or _usual_targets(each, entries)
        if isinstance(each, Runner) and replayed_recording(each) is None:  # a library has its own code
            own = versions_of(own)
        for column in runner_columns(each, own, spec):
            if other := next((o for o in found if (o.runner, o.target) == (column.runner, column.target)), None):
                both = f"--runner {other.spec} and --runner {spec} both give {column}"
                raise UsageError(f"{both}; leave one out, or compare the records of two runs")
            found.append(column)
            if (recording := replayed_recording(each)) is not None:
                recordings[column] = recording
    found.sort(key=lambda column: column.vendor != "cuda")
    return Columns(tuple(found), recordings, compiled, tuple(problems))


def default_runners(entries: Iterable[Entry], targets: Iterable[str] = (), find: Find = available) -> tuple[str, ...]:
    """Return the runners for kernels and targets if the user names none; ``find`` as in ``select_columns``.

    Kernels without a reference need CUDA's side, which runs on the CPU if nvcc is installed. If all targets are CUDA's,
    only CUDA's side runs.
    """
    asked = [target(name).vendor for name in targets]
    if asked and set(asked) == {"cuda"}:
        return (CUDA_SIDE,)
    needed = any(entry.op.reference is None for entry in entries if entry.op.kernel)
    return both_sides(find) if needed else (DEFAULT_RUNNER,)


def both_sides(find: Find = available) -> tuple[str, ...]:
    """Return the CPU runners of both vendors, or only of AMD if nvcc is missing. ``find`` as in ``select_columns``."""
    with suppress(NotAvailable):
        find(CUDA_SIDE)
        return DEFAULT_RUNNER, CUDA_SIDE
    return (DEFAULT_RUNNER,)


def _usual_targets(runner: Runner | OpRunner, entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the targets of a runner if the user names none.

    The emulator does not know all instructions that Triton uses for the default CUDA target.
    """
    if runner.name == CUDA_SIDE and any(entry.op.triton_kernel for entry in entries):
        return TRITON_TARGETS[:1]
    return default_targets(runner)


def runner_targets(runner: Runner, wanted: Sequence[str], entries: Iterable[Entry]) -> list[str]:
    """Return the wanted targets, or the usual targets of the runner for the entries if none is wanted.

    Raises:
        NotAvailable: The runner does not support a target.
    """
    for name in wanted:
        if gpu_of(name) not in runner.targets():
            raise NotAvailable(f"the runner {runner.name!r} cannot run {name}, only {' '.join(runner.targets())}")
    return list(versions_of(dict.fromkeys(wanted) or _usual_targets(runner, entries)))


def changed_sources(sources: Mapping[str, str], suite: Suite) -> Iterator[str]:
    """Yield the names of kernel sources and case files whose SHA-256 differs from ``sources``."""
    for name, before in sources.items():
        path = (suite.kernels if name.endswith(COMPILED) else suite.cases) / name
        if not (path.is_file() and sha256(path.read_bytes()).hexdigest() == before):
            yield name


def _is_ported(name: str, suite: Suite) -> bool:
    """Return True if a path from the folder of kernels is a source of AMD's side only."""
    ported = suite.sides.ported
    if name.endswith(".hip") or ported is None or suite.kernels.is_relative_to(ported):
        return name.endswith(".hip")
    return (suite.kernels / name).resolve().is_relative_to(ported.resolve())


def _sources(recording: Recording) -> Mapping[str, str]:
    return recording.head["environment"]["sources"]


def _named(problems: Mapping[str, str]) -> Iterator[str]:
    for text, problem in list(problems.items())[:NAMED]:
        yield f"the recorded case {text} is left out, because it is no longer valid: {problem}"
    if len(problems) > NAMED:
        yield f"{len(problems) - NAMED} other recorded cases are left out, too; record again"
