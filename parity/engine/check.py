"""One case on one open device: launch, and compare."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parity.case import Case
from parity.codeobject import CodeObject
from parity.compare import Status, Verdict, compare, show, unchanged
from parity.errors import SYSTEM_ERRORS, SystemLacks, Unreferenced, Unsupported, refusal
from parity.launch import Fault, Outcome
from parity.op import Call, Op
from parity.runners import Drawing, Library, Session, Vendor
from parity.toolchain import MissingKernel

__all__ = ["Checked", "Subject", "check", "judge", "unjudged"]

Array = np.ndarray[Any, Any]

# The status of a case by the kind of the runner's fault; any other kind is a failure of the kernel.
_STATUS = {
    "timeout": Status.TIMEOUT,
    "no progress": Status.TIMEOUT,
    "not emulated": Status.ERROR,
    "unknown instruction": Status.ERROR,
    "error": Status.ERROR,
    "out of memory": Status.NOT_JUDGED,
    "killed": Status.NOT_JUDGED,
    "unusable code object": Status.ERROR,
    "missing kernel": Status.MISSING,
    "not recorded": Status.UNSUPPORTED,
}


@dataclass(frozen=True)
class Checked:
    """A verdict with what a person needs to understand it.

    ``lost``: the device had to be opened again. ``outputs`` is what the kernel left, in logical shape; nothing after a
    fault. ``printed`` is the beginning of what it printed.
    """

    case: Case
    verdict: Verdict
    launch: str
    inputs: dict[str, str]
    instructions: int | None = None
    lost: bool = False
    outputs: Mapping[str, Array] = field(default_factory=dict)
    printed: str = ""


@dataclass(frozen=True)
class Subject:
    """The subject of a check: code on an open device, or a library; and the vendor whose accuracy limits hold."""

    session: Session | Library
    vendor: Vendor
    code: CodeObject | None = None


def check(op: Op, case: Case, subject: Subject) -> Checked:
    """Run a case and compare."""
    return judge(case, op.call(case), subject)


def judge(case: Case, call: Call, subject: Subject, *, first: bool = False) -> Checked:
    """Run a case that was made concrete, and compare.

    Where a session draws the results of approximate instructions, the ``first`` case of a kernel has to pass with the
    nearest numbers as well, and a case that fails is run with them again.
    """
    session, vendor, code = subject.session, subject.vendor, subject.code
    if isinstance(session, Library):
        return _computed(case, call, session, vendor)
    assert code is not None
    launch = call.on(code).launch
    if absent := [each.kernel for each in launch.sequence if each.kernel not in code.kernels]:
        verdict = Verdict(Status.MISSING, "missing kernel", detail=str(MissingKernel(absent[0], code)))
        return Checked(case, verdict, str(call.launch), {})
    outcome = session.execute(code, launch, call.buffers)
    verdict = _verdict(call, outcome, vendor)
    nearest = session.nearest if outcome.drawn and isinstance(session, Drawing) else None
    if nearest and (first or verdict.status is Status.FAIL):
        again = nearest.execute(code, launch, call.buffers)
        plain = _verdict(call, again, vendor)
        if verdict.passed:
            outcome, verdict = (outcome, verdict) if plain.passed else (again, plain)
        elif plain.passed:
            note = f"with {outcome.drawn}; it passes if approximate instructions give the nearest numbers"
            detail = "\n".join(filter(None, (verdict.detail, note)))
            verdict = replace(verdict, drawn=outcome.drawn, detail=detail)
    outputs = {} if outcome.fault else {n: layout.view(outcome.buffers[n]) for n, layout in call.outputs.items()}
    if verdict.passed:
        return Checked(case, verdict, "", {}, outcome.instructions, outputs=outputs, printed=outcome.printed)
    lost = outcome.fault is not None and outcome.fault.lost
    inputs, printed = _inputs(call, verdict), outcome.printed
    return Checked(case, verdict, str(call.launch), inputs, outcome.instructions, lost, outputs, printed)


def unjudged(error: Exception) -> Verdict | None:
    """The verdict on a case that something else than the kernel kept from being judged; None for any other error."""
    if isinstance(error, MemoryError):
        return Verdict(Status.NOT_JUDGED, "no memory", detail="there was not enough memory for it")
    if isinstance(error, OSError) and error.errno in SYSTEM_ERRORS:
        return Verdict(Status.NOT_JUDGED, "system", detail=refusal(error))
    if isinstance(error, SystemLacks):
        return Verdict(Status.NOT_JUDGED, "system", detail=str(error))
    if isinstance(error, Unreferenced):
        return Verdict(Status.NOT_JUDGED, "reference", detail=str(error))
    return None


def _computed(case: Case, call: Call, library: Library, vendor: Vendor) -> Checked:
    """Let a library compute a case, and compare."""
    if len(call.outputs) > 1:
        reason = f"the op has {len(call.outputs)} outputs, and a library computes one"
        return Checked(case, Verdict(Status.UNSUPPORTED, "unsupported", detail=reason), "", {})
    before = {name: buffer.data.copy() for name, buffer in call.buffers.items()}
    expected = call.expected()
    try:
        with np.errstate(all="ignore"):
            output = np.asarray(library.compute(call.computation))
    except Unsupported as reason:
        return Checked(case, Verdict(Status.UNSUPPORTED, "unsupported", detail=str(reason)), "", {})
    except MemoryError:
        raise
    except Exception as error:
        own = error.__traceback__ and error.__traceback__.tb_next  # without the frame of this function
        detail = "".join(traceback.format_exception(type(error), error, own))
        return Checked(case, Verdict(Status.ERROR, "error", detail=detail), "", {})
    finally:
        changed = [_written(name, before[name], buffer.data) for name, buffer in call.buffers.items()]
        for name, buffer in call.buffers.items():
            buffer.data[...] = before[name]  # which other columns use as well
    verdict = next(filter(None, changed), None) or _misfit(call, output) or compare(expected, output, vendor=vendor)
    shown = {} if verdict.passed else _inputs(call, verdict)
    return Checked(case, verdict, "", shown, outputs={call.output: output})


def _written(name: str, before: Array, after: Array) -> Verdict | None:
    modified = unchanged(name, before, after)
    return modified and replace(modified, detail=f"the memory of {name} was written to, and has to stay as it is")


def _misfit(call: Call, output: Array) -> Verdict | None:
    """A failure if an output is no array of the dtype and shape that were asked for, else None."""
    asked = call.computation
    for kind, got, wanted in (("dtype", output.dtype, asked.dtype.numpy), ("shape", output.shape, asked.shape)):
        if got != wanted:
            return Verdict(Status.FAIL, kind, detail=f"the output has the {kind} {got}, and has to have {wanted}")
    return None


def _inputs(call: Call, verdict: Verdict) -> dict[str, str]:
    """The inputs of the first wrong element, as text."""
    if verdict.first is None or verdict.kind in ("input modified", "outside of the output"):
        return {}
    index = verdict.first.coordinates
    return {name: show(array[index]) for name, array in call.inputs.items() if array.shape == call.layout.shape}


def _fault(fault: Fault) -> Verdict:
    usual = Status.CRASH if fault.lost else Status.FAIL
    return Verdict(_STATUS.get(fault.kind, usual), fault.kind, detail=fault.message)


def _verdict(call: Call, outcome: Outcome, vendor: Vendor) -> Verdict:
    return _fault(outcome.fault) if outcome.fault else _compare(call, outcome, vendor)


def _compare(call: Call, outcome: Outcome, vendor: Vendor) -> Verdict:
    for name, buffer in call.buffers.items():
        if not buffer.writable:
            modified = unchanged(name, buffer.data, outcome.buffers[name])
            if modified:
                return modified
    for name, layout in call.outputs.items():
        storage = outcome.buffers[name]
        if layout.span > layout.numel:
            outside = np.ones(len(storage), np.bool_)
            outside[layout.indices().ravel()] = False
            stray = unchanged(name, call.buffers[name].data[outside], storage[outside])
            if stray:
                detail = "the kernel wrote to places of the output's buffer that are no element of the output"
                return _of(name, call, replace(stray, kind="outside of the output", detail=detail))
    verdicts = {
        name: compare(each, call.outputs[name].view(outcome.buffers[name]), vendor=vendor)
        for name, each in call.references().items()
    }
    for name, verdict in verdicts.items():
        if not verdict.passed:
            return _of(name, call, verdict)
    worst = max(verdicts.values(), key=lambda verdict: verdict.budget)
    met = dict.fromkeys(each for verdict in verdicts.values() for each in verdict.divergences)
    each = verdicts.values()
    return replace(
        worst,
        divergences=tuple(met),
        total=sum(verdict.total for verdict in each),
        beyond_observed=any(verdict.beyond_observed for verdict in each),
        allowed=any(verdict.allowed for verdict in each),
    )


def _of(name: str, call: Call, verdict: Verdict) -> Verdict:
    """The verdict with the name of the output it is on, where there are several."""
    if len(call.outputs) == 1:
        return verdict
    return replace(verdict, detail="\n".join(filter(None, (f"in {name}", verdict.detail))))
