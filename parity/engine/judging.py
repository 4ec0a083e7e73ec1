"""Judges one case on one column: launches the kernel, and compares what it left in memory with the expected values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from parity.compare.comparison import check_unmodified, compare
from parity.compare.verdict import Fact, Status, Verdict
from parity.data.streams import quiet
from parity.engine.checked_case import (
    BEYOND_TARGET,
    NO_REFERENCE,
    CheckedCase,
    Implementation,
    input_elements,
    wrong_inputs,
)
from parity.engine.cuda_oracle import CudaOracle, ExecutableCode, has_extrema, kernel_code, output_of
from parity.engine.library_judging import compute_and_judge
from parity.engine.nondeterminism import has_chance, judge_reordered
from parity.engine.reduction_order import ORDERED, unordered
from parity.errors import SYSTEM_ERRORS, ResourceExhausted, Unreferenced, describe_os_error
from parity.model.case import Case
from parity.model.code_object import CodeObject, MissingKernel
from parity.model.divergences import met_by
from parity.model.dtypes import Array, array_dtype
from parity.model.launch import Fault, Outcome
from parity.op import Call, Op
from parity.platform.files import read_table
from parity.reference.expected import Expected
from parity.runners import OpSession, SupportsNearest, Vendor

Expectation = Callable[[Mapping[str, Array]], Mapping[str, Expected]]
"""A function from the outputs to the expectation of each output."""

NOT_COMPARED = (
    "the op has no reference, and the other vendor's side has no result for this case; memory accesses "
    "were checked, but values were not"
)

_LONG = 2_000_000
"""Instructions of CUDA's launch from which on AMD's side gets a larger budget. Endless loops show in shorter ones."""

_STATUS = {row["fault"]: Status(row["status"]) for row in read_table(Path(__file__).with_name("fault_statuses.csv"))}
"""The status of a case by the kind of its fault. Any other kind is a failure of the kernel."""


def run_and_judge(op: Op, case: Case, implementation: Implementation) -> CheckedCase:
    """Run a case on an implementation, and judge it. Runs the CUDA oracle first if the op has no reference."""
    call = op.call(case)
    if call.references or implementation.oracle is None:
        return judge(case, call, implementation)
    baseline = judge(case, call, implementation.oracle)
    if not baseline.unreferenced:
        return CheckedCase(case, Verdict(Status.NOT_JUDGED, NO_REFERENCE, detail=NOT_COMPARED))
    return judge(case, call, implementation, baseline=baseline)


Known = dict[tuple[Vendor, bytes], Verdict]
"""Verdicts on the outputs of a case, by the vendor and the bytes of all outputs."""


def judge(
    case: Case,
    call: Call,
    implementation: Implementation,
    *,
    first: bool = False,
    baseline: CheckedCase | None = None,
    known: Known | None = None,
) -> CheckedCase:
    """Run a case that was lowered to ``call``, and judge it.

    If a session varies the results of approximate instructions, the ``first`` case of a kernel must also pass with the
    nearest results, and a failing case runs again with them. ``baseline`` is the result of the CUDA oracle; a case of
    an op without a reference is not judged without it. ``known`` collects the verdicts on a case with a reference:
    most targets return the same bits, and are compared with the reference only once.
    """
    session, code, oracle = implementation.session, implementation.code, implementation.oracle
    if isinstance(session, OpSession):
        return compute_and_judge(case, call, session, implementation.vendor)
    assert code is not None
    if baseline and (baseline.instructions or 0) > _LONG:
        call = replace(call, launch=replace(call.launch, ended=True))
    launch = call.on(code).launch
    if reason := code.skipped.get(launch.kernel):
        detail = f"{launch.kernel} on {code.target}: {reason}"
        return CheckedCase(case, Verdict(Status.UNSUPPORTED, BEYOND_TARGET, detail=detail))
    if absent := [each.kernel for each in launch.sequence if each.kernel not in code.kernels]:
        verdict = Verdict(Status.MISSING, "missing kernel", detail=str(MissingKernel(absent[0], code)))
        return CheckedCase(case, verdict, call.text_on(code))
    judge_outcome = partial(
        _judged,
        call=call,
        vendor=implementation.vendor,
        expectation=None if call.sample else _expectation(call, ExecutableCode(session, code), oracle, baseline),
        by=call.observed.device if call.observed else oracle.name if oracle and baseline else "",
        known=known,
    )
    judged = judge_outcome(session.execute(code, launch, call.buffers))
    varies = judged.outcome.drawn and (first or judged.verdict.status is Status.FAIL)
    if varies and isinstance(session, SupportsNearest):
        judged = _with_nearest(judged, judge_outcome(session.nearest.execute(code, launch, call.buffers)))
    judged = _explained(case, judged, implementation, baseline)
    outcome = judged.outcome
    return CheckedCase(
        case,
        _placed(judged.verdict, call, outcome),
        "" if judged.verdict.passed else call.text_on(code),
        wrong_inputs(judged.call, judged.verdict),
        outcome.instructions,
        lost=outcome.fault is not None and outcome.fault.lost,
        outputs={} if outcome.fault else _outputs(judged.call, outcome),
        printed=outcome.printed,
        expected=judged.expected,
        reached=outcome.reached,
    )


@dataclass(frozen=True)
class _Judged:
    """An outcome and its verdict. ``expected`` holds what the outputs were compared with (None: not compared), and
    ``call`` has the elements that the outcome has.
    """

    outcome: Outcome
    verdict: Verdict
    expected: Mapping[str, Expected] | None
    call: Call


def _with_nearest(varied: _Judged, nearest: _Judged) -> _Judged:
    """Return the result that counts: with varied, or with the nearest results of approximate instructions."""
    # A loss of precision shows with nearest results, too. Nothing varies the results of CUDA's instructions.
    allowed = nearest.verdict.passed and varied.verdict.within_bound
    if allowed or (varied.verdict.passed and not nearest.verdict.passed):
        return nearest
    if varied.verdict.passed or not nearest.verdict.passed:
        return varied
    drawn = varied.outcome.drawn
    note = f"with {drawn}; it passes if approximate instructions give the nearest numbers"
    return replace(varied, verdict=replace(varied.verdict, drawn=drawn).noted(note))


def _explained(case: Case, judged: _Judged, implementation: Implementation, baseline: CheckedCase | None) -> _Judged:
    """Return the result with notes. It passes if the order of threads, or signalling NaNs, explain wrong elements."""
    outcome, verdict, call, oracle = judged.outcome, judged.verdict, judged.call, implementation.oracle
    if verdict.passed and outcome.unused_read:
        note = f"its value reaches no output: {outcome.unused_read}"
        return replace(judged, verdict=verdict.noted(note, facts=[Fact.UNUSED_READ]))
    if not (verdict.first and verdict.failed):
        return judged
    theirs = _with_chance(call, oracle) if baseline else None
    if judged.expected and (call.observed or theirs):
        verdict = _reordered(judged, implementation, None if call.observed else theirs) or verdict
    wrong = verdict.first if verdict.failed else None
    if not wrong:
        return replace(judged, verdict=verdict)
    if baseline and oracle and judged.expected:
        judged = _unordered(replace(judged, verdict=verdict), oracle, implementation.vendor)
        if judged.verdict.passed:
            return judged
        verdict = judged.verdict
    if baseline and (quieter := _judge_quiet_nans(case, judged, implementation)):
        return quieter
    # Without expected values, the coordinates are a place in a buffer.
    if call.references and judged.expected and _has_signalling_input(call, wrong.coordinates, verdict.output):
        verdict = verdict.noted(SIGNALLING_INPUT)
    if oracle and oracle.code and (met := met_by(kernel_code(call, oracle.code))):
        verdict = verdict.noted(*(f"its code may meet {each}" for each in met), facts=[Fact.MAY_DIVERGE])
    if implementation.code:
        verdict = verdict.noted(*_defects_met(call, implementation.code))
    return replace(judged, verdict=verdict)


def _defects_met(call: Call, code: CodeObject) -> Iterator[str]:
    """Yield a note for each use of a defect of AMD's headers in the code of a case's kernels."""
    text = kernel_code(call, code) if code.defects else ""
    for each in code.defects:
        if f" {each.file}:{each.line}:" in text:
            yield f"AMD's {each.name} differs from CUDA's ({each.file}:{each.line}): {each.advice}"


def _judge_quiet_nans(case: Case, judged: _Judged, implementation: Implementation) -> _Judged | None:
    """Return the result with quiet NaNs, if only signalling NaNs in minima or maxima (D7) explain a failure.

    Returns None if the inputs do not contain any, or if the case fails with quiet NaNs as well.
    """
    call, oracle, code = judged.call, implementation.oracle, implementation.code
    buffers = {name: replace(each, data=quiet(each.data, each.dtype)) for name, each in call.buffers.items()}
    if all(each.data.tobytes() == call.buffers[name].data.tobytes() for name, each in buffers.items()):
        return None
    if not (oracle and oracle.code and code and (has_extrema(call, code) or has_extrema(call, oracle.code))):
        return None
    quieter = replace(call, buffers=buffers)
    baseline = judge(case, quieter, oracle)
    if not baseline.unreferenced:
        return replace(judged, verdict=Verdict(Status.NOT_JUDGED, "reference", detail=SIGNALLING), expected=None)
    again = judge(case, quieter, implementation, baseline=baseline)
    if not again.verdict.passed:
        return None
    verdict = replace(again.verdict, divergences=(*again.verdict.divergences, "D7"))
    return replace(judged, verdict=verdict, expected=again.expected)


SIGNALLING = (
    "the inputs contain signalling NaNs, which the vendors' minimum and maximum treat differently (D7), and CUDA's "
    "side has no result for quiet NaNs"
)

SIGNALLING_INPUT = (
    "an input of this element is a signalling NaN: NumPy's fmin and fmax return NaN for it, but a GPU's minimum and "
    "maximum may return the other operand (D7)"
)


def _has_signalling_input(call: Call, index: tuple[int, ...], output: str) -> bool:
    """Return True if an input of the element at ``index`` of an output is a signalling NaN."""
    elements = (np.asarray(each).reshape(1) for _, each in input_elements(call, index, output))
    return any(quiet(each, array_dtype(each)).tobytes() != each.tobytes() for each in elements)


def _reordered(judged: _Judged, implementation: Implementation, theirs: ExecutableCode | None) -> Verdict | None:
    """Return the verdict if the order of threads explains differences; None if it does not."""
    call, mine = judged.call, _executable(implementation)
    assert mine and judged.expected
    got = _outputs(call, judged.outcome)
    found = judge_reordered(call, mine, got, judged.expected, implementation.vendor, theirs)
    if not found:
        return None
    name, verdict = found
    return _name_output(name, call, verdict) if verdict.first else verdict


def _unordered(judged: _Judged, oracle: Implementation, vendor: Vendor) -> _Judged:
    """Return the result without elements that depend on the order of a reduction; unchanged if that explains none."""
    assert judged.expected
    got, found = _outputs(judged.call, judged.outcome), judged
    for expected in unordered(judged.call, oracle, judged.expected, got):
        verdict = replace(_compare(judged.call, expected, got, vendor), by=judged.verdict.by)
        found = replace(judged, verdict=verdict.noted(ORDERED), expected=expected)
        if verdict.passed:
            break
    return found


def _with_chance(call: Call, oracle: Implementation | None) -> ExecutableCode | None:
    """Return CUDA's side if its results may change when a launch is repeated."""
    theirs = _executable(oracle)
    return theirs if theirs and has_chance(call, theirs.code) else None


def _expectation(
    call: Call, mine: ExecutableCode, oracle: Implementation | None, baseline: CheckedCase | None
) -> Expectation | None:
    """Return how to compute the expected outputs; None if there is neither a reference nor a baseline."""
    if call.references:
        return lambda got: call.references()  # type: ignore[misc]
    outputs = call.observed.outputs if call.observed else baseline.outputs if baseline and oracle else None
    if outputs is None:
        return None
    return CudaOracle(call, outputs, mine, _executable(oracle)).expected


def _executable(side: Implementation | None) -> ExecutableCode | None:
    """Return the code of a side; None if it has none, as a library."""
    if side is None or side.code is None or isinstance(side.session, OpSession):
        return None
    return ExecutableCode(side.session, side.code)


def _outputs(call: Call, outcome: Outcome) -> dict[str, Array]:
    return {name: output_of(call, name, outcome) for name in call.outputs}


def not_judged_verdict(error: Exception) -> Verdict | None:
    """Return the "not judged" verdict if the error has a cause outside of the kernel, such as a lack of memory; else
    None.
    """
    if isinstance(error, MemoryError):
        return Verdict(Status.NOT_JUDGED, "no memory", detail="there was not enough memory for the case")
    if isinstance(error, OSError) and error.errno in SYSTEM_ERRORS:
        return Verdict(Status.NOT_JUDGED, "system", detail=describe_os_error(error))
    if isinstance(error, ResourceExhausted):
        return Verdict(Status.NOT_JUDGED, "system", detail=str(error))
    if isinstance(error, Unreferenced):
        return Verdict(Status.NOT_JUDGED, "reference", detail=str(error))
    return None


def fault_verdict(fault: Fault) -> Verdict:
    """Return the verdict on a launch that ended with a fault."""
    usual = Status.CRASH if fault.lost else Status.FAIL
    return Verdict(_STATUS.get(fault.kind, usual), fault.kind, detail=fault.message)


def _judged(
    outcome: Outcome, call: Call, vendor: Vendor, expectation: Expectation | None, by: str, known: Known | None
) -> _Judged:
    """Return an outcome of a case with its verdict, by a vendor's limits and the expected values.

    ``by`` names the CUDA oracle, if used. ``known`` has the meaning described in ``judge``.
    """
    if unknown := _not_captured(call, outcome.fault):
        return _Judged(outcome, unknown, None, call)
    if outcome.fault:
        return _Judged(outcome, fault_verdict(outcome.fault), None, call)
    whole, call = call, _seen(call, outcome)
    if wrong := _memory(call, outcome):
        return _Judged(outcome, wrong, None, call)
    if call is not whole and not call.layout.numel:
        unwritten = Verdict(Status.FAIL, "unwritten", detail="no block of a sample wrote an element")
        return _Judged(outcome, unwritten, None, call)
    if call is not whole and (references := call.references):
        expectation = lambda got: references()  # noqa: E731
    if expectation is None:
        return _Judged(outcome, Verdict(Status.NOT_JUDGED, NO_REFERENCE, detail=NOT_COMPARED), None, call)
    got = _outputs(call, outcome)
    expected = expectation(got)
    if known is None or call is not whole:
        verdict = _compare(call, expected, got, vendor)
    else:
        key = vendor, b"".join(each.tobytes() for each in got.values())
        verdict = known[key] = known.get(key) or _compare(call, expected, got, vendor)
    return _Judged(outcome, replace(verdict, by=by) if by else verdict, expected, call)


def _seen(call: Call, outcome: Outcome) -> Call:
    """Return the call with the elements that an outcome of a sparse case has; any other call unchanged."""
    return call.sample(outcome.places[call.output]) if call.sample and call.output in outcome.places else call


def _placed(verdict: Verdict, whole: Call, outcome: Outcome) -> Verdict:
    """Return a verdict on a sample with the place of the first wrong element in the whole output."""
    if not (whole.sample and verdict.first):
        return verdict
    number = outcome.places[whole.output][verdict.first.coordinates[0]]
    coordinates = tuple(int(each) for each in whole.layout.coordinates(number))
    first = replace(verdict.first, coordinates=coordinates)
    return replace(verdict, first=first, pattern="", picture=(), shape=())


_LACKING = ("not emulated", "unknown instruction")
"""Kinds of faults that show a limit of the emulator."""


def _not_captured(call: Call, fault: Fault | None) -> Verdict | None:
    """Return the "not judged" verdict if the capture or the emulator, and not the kernel, may cause a fault."""
    if call.observed is None or fault is None:
        return None
    if fault.kind in _LACKING or fault.kind == "timeout":  # the launch ended on the NVIDIA GPU
        return Verdict(Status.NOT_JUDGED, "not emulated", detail=fault.message)
    if call.observed.missing:
        return Verdict(Status.NOT_JUDGED, "not captured", detail=f"{call.observed.missing}: {fault.message}")
    return None


def _memory(call: Call, outcome: Outcome) -> Verdict | None:
    """Return a failure if the kernel changed an input or memory outside of an output, else None."""
    for name, buffer in call.buffers.items():
        if not buffer.writable and (modified := check_unmodified(name, buffer.data, outcome.buffers[name])):
            return modified
    for name, layout in call.outputs.items():
        storage = outcome.buffers[name]
        if layout.span > layout.numel:
            outside = np.ones(len(storage), np.bool_)
            outside[layout.indices().ravel()] = False
            if stray := check_unmodified(name, call.buffers[name].data[outside], storage[outside]):
                detail = "the kernel wrote to places of the output's buffer that are not elements of the output"
                return _name_output(name, call, replace(stray, kind="outside of the output", detail=detail))
    return None


def _compare(call: Call, expected: Mapping[str, Expected], got: Mapping[str, Array], vendor: Vendor) -> Verdict:
    verdicts = {name: compare(each, got[name], vendor=vendor) for name, each in expected.items()}
    for name, verdict in verdicts.items():
        if not verdict.passed:
            return _name_output(name, call, verdict)
    passed = verdicts.values()
    if len(passed) == 1:
        return next(iter(passed))
    return replace(
        max(passed, key=lambda verdict: verdict.budget),
        divergences=tuple(dict.fromkeys(name for verdict in passed for name in verdict.divergences)),
        total=sum(verdict.total for verdict in passed),
        beyond_observed=any(verdict.beyond_observed for verdict in passed),
        allowed=any(verdict.allowed for verdict in passed),
    )


def _name_output(name: str, call: Call, verdict: Verdict) -> Verdict:
    """Name the output in the verdict if the op has several."""
    if len(call.outputs) == 1:
        return verdict
    return replace(verdict, detail="\n".join(filter(None, (f"in the output {name}", verdict.detail))), output=name)


def verdict_on_output(name: str, call: Call, verdict: Verdict) -> Verdict:
    """Return the verdict, without its first wrong element if that element is in another output."""
    is_here = len(call.outputs) == 1 or verdict.output == name
    return verdict if is_here else replace(verdict, first=None)
