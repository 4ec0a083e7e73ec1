"""Runs in worker processes: judges the cases of a task on all its columns, and shrinks and diagnoses failures."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from parity.build.modules import HelpfulPort, helpful_port, with_other_warps
from parity.cases.builtin import LARGE_TITLE
from parity.compare.arbitration import Conclusion, SideResult
from parity.compare.verdict import Status, Verdict
from parity.compilers.targets import gpu_of
from parity.engine.case_records import DECLARATION, CaseRecord, Column, CrossVendorComparison, Task
from parity.engine.checked_case import BEYOND_TARGET, CheckedCase, Implementation
from parity.engine.cross_vendor import compare_vendors, compare_versions
from parity.engine.diagnosis import diagnose
from parity.engine.judging import Known, judge, not_judged_verdict, verdict_on_output
from parity.engine.nondeterminism import NONDETERMINISTIC
from parity.engine.plan import Plan
from parity.engine.sensitivity import Sensitivity
from parity.engine.shrinking import ShrinkSettings, minimize
from parity.errors import DeviceLost, ParityError, UsageError
from parity.model.case import Case
from parity.op import Call, Entry
from parity.platform.integrity import check_integrity, protect_instance
from parity.reference.expected import Expected
from parity.runners import OpRunner, OpSession, Runner, Session, SupportsReplay, SupportsSampling, runner
from parity.suite.loading import Suite

FAILURES_TO_SHRINK = 2
"""Number of kinds of failures to shrink per kernel and column."""

AFFORDABLE = 25_000_000
"""Instructions that a large case of a kernel without a reference may execute; about a second on one core."""

ENDLESS = 3
"""Number of timeouts on a column after which the remaining cases of the kernel are skipped there."""

RANDOM = 6
"""Number of first cases on a column after which the remaining ones are skipped, if chance decides all their results."""

_NOT_EXECUTED = "so this case was not executed; name it to run it alone"
_HANGING = Verdict(
    Status.NOT_JUDGED, "left out", detail=f"{ENDLESS} earlier cases of this kernel timed out, {_NOT_EXECUTED}"
)
_CHANCE = Verdict(
    Status.NOT_JUDGED,
    "left out",
    detail=f"the order of threads or a clock decides the results of {RANDOM} cases of this kernel, {_NOT_EXECUTED}",
)

NOT_SMALLER = "(not made smaller: the op has no reference, and CUDA's side only replays the recorded cases)"

_Minimal = dict[Column, dict[tuple[Status, str], Case]]
"""The shrunk case of each failure, by column."""


@dataclass
class Worker:
    """The state of a worker process: the plan, its suite, and the runners and sessions opened so far.

    ``lost`` holds the reason why a column's device could not be reopened.
    """

    plan: Plan
    suite: Suite
    runners: dict[str, Runner | OpRunner] = field(default_factory=dict)
    sessions: dict[Column, Session | OpSession] = field(default_factory=dict)
    recorded: dict[Column, frozenset[str]] = field(default_factory=dict)
    helpful: dict[tuple[str, str], HelpfulPort | None] = field(default_factory=dict)
    lost: dict[Column, str] = field(default_factory=dict)
    scratch: Path = Path(tempfile.gettempdir())

    def runner(self, column: Column) -> Runner | OpRunner:
        """Return the runner of a column, created on first use."""
        if column.spec not in self.runners:
            self.runners[column.spec] = runner(self.plan.specs.get(column.spec, column.spec))
        return self.runners[column.spec]

    def session(self, column: Column) -> Session | OpSession:
        """Return the session of a column, opened on first use."""
        if column not in self.sessions:
            found = self.runner(column)
            device = gpu_of(column.target) if column.live else column.target  # recordings keep versions apart
            self.sessions[column] = (
                found.open(device, checked=self.plan.checked)
                if isinstance(found, Runner)
                else OpSession(partial(found.compute, column.target))
            )
        return self.sessions[column]

    def kernels(self, column: Column) -> Session:
        """Return the session of a column that runs kernels."""
        found = self.session(column)
        assert not isinstance(found, OpSession)
        return found

    def has(self, column: Column, text: str) -> bool:
        """Return True if a case can run on a column. A replaying column has only recorded cases."""
        if column.live:
            return True
        if column not in self.recorded:
            runner = self.runner(column)
            assert isinstance(runner, SupportsReplay)
            self.recorded[column] = runner.recording.texts(column.target)
        return text in self.recorded[column]

    def run(self, task: Task) -> list[CaseRecord]:
        """Draw the cases of one kernel entry, run them on all its columns, and return the records column by column."""
        entry = self.suite.entry(task)
        try:
            drawn = self.plan.draw(self.suite, task, sparse=True)
            about = entry.op.divergences(entry.dtypes)
        except Exception as error:  # a bug in the op's declaration affects only this op
            verdict = _declaration_verdict(error)
            return [self._mark(CaseRecord.of(entry, column, "", verdict)) for column in task.columns]
        records = self.perform(task, entry, drawn)
        return [replace(each, divergence=about[each.case]) if each.case in about else each for each in records]

    def perform(self, task: Task, entry: Entry, cases: Iterable[tuple[str, str]]) -> list[CaseRecord]:
        """Run cases, given as (title, text), on all columns of a task, and return the records column by column.

        Shrinks the first failures of each kind on every column.
        """
        progress = _TaskProgress.start(task.columns)
        for titled in cases:
            self._perform_case(task, entry, titled, progress)
        return [record for column in task.columns for record in self._with_insensitive(task, column, progress)]

    def _with_insensitive(self, task: Task, column: Column, progress: _TaskProgress) -> list[CaseRecord]:
        """Return the records of a column. If its cases cannot fail, the first pass becomes a failure."""
        records = progress.records[column]
        may_be_vacuous = task.picked or any(fnmatchcase(task.op, name) for name in self.suite.allow_vacuous)
        failure = progress.sensitivity[column].failure(task.op, may_be_vacuous=may_be_vacuous)
        passed = (number for number, record in enumerate(records) if record.verdict.passed and record.verdict.total)
        if not failure and (gap := progress.sensitivity[column].large_gap()):
            text, failure = gap
            passed = (number for number, record in enumerate(records) if record.case == text)
        if failure and (task.shrink or task.cases is None) and (first := next(passed, None)) is not None:
            total = records[first].verdict.total if failure.failed else 0
            verdict = replace(failure, wrong=total, total=total)
            records[first] = self._mark(replace(records[first], verdict=verdict))
        return records

    def _perform_case(self, task: Task, entry: Entry, titled: tuple[str, str], progress: _TaskProgress) -> None:
        title, text = titled
        records = progress.records
        columns = [column for column in task.columns if self.has(column, text)]
        for column in [c for c in columns if c in progress.skipped]:
            columns.remove(column)
            records[column].append(CaseRecord.of(entry, column, text, progress.skipped[column], title))
        try:
            case = entry.op.parse(text)
            call = entry.op.call(case)
        except Exception as error:  # a bug in the op's declaration or in parity affects only this case
            for column in columns:
                record = CaseRecord.of(entry, column, text, _declaration_verdict(error), title)
                records[column].append(self._mark(record))
            return
        if title == LARGE_TITLE and not call.references and _may_be_long(entry, case, records):
            return
        if call.sample:
            columns = [column for column in columns if self._samples(column)]
        is_whole = task.shrink or task.cases is None  # otherwise, each case is a task
        checked = self.on_all(entry, columns, case, call, {c: is_whole and not records[c] for c in columns})
        against = {} if call.sample else _compare_sides(call, checked)
        upgrade = {} if call.sample else _compare_sides(call, checked, compare_versions)
        for column, each in checked.items():
            if each.verdict.passed and not call.sample:
                sensitivity = progress.sensitivity[column]
                sensitivity.add(each, call, column.vendor)
                if sensitivity.vacuous != each.verdict.vacuous:
                    each = replace(each, verdict=replace(each.verdict, vacuous=sensitivity.vacuous))
            record = self._mark(make_record(entry, column, each, title, against.get(column)))
            if column in upgrade:
                record = replace(record, upgrade=upgrade[column])
            # After a lost device, each attempt would take seconds.
            if task.shrink and record.failed and column.live and not each.lost and not (call.sample or call.observed):
                record = self._with_minimal(entry, task, column, record, each, progress.minimal)
            records[column].append(record)
            may_end = record.failed or len(records[column]) == RANDOM
            if may_end and task.cases is None and (rest := verdict_on_rest(records[column])):
                progress.skipped[column] = rest

    def _samples(self, column: Column) -> bool:
        session = self.session(column)
        return isinstance(session, SupportsSampling) and session.samples

    def _mark(self, record: CaseRecord) -> CaseRecord:
        return self.plan.known.mark(record)

    def _with_minimal(
        self, entry: Entry, task: Task, column: Column, record: CaseRecord, failing: CheckedCase, minimal: _Minimal
    ) -> CaseRecord:
        """Add the shrunk case to the record of a failure, if it is among the first of its kind on the column."""
        failure, found = (failing.verdict.status, failing.verdict.kind), minimal[column]
        if failure[0] not in (Status.FAIL, Status.TIMEOUT) or failure in found or len(found) >= FAILURES_TO_SHRINK:
            return record
        # The shrunk case of another column often fails here, too.
        hints = [cases[failure] for cases in minimal.values() if failure in cases]
        try:
            small = self._shrink(entry, task, column, failing, hints)
            against = self._compare_small(entry, task, column, small)
        except Exception as error:  # report the failure anyway
            found[failure] = failing.case
            note = f"(it was not made smaller: {type(error).__name__}: {error})"
            return replace(record, verdict=record.verdict.noted(note))
        found[failure] = small.case
        return replace(record, minimal=make_record(entry, column, small, against=against))

    def on_all(
        self, entry: Entry, columns: Sequence[Column], case: Case, call: Call, first: Mapping[Column, bool]
    ) -> dict[Column, CheckedCase]:
        """Run one case on all columns, and judge it.

        If the op has no reference, the first CUDA column with a result is the oracle for the other columns. Devices
        come before emulators.
        """
        if call.observed:  # CUDA's code, if it runs here, only shows how much its roundings can change the results
            theirs = next((column for column in _cuda_columns(columns) if column.built), None)
            return {c: self._checked(entry, c, case, call, first.get(c, False), theirs) for c in columns}
        if call.references:
            known: Known = {}
            return {c: self._checked(entry, c, case, call, first.get(c, False), known=known) for c in columns}
        found: dict[Column, CheckedCase] = {}
        oracle: Column | None = None
        cuda = _cuda_columns(columns)
        for column in (*cuda, *(each for each in columns if each not in cuda)):
            by = None if column in cuda else oracle
            baseline = found[by] if by else None
            found[column] = self._checked(entry, column, case, call, first.get(column, False), by, baseline)
            if oracle is None and column in cuda and found[column].unreferenced:
                oracle = column
        skipped = next((found[each].verdict for each in cuda if found[each].verdict.kind == BEYOND_TARGET), None)
        for column, each in found.items():
            if each.unreferenced and skipped and not oracle:
                found[column] = replace(each, verdict=skipped)
        if any(not each.unreferenced for column, each in found.items() if column not in cuda):
            for column in cuda:
                if found[column].unreferenced:
                    found[column] = replace(found[column], verdict=Verdict(Status.BASELINE))
        return {column: found[column] for column in columns}

    def _checked(
        self,
        entry: Entry,
        column: Column,
        case: Case,
        call: Call,
        first: bool = False,
        oracle: Column | None = None,
        baseline: CheckedCase | None = None,
        known: Known | None = None,
    ) -> CheckedCase:
        try:
            implementation = self._implementation(entry, column, oracle)
            return judge(case, call, implementation, first=first, baseline=baseline, known=known)
        except Exception as error:  # a bug outside of the kernel affects only this case
            if isinstance(error, DeviceLost):
                self.lost[column] = str(error)
            return CheckedCase(case, _error_verdict(error))

    def _implementation(self, entry: Entry, column: Column, oracle: Column | None = None) -> Implementation:
        code = self.plan.code.get((entry.op.module, column))
        cuda = self._implementation(entry, oracle) if oracle else None
        found = Implementation(self.session(column), column.vendor, code, cuda, column.known_as)
        if not (code and column.live and entry.op.triton_kernel):
            return found
        return replace(found, other_warps=partial(with_other_warps, self.suite, entry, code.target))

    def _oracle(self, entry: Entry, task: Task, failing: CheckedCase) -> Column | None:
        """Return the column that judges smaller cases of a failure; None if the op has a reference."""
        if entry.op.reference or failing.expected is None:
            return None
        cuda = _cuda_columns(task.columns)
        return next((column for column in cuda if column.live), cuda[0] if cuda else None)

    def _shrink(self, entry: Entry, task: Task, column: Column, failing: CheckedCase, hints: list[Case]) -> CheckedCase:
        plan = self.plan

        def is_known(checked: CheckedCase) -> bool:
            return bool(self._mark(make_record(entry, column, checked)).known)

        settings = ShrinkSettings(plan.entry_seed(entry), plan.examples, plan.launches, hints, is_known)
        oracle = self._oracle(entry, task, failing)
        if oracle and not oracle.live:
            return replace(failing, verdict=failing.verdict.noted(NOT_SMALLER))
        implementation = self._implementation(entry, column, oracle)
        minimal = minimize(entry.op, failing, implementation, settings)
        if not column.built:
            return minimal
        code = {each: plan.code[entry.op.module, each] for each in task.columns if each.built}
        helpful = partial(self._helpful, entry.op.module)
        return diagnose(entry.op, minimal, column, code, self.session, helpful, implementation.oracle)

    def _helpful(self, module: str, column: Column) -> HelpfulPort | None:
        """Return the module ported in the helpful style; None if that equals the column's build."""
        key = module, column.target
        if column.vendor == "amd" and key not in self.helpful:
            self.helpful[key] = helpful_port(self.suite, module, column.target)
        return self.helpful.get(key)

    def _compare_small(
        self, entry: Entry, task: Task, column: Column, small: CheckedCase
    ) -> CrossVendorComparison | None:
        """Compare a shrunk case with the other vendor, if the other vendor's kernel can be launched."""
        others = [each for each in task.columns if each.vendor != column.vendor and each.built]
        if not column.built or not others:
            return None
        call = entry.op.call(small.case)
        checked = self.on_all(entry, (*others, column), small.case, call, {})
        return _compare_sides(call, {**checked, column: small}).get(column)


Compare = Callable[[Mapping[Column, SideResult], Callable[[], Expected] | None], dict[Column, CrossVendorComparison]]
"""Compares the columns of one output."""


@dataclass
class _TaskProgress:
    """The results of a task so far, by column. ``skipped`` has the verdict on the remaining cases of a column."""

    records: dict[Column, list[CaseRecord]]
    minimal: _Minimal
    sensitivity: dict[Column, Sensitivity]
    skipped: dict[Column, Verdict] = field(default_factory=dict)

    @classmethod
    def start(cls, columns: Iterable[Column]) -> _TaskProgress:
        every = tuple(columns)
        return cls({c: [] for c in every}, {c: {} for c in every}, {c: Sensitivity() for c in every})


def verdict_on_rest(records: Sequence[CaseRecord]) -> Verdict | None:
    """Return the verdict on the remaining cases, if they are skipped because of the results so far; else None."""
    if sum(record.failed and record.verdict.status is Status.TIMEOUT for record in records) >= ENDLESS:
        return _HANGING
    if len(records) != RANDOM:
        return None
    verdicts = (record.verdict for record in records)
    is_random = all(each.status is Status.NOT_JUDGED and each.kind == NONDETERMINISTIC for each in verdicts)
    return _CHANCE if is_random else None


def _cuda_columns(columns: Sequence[Column]) -> list[Column]:
    """Return the columns that run CUDA's kernels, devices before emulators."""
    return sorted((column for column in columns if column.side == "cuda"), key=lambda column: column.emulated)


def _compare_sides(
    call: Call, checked: Mapping[Column, CheckedCase], compare: Compare = compare_vendors
) -> dict[Column, CrossVendorComparison]:
    """Compare the columns in a case with ``compare``. Of several outputs, keep the worst conclusion."""
    worst: dict[Column, CrossVendorComparison] = {}
    order = list(Conclusion)
    for name in call.outputs:
        results = {
            column: SideResult(verdict_on_output(name, call, each.verdict), each.outputs.get(name))
            for column, each in checked.items()
        }
        expected = partial(_reference, call, name) if call.references else None
        for column, found in compare(results, expected).items():
            if column not in worst or order.index(found.conclusion) > order.index(worst[column].conclusion):
                worst[column] = found
    return worst


def _reference(call: Call, name: str) -> Expected:
    assert call.references is not None
    return call.references()[name]


def _may_be_long(entry: Entry, case: Case, records: Mapping[Column, Sequence[CaseRecord]]) -> bool:
    """Return whether a case executes too much if the instructions of earlier cases grow with the square of elements."""
    known = [
        (each.instructions, _elements(entry.op.parse(each.case)))
        for found in records.values()
        for each in found
        if each.case and each.instructions
    ]
    counts, sizes = zip(*known, strict=True) if known else ((0,), (1,))
    return bool(max(counts) * (_elements(case) / max(sizes)) ** 2 > AFFORDABLE)


def _elements(case: Case) -> int:
    return max((layout.numel for layout in case.layouts.values()), default=1) or 1


def _declaration_verdict(error: Exception) -> Verdict:
    """Return the verdict for an error before anything was launched: only the declaration can be wrong."""
    verdict = _error_verdict(error)
    is_usage = verdict.status is Status.ERROR and isinstance(error, UsageError)
    return replace(verdict, kind=DECLARATION) if is_usage else verdict


def _error_verdict(error: Exception) -> Verdict:
    """Return the verdict for an error outside of the kernel. Errors that are not parity's include the traceback."""
    if verdict := not_judged_verdict(error):
        return verdict
    detail = str(error) if isinstance(error, ParityError) else "".join(traceback.format_exception(error))
    return Verdict(Status.ERROR, "error", detail=detail)


def make_record(
    entry: Entry, column: Column, checked: CheckedCase, title: str = "", against: CrossVendorComparison | None = None
) -> CaseRecord:
    return CaseRecord.of(
        entry, column, str(checked.case), checked.verdict, title,
        launch=checked.launch, inputs=checked.inputs, instructions=checked.instructions, against=against,
        printed=checked.printed, reached=checked.reached,
    )  # fmt: skip


_worker: Worker


def start(plan: Plan, scratch: Path) -> None:
    """Initialize this process. ``scratch`` is a temporary folder that the processes of the pool share."""
    global _worker
    _worker = Worker(plan, plan.suite(), scratch=scratch)
    for each in (plan, plan.known, _worker.suite):
        protect_instance(each)


def current() -> Worker:
    """Return the state of this process."""
    return _worker


def prepare_kernels(module: str, column: Column, kernels: tuple[str, ...]) -> None:
    """Translate several kernels at once."""
    _worker.kernels(column).prepare(_worker.plan.code[module, column], kernels)


def perform(task: Task) -> list[CaseRecord]:
    """Run a task.

    Raises:
        UsageError: A case file has replaced code of parity.
    """
    try:
        return _worker.run(task)
    finally:
        check_integrity()


def perform_or_lose_device(task: Task) -> list[CaseRecord]:
    """Run a task in a cluster, where another machine can take over.

    Raises:
        DeviceLost: A device cannot be reopened.
    """
    _worker.lost.clear()
    records = perform(task)
    for reason in _worker.lost.values():
        raise DeviceLost(reason)
    return records
