"""Runs in worker processes: rebuilds a kernel with one compiler option changed, and runs its case."""

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
from parity.engine import worker
from parity.engine.case_records import CaseRecord, Column, Task
from parity.model.code_object import CodeObject, parse
from parity.mutation.instruction_faults import program
from parity.op import Entry


@dataclass(frozen=True)
class RebuildTask:
    """The case in ``task``, and the column whose code is rebuilt.

    ``code`` is the code as built. ``flags`` are the project's flags for this side. ``stage`` is the staged AMD module.
    ``detail`` is the detail of the case's verdict as built.
    """

    task: Task
    column: Column
    code: CodeObject
    flags: tuple[str, ...] = ()
    stage: Stage | None = None
    detail: str = ""

    @property
    def entry(self) -> Entry:
        return worker.current().suite.entry(self.task)


@dataclass(frozen=True)
class Rebuild:
    """The outcome of a case with one compiler option changed for one column; with ``option`` None, the case as built.

    ``how`` describes the change. ``records`` are the records of the case. ``error`` is the compiler's message if the
    rebuild failed; then there are no records. ``same`` means that the rebuild gave identical code. ``changes`` are the
    source lines whose instructions differ.
    """

    option: CompilerOption | None
    column: Column
    how: str
    records: tuple[CaseRecord, ...] = ()
    changes: tuple[LineChange, ...] = ()
    same: bool = False
    error: str = ""

    @property
    def record(self) -> CaseRecord | None:
        """The record of the rebuilt column."""
        return next(filter(self.column.ran, self.records), None)


def stage_kernels(task: Task, column: Column, folder: Path) -> tuple[Stage, CodeObject] | None:
    """Stage AMD's module in ``folder``, and return it with the code of the case's kernels; None if there is no source.

    Raises:
        CompileError, UsageError, MissingTool: As ``parity.build.incremental.stage``.
    """
    state = worker.current()
    entry = state.suite.entry(task)
    found = stage(state.suite, entry.op.module, column.target, folder)
    if found is None:
        return None
    code = state.plan.code[entry.op.module, column]
    return found, parse(recompiled(found, _symbols(code, entry.kernels)), entry.op.module)


def run_as_built(task: Task, code: Sequence[tuple[Column, CodeObject]] = ()) -> tuple[CaseRecord, ...]:
    """Run a case, and return its records. ``code`` overrides the plan's code for some columns."""
    state = worker.current()
    entry = state.suite.entry(task)
    other = {(entry.op.module, column): each for column, each in code}
    plan = replace(state.plan, code={**state.plan.code, **other})
    return tuple(replace(state, plan=plan).run(task))


def rebuild_and_run(task: RebuildTask, option: CompilerOption, how: str, flags: tuple[str, ...]) -> Rebuild:
    """Rebuild the kernels of a case with ``flags``, or with the option's variant, and run the case."""
    entry, column, before = task.entry, task.column, task.code
    try:
        code, how = _built(task, option, how, flags)
    except CompileError as error:
        return Rebuild(option, column, how, error=error.first)
    symbols = _symbols(before, entry.kernels)
    if code is None or _same(before, code, symbols):
        return Rebuild(option, column, how, same=True)
    records = run_as_built(task.task, [(column, code)])
    about = "\n".join((task.detail, *(each.verdict.detail for each in records)))
    return Rebuild(option, column, how, records, changed_lines(before, code, symbols, about))


def _built(
    task: RebuildTask, option: CompilerOption, how: str, flags: tuple[str, ...]
) -> tuple[CodeObject | None, str]:
    """Return the code with an option changed (None if the code is unchanged), and a description of the change."""
    suite, module, column = worker.current().suite, task.entry.op.module, task.column
    if option.variant == "helpful":
        port = helpful_port(suite, module, column.target)
        return (port.code, port.describe(task.code, task.entry.kernels)) if port else (None, how)
    if task.stage:
        turned = replace(task.stage, unit=replace(task.stage.unit, flags=flags))
        listing = recompiled(turned, _symbols(task.code, task.entry.kernels), precompiled=False)
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
    """Return True if the kernels are identical in both code objects."""
    if not all(symbol in after.kernels for symbol in symbols):
        return False
    if target(before.target).vendor == "amd":
        return all(program(before.listing, each) == program(after.listing, each) for each in symbols)
    return instruction_texts(before, symbols) == instruction_texts(after, symbols)
