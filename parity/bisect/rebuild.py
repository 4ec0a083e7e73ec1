"""The work of a worker process: building a kernel with a knob turned, and running its case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parity.bisect.changed_lines import LineChange, changed_lines, instruction_texts
from parity.bisect.compiler_options import CompilerOption
from parity.build.incremental import Stage, recompiled, stage
from parity.build.modules import build_suite, helpful_port
from parity.compilers.errors import CompileError
from parity.compilers.targets import target
from parity.engine import CaseRecord, Column, Task, worker
from parity.model.code_object import CodeObject, parse
from parity.mutation.instruction_faults import program
from parity.op import Entry

__all__ = ["Rebuild", "RebuildTask", "rebuild_and_run", "run_as_built", "stage_kernels"]


@dataclass(frozen=True)
class RebuildTask:
    """A case, ``task``, and the column of it whose code is built again.

    ``code`` is that code as it is built, ``flags`` are the project's for this side, and ``stage`` is AMD's module as it
    is compiled. ``detail`` is what is said of the case as it is built.
    """

    task: Task
    column: Column
    code: CodeObject
    flags: tuple[str, ...] = ()
    stage: Stage | None = None
    detail: str = ""

    @property
    def entry(self) -> Entry:
        """The kernel."""
        return worker.current().suite.entry(self.task)


@dataclass(frozen=True)
class Rebuild:
    """The outcome of a case with a knob turned on the side of a column; without a knob, as it is built.

    ``how`` says what was done. ``records`` are those of the case, none if ``error`` says why it was not built.
    ``same`` says that the code is the same as without; ``changes`` are the lines whose instructions are others.
    """

    knob: CompilerOption | None
    column: Column
    how: str
    records: tuple[CaseRecord, ...] = ()
    changes: tuple[LineChange, ...] = ()
    same: bool = False
    error: str = ""

    @property
    def record(self) -> CaseRecord | None:
        """That of the column itself."""
        return next(filter(self.column.ran, self.records), None)


def stage_kernels(task: Task, column: Column, folder: Path) -> tuple[Stage, CodeObject] | None:
    """AMD's module as it is compiled, in a folder of its own, and the kernels of a case alone; None without a source.

    Raises:
        CompileError, UsageError, MissingTool: as ``toolchain.stage``.
    """
    state = worker.current()
    entry = state.suite.entry(task)
    found = stage(state.suite, entry.op.module, column.target, folder)
    if found is None:
        return None
    code = state.plan.code[entry.op.module, column]
    return found, parse(recompiled(found, _symbols(code, entry.kernels)), entry.op.module)


def run_as_built(task: Task, code: Sequence[tuple[Column, CodeObject]] = ()) -> tuple[CaseRecord, ...]:
    """The records of a case; some columns have other code than the plan says."""
    state = worker.current()
    entry = state.suite.entry(task)
    other = {(entry.op.module, column): each for column, each in code}
    plan = replace(state.plan, code={**state.plan.code, **other})
    return tuple(replace(state, plan=plan).perform(task))


def rebuild_and_run(subject: RebuildTask, knob: CompilerOption, how: str, flags: tuple[str, ...]) -> Rebuild:
    """Build the kernels of a case with other flags, or as the knob's variant says, and run the case."""
    entry, column, before = subject.entry, subject.column, subject.code
    try:
        code, how = _built(subject, knob, how, flags)
    except CompileError as error:
        return Rebuild(knob, column, how, error=error.first)
    symbols = _symbols(before, entry.kernels)
    if code is None or _same(before, code, symbols):
        return Rebuild(knob, column, how, same=True)
    records = run_as_built(subject.task, [(column, code)])
    about = "\n".join((subject.detail, *(each.verdict.detail for each in records)))
    return Rebuild(knob, column, how, records, changed_lines(before, code, symbols, about))


def _built(
    subject: RebuildTask, knob: CompilerOption, how: str, flags: tuple[str, ...]
) -> tuple[CodeObject | None, str]:
    """The code with a knob turned, None if it is no other, and what was done."""
    suite, module, column = worker.current().suite, subject.entry.op.module, subject.column
    if knob.variant == "helpful":
        port = helpful_port(suite, module, column.target)
        return (port.code, port.how) if port else (None, how)
    if subject.stage:
        turned = replace(subject.stage, unit=replace(subject.stage.unit, flags=flags))
        listing = recompiled(turned, _symbols(subject.code, subject.entry.kernels), precompiled=False)
        return parse(listing, module), how
    sides = suite.sides
    other = replace(suite, sides=replace(sides, cuda=replace(sides.cuda, flags=flags)))
    (built,) = build_suite(other, [module], [column.target], jobs=1)
    if built.error:
        raise built.error
    return built.code_object, how


def _symbols(code: CodeObject, kernels: Iterable[str]) -> list[str]:
    return [symbol for symbol in dict.fromkeys(map(code.symbol, kernels)) if symbol in code.kernels]


def _same(before: CodeObject, after: CodeObject, symbols: Sequence[str]) -> bool:
    """True if kernels are the same program in two code objects."""
    if not all(symbol in after.kernels for symbol in symbols):
        return False
    if target(before.target).vendor == "amd":
        return all(program(before.listing, each) == program(after.listing, each) for each in symbols)
    return instruction_texts(before, symbols) == instruction_texts(after, symbols)
