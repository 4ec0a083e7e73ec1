"""Runs in worker processes: chooses faults of one kernel, plants them, and runs the kernel's cases."""

from __future__ import annotations

import functools
import hashlib
import operator
import pickle
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.build.incremental import Stage, recompiled, stage
from parity.cases.builtin import sparse_rows
from parity.cases.strategies import structure
from parity.compare.verdict import Status
from parity.compilers.errors import CompileError
from parity.data.sampling import sample
from parity.emulator.amdgpu.listing import source_lines
from parity.engine import worker
from parity.engine.case_records import Column, Task
from parity.engine.checked_case import CheckedCase
from parity.engine.worker import Worker
from parity.footprint.unreached_code import Gap, gap_reason, unreached_lines
from parity.model.case import Case
from parity.model.code_object import CodeObject, parse
from parity.mutation.instruction_faults import (
    IsolatedCode,
    instruction_mutants,
    isolate_kernels,
    program,
    with_instruction,
)
from parity.mutation.mutant import Level, Mutant, MutantOutcome, MutantResult, Reason, UnmutatedResult
from parity.mutation.source_faults import apply_edit, source_edits
from parity.op import Call, Entry
from parity.platform.cache import Cache, digest

NOT_SHOWN = "wait"
"""The class of faults that the emulator cannot show. Planted only on request."""

STAGE = "stage.pickle"

OPEN = 40
"""Number of mutants after which a device is reopened, because it keeps what it has loaded."""

SEARCH = 0x5EA2C4
"""Changes the seed of a longer search, so that it draws different cases."""


@dataclass(frozen=True)
class MutatedKernel:
    """The kernel of a task in which faults are planted, on ``column``.

    ``others`` are the columns whose results judge the kernel if its op has no reference. ``sourced`` says whether the
    module has a source.
    """

    task: Task
    module: str
    column: Column
    others: tuple[Column, ...] = ()
    sourced: bool = True

    @property
    def op(self) -> str:
        return self.task.op

    @property
    def dtypes(self) -> tuple[str, ...]:
        return self.task.dtypes


@dataclass(frozen=True)
class _LoweredCase:
    text: str
    case: Case
    call: Call


@dataclass
class _KernelState:
    """What a worker keeps about its current kernel: its isolated code, its cases, and their unmutated results."""

    subject: MutatedKernel
    entry: Entry
    alone: IsolatedCode
    cases: tuple[_LoweredCase, ...]
    usual: dict[str, tuple[CheckedCase, str]] = field(default_factory=dict)
    more: dict[int, tuple[_LoweredCase, ...]] = field(default_factory=dict)
    recompiled: str = ""
    unreached: Mapping[int, Gap] | None = None

    @property
    def code(self) -> CodeObject:
        return self.alone.code


_ready: list[_KernelState] = []
_loaded = 0


def choose_faults(
    subject: MutatedKernel, wanted: Mapping[Level, int], seed: int, kinds: frozenset[str] = frozenset()
) -> list[Mutant]:
    """Choose faults of a kernel, ``wanted`` per level. The same seed gives the same faults.

    Raises:
        UnknownInstruction, UsageError: The kernel cannot be parsed.
        CompileError, MissingTool: As ``parity.build.incremental.stage``, for faults in source.
    """
    ready = _kernel_state(subject)
    found: list[Mutant] = []
    for level, count in wanted.items():
        if count:
            every = _instructions(ready) if level == "instruction" else _source(ready)
            found += _sample(every, count, seed, kinds)
    return found


@functools.cache
def _staged(module: str, target: str) -> Stage | None:
    """Stage a module in a folder that all processes of the pool share; None if it has no source.

    Raises:
        CompileError, UsageError, MissingTool: As ``parity.build.incremental.stage``.
    """
    here = worker.current()

    def build(folder: Path) -> None:
        (folder / STAGE).write_bytes(pickle.dumps(stage(here.suite, module, target, folder)))

    folder, _ = Cache(here.scratch).get(digest(module, target), build)
    found: Stage | None = pickle.loads((folder / STAGE).read_bytes())
    return replace(found, folder=folder / found.folder.name, scratch=here.scratch) if found else None


def run_unmutated(subject: MutatedKernel) -> UnmutatedResult:
    """Run the cases of the kernel without faults."""
    ready = _kernel_state(subject)
    verdicts = [_unmutated(ready, concrete)[0].verdict for concrete in ready.cases]
    budgets = [verdict.budget for verdict in verdicts if verdict.passed]
    return UnmutatedResult(len(budgets), len(verdicts), max(budgets, default=0.0))


def try_mutant(subject: MutatedKernel, mutant: Mutant, search: int) -> MutantResult:
    """Plant a fault, and run the kernel's cases until one fails; if none fails, search ``search`` further cases."""
    global _loaded
    if mutant.kind == NOT_SHOWN:
        return MutantResult(mutant, MutantOutcome.NOT_SHOWN)
    ready, state = _kernel_state(subject), worker.current()
    _loaded += 1
    if _loaded % OPEN == 0:
        state.sessions.pop(subject.column, None)
    try:
        code = _code_with_fault(ready, mutant)
    except CompileError as error:
        return MutantResult(mutant, MutantOutcome.UNCOMPILED, detail=error.first)
    if code is None:
        return MutantResult(mutant, MutantOutcome.EQUAL)
    results: list[tuple[_LoweredCase, CheckedCase]] = []
    for concrete, checked in _run(ready, code, ready.cases):
        if checked.verdict.status is Status.ERROR:
            return MutantResult(mutant, MutantOutcome.UNCOMPILED, detail=checked.verdict.detail.partition("\n")[0])
        if checked.verdict.failed:
            late = checked.verdict.status is Status.TIMEOUT
            outcome = MutantOutcome.TIMED_OUT if late else MutantOutcome.CAUGHT
            verdict = checked.verdict.kind or str(checked.verdict.status)
            return MutantResult(mutant, outcome, concrete.text, verdict, len(results) + 1)
        results.append((concrete, checked))
    if not results:
        return MutantResult(
            mutant, MutantOutcome.NOT_SHOWN, detail="no case of the kernel passes and can be judged without the fault"
        )
    return _explain_survivor(
        ready, code, MutantResult(mutant, MutantOutcome.SURVIVED, cases=len(results)), results, search
    )


def _explain_survivor(
    ready: _KernelState,
    code: CodeObject,
    tried: MutantResult,
    results: Sequence[tuple[_LoweredCase, CheckedCase]],
    search: int,
) -> MutantResult:
    """Return a survivor with the reason, and with a case from a longer search that catches it, if found."""
    own = max(_unmutated(ready, concrete)[0].verdict.budget for concrete, _ in results)
    changed = [checked for concrete, checked in results if _differs(ready, concrete, checked)]
    more = _longer_search(ready, search) if search else ()
    for number, (concrete, checked) in enumerate(_run(ready, code, more), 1):
        if checked.verdict.failed:
            return replace(tried, reason=Reason.MISSED, usual=own, searched=number, found=concrete.text)
        if _differs(ready, concrete, checked):
            changed.append(checked)
    reason, detail = Reason.WITHIN, ""
    if not changed:
        reason = Reason.EQUIVALENT
        if gap := _gap(ready, tried.mutant):
            why = gap_reason(gap, worker.current().plan.kernels)
            reason = Reason.OUT_OF_REACH if why else Reason.NEVER_EXECUTED
            detail = ": ".join(filter(None, (gap.guard and f"behind {gap.guard}", why)))
    budget = max((checked.verdict.budget for checked in changed), default=0.0)
    return replace(tried, reason=reason, budget=budget, usual=own, searched=len(more), detail=detail)


def _kernel_state(subject: MutatedKernel) -> _KernelState:
    """Return the state of a kernel. Drops the state of the previous kernel."""
    if not _ready or _ready[0].subject != subject:
        state = worker.current()
        entry = state.suite.entry(subject)
        module = state.plan.code[entry.op.module, subject.column]
        texts = [text for _, text in state.plan.draw(state.suite, subject.task, sparse=True)]
        _ready[:] = [
            _KernelState(subject, entry, isolate_kernels(module, entry.kernels), tuple(_lower_cases(entry, texts)))
        ]
    return _ready[0]


def _lower_cases(entry: Entry, texts: Sequence[str]) -> Iterator[_LoweredCase]:
    """Yield the lowered cases. Skips cases that cannot be lowered, which a normal run reports."""
    for text in texts:
        try:
            case = entry.op.parse(text)
            call = entry.op.call(case)
        except Exception:
            continue
        yield _LoweredCase(text, case, call)


def _run(
    ready: _KernelState, code: CodeObject, cases: Sequence[_LoweredCase]
) -> Iterator[tuple[_LoweredCase, CheckedCase]]:
    """Yield the results of the cases on ``code``, without cases that the unmutated kernel does not pass."""
    for number, concrete in enumerate(cases):
        checked = _checked(ready, code, concrete, first=number == 0)
        if checked.verdict.passed or (checked.verdict.failed and _unmutated(ready, concrete)[0].verdict.passed):
            yield concrete, checked


def _checked(ready: _KernelState, code: CodeObject, concrete: _LoweredCase, first: bool = False) -> CheckedCase:
    subject, state = ready.subject, worker.current()
    key = (ready.entry.op.module, subject.column)
    planted: Worker = replace(state, plan=replace(state.plan, code=ChainMap({key: code}, state.plan.code)))  # type: ignore[arg-type]
    columns = (*subject.others, subject.column)
    return planted.on_all(ready.entry, columns, concrete.case, concrete.call, {subject.column: first})[subject.column]


def _unmutated(ready: _KernelState, concrete: _LoweredCase) -> tuple[CheckedCase, str]:
    """Return the unmutated result of a case without its outputs, and a digest of the outputs."""
    if concrete.text not in ready.usual:
        checked = _checked(ready, ready.code, concrete, first=concrete is ready.cases[0])
        ready.usual[concrete.text] = replace(checked, outputs={}, expected=None), _output_digest(checked)
    return ready.usual[concrete.text]


def _differs(ready: _KernelState, concrete: _LoweredCase, checked: CheckedCase) -> bool:
    """Return whether a result differs from the unmutated one. A large case is left out: its sample may be another."""
    return not concrete.call.sample and _output_digest(checked) != _unmutated(ready, concrete)[1]


def _output_digest(checked: CheckedCase) -> str:
    sha = hashlib.sha256()
    for name, array in checked.outputs.items():
        sha.update(name.encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


def _longer_search(ready: _KernelState, count: int) -> tuple[_LoweredCase, ...]:
    """Return the cases of a longer search, and large cases of their rows, without the usual cases."""
    if count not in ready.more:
        state = worker.current()
        seed = state.plan.entry_seed(ready.entry) ^ SEARCH
        drawn = sample(ready.entry.op.cases(ready.entry.dtypes, launches=state.plan.launches), seed, count, structure)
        large = sparse_rows(ready.entry.op, drawn, long=True) if state.plan.launches == "any" else ()
        known = {concrete.text for concrete in ready.cases}
        texts = [text for text in map(str, (*drawn, *large)) if text not in known]
        ready.more[count] = tuple(_lower_cases(ready.entry, texts))
    return ready.more[count]


def _gap(ready: _KernelState, mutant: Mutant) -> Gap | None:
    """Return why no usual case reaches the place of a fault; None if a case reaches it."""
    if ready.unreached is None:
        noted = [each.reached for each, _ in ready.usual.values() if each.verdict.passed and each.reached]
        symbols = list(dict.fromkeys(map(ready.code.symbol, ready.entry.kernels)))
        every = functools.reduce(operator.or_, noted) if noted else None
        ready.unreached = unreached_lines(ready.code, symbols, every) if every else {}
    if mutant.level == "instruction":
        return ready.unreached.get(mutant.at)
    lines = source_lines(ready.code.listing, ready.code.symbol(mutant.kernel)).get((mutant.file, mutant.line), {})
    gaps = [ready.unreached.get(line) for line in lines]
    return gaps[0] if gaps and all(gaps) else None


def _code_with_fault(ready: _KernelState, mutant: Mutant) -> CodeObject | None:
    """Return the code with a fault; None if it equals the code without the fault.

    Raises:
        CompileError: The mutant does not compile.
    """
    if mutant.level == "instruction":
        return with_instruction(ready.code, mutant.at, mutant.before, mutant.after)
    staged = _staged(ready.subject.module, mutant.target)
    assert staged is not None
    symbols = tuple(ready.code.kernels)
    if not ready.recompiled:
        ready.recompiled = recompiled(staged, symbols)
    text = apply_edit(staged.text(mutant.file), mutant.at, mutant.old, mutant.new)
    listing = recompiled(staged, symbols, (mutant.file, text))
    if all(program(listing, symbol) == program(ready.recompiled, symbol) for symbol in symbols):
        return None
    return parse(listing, ready.entry.op.module)


def _instructions(ready: _KernelState) -> Iterator[Mutant]:
    for kernel in ready.entry.kernels:
        if ready.code.symbol(kernel) in ready.code.kernels:
            yield from instruction_mutants(ready.subject.op, ready.subject.dtypes, kernel, ready.alone)


def _source(ready: _KernelState) -> Iterator[Mutant]:
    subject = ready.subject
    stage = _staged(subject.module, subject.column.target)
    if stage is None:
        return
    for kernel in ready.entry.kernels:
        if ready.code.symbol(kernel) not in ready.code.kernels:
            continue
        lines: dict[str, set[int]] = {}
        for file, line in source_lines(ready.code.listing, ready.code.symbol(kernel)):
            lines.setdefault(file, set()).add(line)
        for file in sorted(lines.keys() & stage.files.keys()):
            for edit in source_edits(stage.text(file), lines[file]):
                yield Mutant(
                    subject.op, subject.dtypes, kernel, ready.code.module, ready.code.target, "source",
                    edit.operator.kind, edit.operator.name, file, edit.line, edit.start, edit.old, edit.new,
                    edit.before, edit.after,
                )  # fmt: skip


def _sample(every: Iterator[Mutant], count: int, seed: int, kinds: frozenset[str]) -> list[Mutant]:
    """Draw ``count`` mutants by seed. The classes are represented in proportion to their places in the code."""
    found: dict[tuple[int, int, str], tuple[str, Mutant]] = {}
    for mutant in every:
        if mutant.kind in kinds if kinds else mutant.kind != NOT_SHOWN:
            rank = hashlib.sha256(f"{seed} {mutant.key}".encode()).hexdigest()
            found.setdefault((mutant.line, mutant.at, mutant.after), (rank, mutant))
    return [mutant for _, mutant in sorted(found.values(), key=lambda each: each[0])[:count]]
