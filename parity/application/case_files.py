"""Writes the case files of ``parity init``, and tries their declarations on CUDA's and on AMD's side."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

import numpy as np

from parity.application.columns import select_columns
from parity.application.run import Run, Settings
from parity.compare.verdict import Fact
from parity.compilers.targets import CUDA_TARGET, DEFAULT_TARGETS, target
from parity.emulator.faults import LDS
from parity.engine.calls import Progress
from parity.engine.case_records import CaseRecord, Task
from parity.engine.plan import Plan
from parity.errors import NotAvailable, UsageError
from parity.inference.attempt import DIVERGES, TOO_LITTLE, UNSET
from parity.inference.case_file import case_file
from parity.inference.kernel_time_limit import TimeLimit
from parity.inference.skeleton import BY_WARPS, LEFT_OUT, Skeleton
from parity.inference.spec import RACES, in_one_line, is_mistake, is_scatter
from parity.op import Op
from parity.platform.files import naming_write_errors, read_text
from parity.suite.loading import Suite, load_suite
from parity.suite.options import CUDA_SIDE, DEFAULT_RUNNER
from parity.suite.selection import Selection
from parity.suite.settings import Project

_TRY_AFTER, _TRY_INSIDE = 30, 300
"""Seconds after which new declarations are tried, between modules and inside a module. Each trial compiles a module."""
_FEW = 2
"""Cases to draw of each op at first."""
_TOO_SLOW = "before any of its cases"
"""The end of the message for an op whose time was over too early."""
_WIDE = [name for name in DEFAULT_TARGETS if target(name).wavefront == 64]
"""The targets that show whether results depend on ``warpSize``."""


@dataclass
class _CaseFile:
    """The ops to write to a file after the text ``before``."""

    source: PurePath
    before: str = ""
    ops: list[Skeleton] = field(default_factory=list)


class _Decided(KeyboardInterrupt):
    """The time to try declarations is over, or all have failed. Ends a run as an interruption does."""


@dataclass
class CaseFiles:
    """The case files that a command writes.

    ``limit`` is the time of each kernel template. ``cuda`` and ``other`` are the targets to try ops on. ``files``
    are the files in order. ``untried`` ops have not been executed yet. ``asked`` says why an op cannot be declared yet,
    by name. ``progress`` displays trials. ``instantiated`` and ``chosen`` are the templates that modules are built with
    (``BuildSettings``), so that trials do not build them again.
    """

    project: Project
    limit: TimeLimit
    progress: Callable[[bool], AbstractContextManager[tuple[Progress, Callable[[str], None]]]]
    cuda: str = CUDA_TARGET
    other: str = DEFAULT_TARGETS[0]
    files: dict[Path, _CaseFile] = field(default_factory=dict)
    untried: dict[str, tuple[_CaseFile, Skeleton]] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    instantiated: Mapping[str, Sequence[str]] = field(default_factory=dict)
    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tried_at: float = field(default_factory=time.monotonic)

    def add(self, path: Path, source: PurePath, op: Skeleton, *, try_it: bool) -> None:
        """Add an op. Try the declarations after a while, so that an interruption leaves few untried."""
        if path not in self.files:
            self.files[path] = _CaseFile(source, read_text(path) if path.exists() else "")
        self.files[path].ops.append(op)
        if op.name and not op.question and try_it:
            self.untried[op.name] = self.files[path], op
        self.try_after(_TRY_INSIDE)

    def try_after(self, seconds: float | None = None) -> None:
        """Try the declarations if the last trial is some time ago (default: ``_TRY_AFTER`` seconds), after a module."""
        if time.monotonic() - self.tried_at > (_TRY_AFTER if seconds is None else seconds):
            self.try_declarations(shown=False)

    def try_declarations(self, *, shown: bool = True) -> None:
        """Write the files. Declare ops that fail on CUDA's side more carefully, or turn them into comments."""
        try:
            while self.untried:
                self.write()
                self._try_all(shown)
        finally:  # after an interruption, ops are left
            self.write_tried()
        self.tried_at = time.monotonic()

    def _try_all(self, shown: bool) -> None:
        failed, again = self._failed(self.untried, shown), dict[str, tuple[_CaseFile, Skeleton]]()
        for name, reason in failed.items():
            file, op = self.untried[name]
            if reason.startswith(RACES):  # the declaration shows it
                file.ops[file.ops.index(op)] = replace(op, finding=reason)
            elif reason.endswith(_TOO_SLOW) or not self.limit.left(op.template):
                self.asked[name] = reason if _TOO_SLOW in reason else f"{reason}; {self.limit.spent}"
            elif (better := self._again(op, reason)) is None:
                self.asked[name] = reason
            else:
                file.ops[file.ops.index(op)] = better
                again[name] = file, better
        self.untried = again

    def _again(self, op: Skeleton, reason: str) -> Skeleton | None:
        with self.limit.step(op.template):
            return op.again(reason)

    def write_tried(self) -> None:
        """Write all files without the ops that are still to be executed. The next parity init declares these."""
        for name, (file, _) in self.untried.items():
            file.ops = [each for each in file.ops if each.name != name]
        self.untried = {}
        for path in [path for path, file in self.files.items() if not (file.ops or file.before)]:
            del self.files[path]
            path.unlink(missing_ok=True)
        self.write()

    def write(self) -> None:
        """Write all files."""
        for path, file in self.files.items():
            write_file(path, case_file(file.source, file.ops, self.asked, file.before))

    def _failed(self, untried: Mapping[str, tuple[_CaseFile, Skeleton]], shown: bool) -> dict[str, str]:
        """Execute a few cases of every op, then the cases of a usual run. Return why ops are misdeclared, by name.

        Ops whose cases are not finished within the time limit count as declared if a case succeeded on each side, and
        if not all of the few cases show too little.
        """
        project = self.project
        try:
            suite = load_suite(project.kernels, project.cases, sides=project.sides)
            others = [self.other, *(_WIDE if any(op.doubt == BY_WARPS for _, op in untried.values()) else ())]
            chosen = select_columns([CUDA_SIDE, DEFAULT_RUNNER], [self.cuda, *others])
        except (UsageError, NotAvailable):  # the files declare no op, or nothing can execute CUDA's side
            return {}
        rejected = "parity rejects the file that declares it: " + "; ".join(suite.problems)
        failed = dict.fromkeys(untried.keys() - suite.ops.keys(), rejected)
        suite = replace(suite, known=None, instantiated=self.instantiated, chosen=self.chosen)
        run, few = Run(suite, Selection(()), chosen), dict[str, list[CaseRecord]]()
        for settings in (Settings(examples=_FEW), Settings()):
            if rest := {name: op for name, (_, op) in untried.items() if name not in failed}:
                more, records = self._tried(rest, replace(run, settings=settings), shown, few)
                failed |= more
                for name in rest.keys() - failed.keys() - records.keys():
                    tried = few.get(name, [])
                    if all(map(_shows_too_little, tried)):
                        failed[name] = _misdeclared(tried[0], rest[name], suite.op(name)) if tried else self._too_slow
                few = records
        return failed

    def _tried(
        self, untried: Mapping[str, Skeleton], run: Run, shown: bool, few: Mapping[str, list[CaseRecord]]
    ) -> tuple[dict[str, str], dict[str, list[CaseRecord]]]:
        """Execute cases of ops until the time limit. Return why ops are misdeclared, and AMD's results, by name.

        After an interruption, ops of which a case succeeded, here or among ``few``, are no longer untried.
        """
        entries = tuple(entry for entry in run.suite.entries if entry.op.name in untried)
        run, failed, last, end = replace(run, selection=Selection(entries)), dict[str, str](), math.inf, math.inf
        is_first = run.settings.examples == _FEW

        def judge(record: CaseRecord) -> None:
            nonlocal last
            before, last = last, time.monotonic()
            self.limit.charge(untried[record.op].template, last - before)
            skips = is_first and _shows_too_little(record)
            reason = "" if skips else _misdeclared(record, untried[record.op], run.suite.op(record.op))
            if reason and not (reason.startswith(RACES) and record.op in failed):
                failed[record.op] = reason
            if last > end or (is_first and failed.keys() == untried.keys()):
                raise _Decided

        with self.progress(shown) as (report, _):
            prepared = run.build()
            tasks = [replace(task, shrink=False) for task in prepared.plan.tasks]
            if is_first:  # case by case, because most declarations that fail do so at once
                tasks = [each for task in tasks for each in _single_cases(prepared.plan, run.suite, task)]
            prepared = replace(prepared, plan=replace(prepared.plan, tasks=tuple(tasks)))
            last = time.monotonic()
            end = last + sum(map(self.limit.left, {each.template for each in untried.values()}))
            results = prepared.execute(report, judge)
        judged = dict[str, list[CaseRecord]]()
        for record in results.records:
            if record.where.side != "cuda":
                judged.setdefault(record.op, []).append(record)
        if isinstance(results.stopped, KeyboardInterrupt) and not isinstance(results.stopped, _Decided):
            for name, records in {**few, **judged}.items():
                if name not in failed and not all(map(_shows_too_little, records)):
                    self.untried.pop(name, None)
            raise results.stopped
        if is_first and results.stopped:
            failed |= dict.fromkeys(
                untried.keys() - {record.op for record in results.records} - {*failed}, self._too_slow
            )
        return failed, judged

    @property
    def _too_slow(self) -> str:
        return f"{self.limit.spent} {_TOO_SLOW}"

    @property
    def left_out(self) -> list[Skeleton]:
        """The templates of which some instances have no op."""
        return [each for file in self.files.values() for each in file.ops if each.omitted.endswith(LEFT_OUT)]

    @property
    def incomplete(self) -> list[Skeleton]:
        """The ops that are comments."""
        return [each for each in self._named if self._reason(each)]

    @property
    def declared(self) -> int:
        """The number of ops that are declared."""
        return len(self._named) - len(self.incomplete)

    @property
    def findings(self) -> dict[str, str]:
        """What is wrong with kernels whatever the host passes, by the name of an op for all instances of a template."""
        found: dict[tuple[str, str], tuple[str, str]] = {}
        for each in self._named:
            if is_mistake(reason := self._reason(each) or each.finding):
                found.setdefault(each.template, (each.name, reason))
        return dict(found.values())

    def _reason(self, op: Skeleton) -> str:
        return self.asked.get(op.name, op.question)

    @property
    def _named(self) -> list[Skeleton]:
        return [each for file in self.files.values() for each in file.ops if each.name]


def _single_cases(plan: Plan, suite: Suite, task: Task) -> list[Task]:
    """Return a task for each case of a task; the task itself if its cases cannot be drawn, which is then its result."""
    try:
        return [replace(task, cases=(case,)) for case in plan.draw(suite, task, sparse=True)]
    except Exception:
        return [task]


def _shows_too_little(record: CaseRecord) -> bool:
    """Return True for a failure that further cases may disprove."""
    return record.verdict.kind == "vacuous" or Fact.NEITHER_SIDE in record.verdict.facts


def _misdeclared(record: CaseRecord, op: Skeleton, declared: Op) -> str:
    """Return why a failure shows nothing of the port, or an empty string. With a doubt, the sides may differ."""
    if not record.verdict.failed:
        return ""
    message = in_one_line(record.verdict.detail)
    is_race = record.where.side == "cuda" and record.verdict.kind.startswith(RACES) and f"of {LDS}:" in message
    if is_race and op.shows_races and not is_scatter(message):
        return f"{message}; in {record.case}"
    detail = record.verdict.detail.strip().splitlines()
    place = f"in {record.case}: {detail[0] if detail else record.verdict.kind}"
    if _shows_too_little(record):
        return f"with what was guessed, {TOO_LITTLE} {place}"
    if record.where.side == "cuda":
        return f"with what was guessed, CUDA's side fails {place}"
    if op.is_measured and record.verdict.kind.startswith(RACES) and is_scatter(message):
        return f"with what was guessed, threads meet in one place {place}"
    may_differ = Fact.MAY_DIVERGE in record.verdict.facts or _may_lack_index(record, declared)
    if may_differ and op.again(DIVERGES):  # data that the host never passes may meet it
        return f"{DIVERGES} {place}"
    return f"{op.doubt}; AMD's side fails {place}" if op.doubt else ""


def _may_lack_index(record: CaseRecord, op: Op) -> bool:
    """Return True if a wrong integer may be an index that a search did not set, because all distances are infinite."""
    verdict = record.verdict
    if verdict.kind != "value":
        return verdict.kind.startswith(UNSET)
    call = op.call(op.parse(record.case))
    if call.buffers[verdict.output or call.output].dtype.is_float:
        return False
    numbers = (buffer for name, buffer in call.buffers.items() if name in call.inputs and buffer.dtype.is_float)
    with np.errstate(invalid="ignore"):
        return any(not (abs(x.data.astype(np.float64)) < math.sqrt(x.dtype.max)).all() for x in numbers)


def write_file(path: Path, text: str) -> Path:
    """Write a file and its folder.

    Raises:
        UsageError, ResourceExhausted: it cannot be written.
    """
    with naming_write_errors(path, "choose another folder"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path
