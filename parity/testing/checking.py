"""Checks a Python function or a kernel against the reference of an op, for use in tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from parity.application.columns import default_runners, select_columns
from parity.application.run import Run, Settings
from parity.compilers.targets import TRITON_TARGETS
from parity.engine.case_records import CaseRecord, Column
from parity.engine.execution import execute_plan
from parity.engine.plan import Plan, make_tasks
from parity.engine.pool import Workers
from parity.engine.worker import Worker
from parity.errors import ParityError, UsageError
from parity.model.launch import Computation
from parity.op import Op
from parity.ops.callbacks import accepted
from parity.report.failures import Reproduction, not_judged
from parity.runners import Evidence, OpRunner, Probe, Vendor
from parity.suite.loading import Suite, find_suite
from parity.suite.options import CUDA_SIDE, DEFAULT_RUNNER, EXAMPLES
from parity.suite.selection import Selection
from parity.testing.failure import ParityFailure, failure_from_records
from parity.testing.triton_checks import jit_function, triton_suite

HERE = "python"
"""The target name of Python functions."""


@dataclass(frozen=True)
class ParityCheck:
    """Checks one op in a test: ``parity_check(my_gelu, op="unary.gelu", dtype="f16")``.

    The function is called like the reference of the op: first with the inputs (NumPy arrays with the strides of the
    case, or None for an omitted input), then with the parameters. If it has the keyword arguments ``shape`` and ``to``,
    it receives the shape and the ``DType`` of the output. It must return an array of this shape and dtype, must not
    change its inputs, and may raise ``parity.runners.Unsupported``. It runs in the process of the test.

    Without a function, the kernel of the op is built and run: ``parity_check(op="unary.gelu", target="gfx1100")``.

    A Triton function is compiled for CUDA and AMD, and both run on the CPU. Further keywords are keywords of its launch
    and fields of ``Op``: ``parity_check(add_kernel, inputs={"x": "T"}, args="x out n=x.numel", BLOCK=64, ...)``.
    """

    def __call__(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        op: str = "",
        dtype: str | Sequence[str] = (),
        cases: Sequence[str] = (),
        runner: str | Sequence[str] = (),
        target: str | Sequence[str] = (),
        examples: int = EXAMPLES,
        seed: int = 0,
        kernels: Path | None = None,
        suite: Suite | None = None,
        **declared: Any,
    ) -> list[CaseRecord]:
        """Run the cases of ``parity run``, or the given ``cases``, and return their records.

        Args:
            function: The function to check; without it, the kernel of the op is checked.
            op: The name of the op in the suite of the project, or in parity's own suite without a project.
            dtype: The dtypes: ``"f16"``, or ``"f32,u8"`` for an op with two dtypes (default: all dtypes of the op).
            cases: The texts of cases.
            runner: The runner or runners, as for ``parity run``. An op without a reference needs a CUDA runner as well.
            target: The target or targets, as for ``parity run``.
            examples: The number of cases to draw for each kernel.
            seed: The seed for drawing.
            kernels: A different folder with the sources of the kernels.
            suite: A loaded suite to use instead of the suite of the project.
            declared: For a Triton function, keywords of its launch and fields of ``Op``.

        Raises:
            ParityFailure: A case failed; the message shows the simplest one.
            UsageError: The op, dtype or case does not exist.
            NotAvailable: The runner cannot work here.
        """
        __tracebackhide__ = True
        try:
            if kernel := jit_function(function):
                suite, function = triton_suite(kernel, declared), None
                runner, target = runner or (DEFAULT_RUNNER, CUDA_SIDE), target or TRITON_TARGETS
            elif declared:
                raise UsageError(f"parity_check: {next(iter(declared))}= is only for a Triton function")
            suite = suite or find_suite(kernels=kernels)
            selection = suite.select([*cases, *_entries(suite, op, dtype)])
            if function:
                records = _run_function(function, suite, selection, examples, seed)
                again: Reproduction = _CheckCall(getattr(function, "__name__", "function"))
            else:
                targets = [target] if isinstance(target, str) and target else target
                runners = [runner] if isinstance(runner, str) and runner else runner
                entries = suite.entries_in(selection)
                chosen = select_columns(runners or default_runners(entries, targets), targets, entries=entries)
                settings = Settings(examples, seed) if chosen.live else Settings()
                records = _run_kernels(Run(replace(suite, known=None), selection, chosen, settings), here=bool(kernel))
                again = Reproduction()
        except ParityError as error:  # without the stack of parity
            raise error.with_traceback(None) from None
        if failure := failure_from_records(records, again, suite):
            raise failure
        if unjudged := not_judged(records):
            raise ParityFailure("\n".join(unjudged))
        if not any(record.verdict.judged for record in records):
            reasons = dict.fromkeys(record.verdict.detail for record in records)
            raise ParityFailure(f"nothing was checked: {'; '.join(reasons) or 'there is no case'}")
        return records


def _run_function(
    function: Callable[..., Any], suite: Suite, selection: Selection, examples: int, seed: int
) -> list[CaseRecord]:
    column = Column(getattr(function, "__name__", "function"), HERE, Evidence.LIBRARY, "host", "function")
    plan = Plan.of(suite, make_tasks(selection, [column]), {}, examples=examples, seed=seed)
    runner: OpRunner = PythonRunner(function, column.runner, suite)
    return _records(Worker(plan, suite, runners={column.spec: runner}))


def _run_kernels(run: Run, *, here: bool) -> list[CaseRecord]:
    """Build and run kernels. ``here``: in this process, because worker processes read the suite from case files."""
    prepared = run.build()
    for each in prepared.built:
        if each.error:
            raise ParityFailure(str(each.error))
    if not prepared.plan.tasks:
        raise UsageError("there is nothing to run: the op has no kernel with a source; pass a function to parity_check")
    if here:
        return _records(Worker(prepared.plan, run.suite))
    return list(execute_plan(prepared.plan, run.suite, Workers(jobs=1)))


def _records(worker: Worker) -> list[CaseRecord]:
    return [record for task in worker.plan.tasks for record in worker.run(task)]


@dataclass
class PythonRunner:
    """Runs a Python function as an op runner."""

    function: Callable[..., Any]
    name: str
    suite: Suite
    evidence: Evidence = Evidence.LIBRARY
    vendor: Vendor = "host"

    def probe(self) -> Probe:
        """Always available."""
        return Probe(True)

    def targets(self) -> tuple[str, ...]:
        return (HERE,)

    def compute(self, target: str, computation: Computation) -> np.ndarray[Any, Any]:
        """Call the function."""
        op = self.suite.op(computation.op)
        inputs = [computation.inputs.get(name) for name in op.filled]
        offered = accepted(self.function, shape=computation.shape, to=computation.dtype)
        return np.asarray(self.function(*inputs, *computation.params.values(), **offered))


@dataclass(frozen=True)
class _CheckCall(Reproduction):
    """Reproduces a case of a Python function as a line of a test, because no command can run it."""

    def of(self, record: CaseRecord) -> str:
        return f"parity_check({self.command}, cases=[{record.case!r}])"


def _entries(suite: Suite, name: str, dtype: str | Sequence[str]) -> list[str]:
    if not name:
        return []
    op: Op = suite.op(name)
    dtypes = dtype if isinstance(dtype, str) else ",".join(dtype)
    if dtypes:
        op.bind(dtypes.split(","))
    return [entry.name.replace("[", "[[]") for entry in op.entries() if dtypes in ("", ",".join(entry.dtypes))]
