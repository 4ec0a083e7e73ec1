"""The work of a worker process: judging, diagnosing and minimizing the cases of its tasks."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from parity.build.modules import HelpfulPort, helpful_port
from parity.compare import Conclusion, SideResult, Status, Verdict, accepts_zeros
from parity.engine.case_records import CaseRecord, Column, CrossVendorComparison, Task
from parity.engine.cross_vendor import compare_vendors
from parity.engine.diagnosis import diagnose
from parity.engine.judging import CheckedCase, Implementation, judge, not_judged_verdict, verdict_on_output
from parity.engine.plan import Plan
from parity.engine.shrinking import ShrinkSettings, minimize
from parity.errors import DeviceLost, ParityError
from parity.model.case import Case
from parity.op import Call, Entry
from parity.reference.expected import Expected
from parity.runners import OpRunner, OpSession, Runner, Session, SupportsReplay, runner
from parity.suite.loading import Suite

__all__ = [
    "SKIPPED",
    "Worker",
    "current",
    "hangs_repeatedly",
    "perform",
    "perform_or_lose_device",
    "prepare_kernels",
    "start",
]

FAILURES_TO_SHRINK = 2

ENDLESS = 3
"""Cases of a kernel that may have no end on a column; each takes seconds, so the others are left out then."""

SKIPPED = Verdict(
    Status.NOT_JUDGED,
    "left out",
    detail=f"{ENDLESS} cases of this kernel before it had no end, so it was not executed; name it to run it alone",
)

NOT_SMALLER = "(not made smaller: the op has no reference, and CUDA's side has nothing but the recorded cases)"

_Minimal = dict[Column, dict[tuple[Status, str], Case]]
"""The simplest case of each failure that was made smaller, by column."""


@dataclass
class Worker:
    """The state of one process: the suite, the runners and devices it has opened, and why it could not open others."""

    plan: Plan
    suite: Suite
    runners: dict[str, Runner | OpRunner] = field(default_factory=dict)
    sessions: dict[Column, Session | OpSession] = field(default_factory=dict)
    recorded: dict[Column, frozenset[str]] = field(default_factory=dict)
    helpful: dict[tuple[str, str], HelpfulPort | None] = field(default_factory=dict)
    lost: dict[Column, str] = field(default_factory=dict)
    scratch: Path = Path(tempfile.gettempdir())

    def runner(self, column: Column) -> Runner | OpRunner:
        """The runner of a column, made on first use."""
        if column.spec not in self.runners:
            self.runners[column.spec] = runner(self.plan.specs.get(column.spec, column.spec))
        return self.runners[column.spec]

    def session(self, column: Column) -> Session | OpSession:
        """The device of a column, opened on first use."""
        if column not in self.sessions:
            found = self.runner(column)
            self.sessions[column] = (
                found.open(column.target, checked=self.plan.checked)
                if isinstance(found, Runner)
                else OpSession(found, column.target)
            )
        return self.sessions[column]

    def kernels(self, column: Column) -> Session:
        """The device of a column that runs kernels."""
        found = self.session(column)
        assert not isinstance(found, OpSession)
        return found

    def has(self, column: Column, text: str) -> bool:
        """True if a case can run there: a column that replays has only the cases that were recorded."""
        if column.live:
            return True
        if column not in self.recorded:
            runner = self.runner(column)
            assert isinstance(runner, SupportsReplay)
            self.recorded[column] = runner.recording.texts(column.target)
        return text in self.recorded[column]

    def perform(self, task: Task) -> list[CaseRecord]:
        """Check the cases of one entry on all its columns, column by column in the result.

        Of every column the first failures of each kind are shrunk.
        """
        entry = self.suite.entry(task)
        records: dict[Column, list[CaseRecord]] = {column: [] for column in task.columns}
        minimal: _Minimal = {column: {} for column in task.columns}
        # The outputs of which no case so far tells a kernel from one that writes zeros.
        vacuous = dict.fromkeys(task.columns, tuple(entry.op.compared))
        stuck: set[Column] = set()
        try:
            drawn = self.plan.draw(self.suite, task)
            about = entry.op.divergences(entry.dtypes)
        except Exception as error:  # a mistake in the op's declaration costs this op only
            return [self.plan.known.mark(CaseRecord.of(entry, column, "", _defect(error))) for column in task.columns]
        for title, text in drawn:
            columns = [column for column in task.columns if self.has(column, text)]
            for column in [c for c in columns if c in stuck]:
                columns.remove(column)
                records[column].append(CaseRecord.of(entry, column, text, SKIPPED, title))
            try:
                case = entry.op.parse(text)
                call = entry.op.call(case)
            except Exception as error:  # a defect of the op's declaration or of parity costs this case only
                for column in columns:
                    records[column].append(
                        self.plan.known.mark(CaseRecord.of(entry, column, text, _defect(error), title))
                    )
                continue
            checked = self.on_all(entry, columns, case, call, {column: not records[column] for column in columns})
            against = _against(call, checked)
            for column, each in checked.items():
                if each.verdict.passed and vacuous[column]:
                    expected = each.expected or {}
                    zeros = (n for n in vacuous[column] if accepts_zeros(expected[n], column.vendor))
                    vacuous[column] = tuple(zeros)
                    each = replace(each, verdict=replace(each.verdict, vacuous=vacuous[column]))
                record = self.plan.known.mark(_record(entry, column, each, title, against.get(column)))
                # Each attempt at a failure that costs the device would cost seconds.
                if task.shrink and record.failed and column.live and not each.lost:
                    record = self._with_minimal(entry, task, column, record, each, minimal)
                records[column].append(record)
                if record.failed and task.cases is None and hangs_repeatedly(records[column]):
                    stuck.add(column)
        every = [record for each in records.values() for record in each]
        return [replace(each, divergence=about[each.case]) if each.case in about else each for each in every]

    def _with_minimal(
        self, entry: Entry, task: Task, column: Column, record: CaseRecord, failing: CheckedCase, minimal: _Minimal
    ) -> CaseRecord:
        """The record of a failure with the simplest case of it, if it is among the first of its kind on a column."""
        failure, found = (failing.verdict.status, failing.verdict.kind), minimal[column]
        if failure[0] not in (Status.FAIL, Status.TIMEOUT) or failure in found or len(found) >= FAILURES_TO_SHRINK:
            return record
        # The simplest case elsewhere is often the simplest here.
        hints = [cases[failure] for cases in minimal.values() if failure in cases]
        try:
            small = self._minimal(entry, task, column, failing, hints)
            beside = self._beside(entry, task, column, small)
        except Exception as error:  # the failure is reported all the same
            found[failure] = failing.case
            note = f"(it was not made smaller: {type(error).__name__}: {error})"
            return replace(record, verdict=record.verdict.noted(note))
        found[failure] = small.case
        return replace(record, minimal=_record(entry, column, small, against=beside))

    def on_all(
        self, entry: Entry, columns: Sequence[Column], case: Case, call: Call, first: Mapping[Column, bool]
    ) -> dict[Column, CheckedCase]:
        """One case on all columns.

        Of an op without a reference CUDA's results are taken as right, if there are any; the others are judged by the
        first of them, devices before emulators.
        """
        if call.references:
            return {c: self._checked(entry, c, case, call, first.get(c, False)) for c in columns}
        found: dict[Column, CheckedCase] = {}
        by: Column | None = None
        theirs = _witnesses(columns)
        for column in (*theirs, *(each for each in columns if each not in theirs)):
            judge_by = None if column in theirs else by
            taken = found[judge_by] if judge_by else None
            found[column] = self._checked(entry, column, case, call, first.get(column, False), judge_by, taken)
            if by is None and column in theirs and found[column].unreferenced:
                by = column
        if any(not each.unreferenced for column, each in found.items() if column not in theirs):
            for column in theirs:
                if found[column].unreferenced:
                    found[column] = replace(found[column], verdict=Verdict(Status.TAKEN))
        return {column: found[column] for column in columns}

    def _checked(
        self,
        entry: Entry,
        column: Column,
        case: Case,
        call: Call,
        first: bool = False,
        by: Column | None = None,
        taken: CheckedCase | None = None,
    ) -> CheckedCase:
        try:
            return judge(case, call, self._subject(entry, column, by), first=first, taken=taken)
        except Exception as error:  # a defect outside of the kernel costs this case only
            if isinstance(error, DeviceLost):
                self.lost[column] = str(error)
            return CheckedCase(case, _defect(error), "", {})

    def _subject(self, entry: Entry, column: Column, by: Column | None = None) -> Implementation:
        code = self.plan.code.get((entry.op.module, column))
        theirs = self._subject(entry, by) if by else None
        return Implementation(self.session(column), column.vendor, code, theirs, column.known_as)

    def _standard(self, entry: Entry, task: Task, failing: CheckedCase) -> Column | None:
        """The column by which smaller cases of a failure are judged, if they need one."""
        if entry.op.reference or failing.expected is None:
            return None
        theirs = _witnesses(task.columns)
        return next((column for column in theirs if column.live), theirs[0] if theirs else None)

    def _minimal(
        self, entry: Entry, task: Task, column: Column, failing: CheckedCase, hints: list[Case]
    ) -> CheckedCase:
        plan = self.plan

        def is_known(checked: CheckedCase) -> bool:
            return bool(plan.known.mark(_record(entry, column, checked)).known)

        search = ShrinkSettings(plan.seed_of(entry), plan.examples, plan.launches, hints, is_known)
        by = self._standard(entry, task, failing)
        if by and not by.live:
            return replace(failing, verdict=failing.verdict.noted(NOT_SMALLER))
        subject = self._subject(entry, column, by)
        minimal = minimize(entry.op, failing, subject, search)
        if not column.built:
            return minimal
        code = {each: plan.code[entry.op.module, each] for each in task.columns if each.built}
        helpful = partial(self._helpful, entry.op.module)
        return diagnose(entry.op, minimal, column, code, self.session, helpful, subject.by)

    def _helpful(self, module: str, column: Column) -> HelpfulPort | None:
        """The module as the helpful style ports it, if that differs from what was built for this column."""
        key = module, column.target
        if column.vendor == "amd" and key not in self.helpful:
            self.helpful[key] = helpful_port(self.suite, module, column.target)
        return self.helpful.get(key)

    def _beside(self, entry: Entry, task: Task, column: Column, small: CheckedCase) -> CrossVendorComparison | None:
        """The comparison with the other vendor in a case that was made small, if it can be launched there."""
        others = [each for each in task.columns if each.vendor != column.vendor and each.built]
        if not column.built or not others:
            return None
        call = entry.op.call(small.case)
        checked = self.on_all(entry, (*others, column), small.case, call, {})
        return _against(call, {**checked, column: small}).get(column)


def hangs_repeatedly(records: Iterable[CaseRecord]) -> bool:
    """True if so many cases of a kernel had no end that no more are executed."""
    return sum(record.failed and record.verdict.status is Status.TIMEOUT for record in records) >= ENDLESS


def _witnesses(columns: Sequence[Column]) -> list[Column]:
    """The columns of CUDA's kernels, whose results may be taken as right: devices before emulators."""
    theirs = [column for column in columns if column.side == "cuda"]
    return sorted(theirs, key=lambda column: column.emulated)


def _against(call: Call, checked: Mapping[Column, CheckedCase]) -> dict[Column, CrossVendorComparison]:
    """The comparison of CUDA and AMD in a case, by column; of several outputs the one in which they agree least."""
    worst: dict[Column, CrossVendorComparison] = {}
    order = list(Conclusion)
    for name in call.outputs:
        witnesses = {
            column: SideResult(verdict_on_output(name, call, each.verdict), each.outputs.get(name))
            for column, each in checked.items()
        }
        expected = partial(_reference, call, name) if call.references else None
        for column, found in compare_vendors(witnesses, expected).items():
            if column not in worst or order.index(found.conclusion) > order.index(worst[column].conclusion):
                worst[column] = found
    return worst


def _reference(call: Call, name: str) -> Expected:
    assert call.references is not None
    return call.references()[name]


def _defect(error: Exception) -> Verdict:
    """The verdict for an error outside of the kernel: with its message if parity raised it, else with the traceback."""
    if verdict := not_judged_verdict(error):
        return verdict
    detail = str(error) if isinstance(error, ParityError) else "".join(traceback.format_exception(error))
    return Verdict(Status.ERROR, "error", detail=detail)


def _record(
    entry: Entry, column: Column, checked: CheckedCase, title: str = "", against: CrossVendorComparison | None = None
) -> CaseRecord:
    return CaseRecord.of(
        entry, column, str(checked.case), checked.verdict, title,
        launch=checked.launch, inputs=checked.inputs, instructions=checked.instructions, against=against,
        printed=checked.printed, reached=checked.reached,
    )  # fmt: skip


_worker: Worker


def start(plan: Plan, scratch: Path) -> None:
    """Initialise this process; ``scratch`` is a folder for all of its pool, and ends with that."""
    global _worker
    _worker = Worker(plan, plan.suite(), scratch=scratch)


def current() -> Worker:
    """The state of this process."""
    return _worker


def prepare_kernels(module: str, column: Column, kernels: tuple[str, ...]) -> None:
    """Make kernels ready to run, many at once."""
    _worker.kernels(column).prepare(_worker.plan.code[module, column], kernels)


def perform(task: Task) -> list[CaseRecord]:
    """Run a task."""
    return _worker.perform(task)


def perform_or_lose_device(task: Task) -> list[CaseRecord]:
    """Run a task on a machine that others can stand in for.

    Raises:
        DeviceLost: a device cannot be opened any more.
    """
    _worker.lost.clear()
    records = _worker.perform(task)
    for reason in _worker.lost.values():
        raise DeviceLost(reason)
    return records
