"""One case on one open device: launch, compare, and, if it fails, make it small."""

from __future__ import annotations

import itertools
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parity.case import Case, Tensor
from parity.codeobject import CodeObject, spelled
from parity.compare import Status, Verdict, compare, show, unchanged
from parity.errors import SYSTEM_ERRORS, SystemLacks, Unreferenced, Unsupported, nearest, refusal
from parity.generate import find_minimal
from parity.launch import Fault, Outcome
from parity.layout import contiguous
from parity.op import Call, Op
from parity.runners import Drawing, Library, Session, Vendor

__all__ = ["Checked", "check", "judge", "minimize", "unjudged"]

Array = np.ndarray[Any, Any]

SHRINK_SECONDS = 20.0
"""Limit for making a failing case smaller."""

KERNELS_NAMED = 8
"""Kernels of a code object that are named where another one was looked for."""

# What a fault of the runner says about the kernel; any other kind is a failure of the kernel.
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


def check(op: Op, case: Case, code: CodeObject | None, session: Session | Library, vendor: Vendor) -> Checked:
    """Run a case and compare."""
    return judge(case, op.call(case), code, session, vendor)


def judge(
    case: Case, call: Call, code: CodeObject | None, session: Session | Library, vendor: Vendor, *, first: bool = False
) -> Checked:
    """Run a case that was made concrete, and compare. A Library needs no ``code``.

    Where a session draws the results of approximate instructions, the ``first`` case of a kernel has to pass with the
    nearest numbers as well, and a case that fails is run with them again.
    """
    if isinstance(session, Library):
        return _computed(case, call, session, vendor)
    assert code is not None
    launch = call.on(code).launch
    if absent := [each.kernel for each in launch.sequence if each.kernel not in code.kernels]:
        verdict = Verdict(Status.MISSING, "missing kernel", detail=missing(code, absent[0]))
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
    place = verdict.first.coordinates
    return {name: show(array[place]) for name, array in call.inputs.items() if array.shape == call.layout.shape}


def missing(code: CodeObject, name: str) -> str:
    """What to say of a kernel that a code object does not have."""
    if why := code.refused.get(name.partition("<")[0].rpartition("::")[2]):
        return f"{code.module} has no {name}, which no AMD GPU can run: {why}"
    names = [(spelled(symbol) or (symbol,))[0] for symbol in code.kernels]
    near = nearest(name, names) or f"; it has {', '.join(names[:KERNELS_NAMED]) or 'no kernels'}"
    return f"{code.module} has no {name}{near}"


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
        sharp=any(verdict.sharp for verdict in each),
        allowed=any(verdict.allowed for verdict in each),
    )


def _of(name: str, call: Call, verdict: Verdict) -> Verdict:
    """The verdict with the name of the output it is on, where there are several."""
    if len(call.outputs) == 1:
        return verdict
    return replace(verdict, detail="\n".join(filter(None, (f"in {name}", verdict.detail))))


def minimize(
    op: Op,
    failing: Case,
    verdict: Verdict,
    seed: int,
    examples: int,
    code: CodeObject | None,
    session: Session | Library,
    vendor: Vendor,
    hints: Iterable[Case] = (),
    is_known: Callable[[Checked], bool] = lambda checked: False,
    launches: str = "any",
    seconds: float = SHRINK_SECONDS,
) -> Checked:
    """The simplest case that fails in the same way, and not in one that is known, found within so many seconds.

    Hypothesis shrinks it, unless one of the ``hints`` fails in that way; then single elements and plainer calls are
    tried on their own.
    """
    end = time.monotonic() + seconds

    def late() -> bool:
        return time.monotonic() >= end

    def attempt(case: Case) -> Checked | None:
        try:
            op.check(case)
            checked = check(op, case, code, session, vendor)
        except Exception:  # simpler, but not a call of this op, or one that its reference cannot take
            return None
        same = (checked.verdict.status, checked.verdict.kind) == (verdict.status, verdict.kind)
        return checked if same and not is_known(checked) else None

    def fails(case: Case) -> bool:
        return attempt(case) is not None

    best = next(filter(None, map(attempt, hints)), None)
    # Each attempt at an endless loop costs a whole instruction budget, too much for a search.
    if best is None and verdict.status is Status.FAIL:
        shrunk = find_minimal(op.cases(failing.dtypes, launches=launches), seed, examples, fails, late)
        best = attempt(shrunk) if shrunk else None
    best = best or attempt(failing)
    if best is None:  # the failure does not repeat: say so by returning the original
        return Checked(failing, replace(verdict, detail=f"{verdict.detail} (did not fail again)".strip()), "", {})
    progress = True
    while progress and not late():
        progress = False
        for simpler in _simpler(best):
            better = None if late() else attempt(simpler)
            if better:
                best, progress = better, True
                break
    if late():
        note = f"(made smaller for {seconds:g} s, which is the limit: there may be simpler cases that fail like this)"
        best = replace(best, verdict=replace(best.verdict, detail="\n".join(filter(None, (best.verdict.detail, note)))))
    return best


def _simpler(checked: Checked) -> Iterator[Case]:
    """Cases that are simpler in one respect, the boldest first."""
    case = checked.case
    tensors = dict(case.tensors)
    yield from _single_elements(checked)
    for axes in _axes_of_one_extent(tensors):
        name, axis = axes[0]
        size = tensors[name].layout.shape[axis]
        for fewer, last in itertools.product(dict.fromkeys((1, size // 2, size - 1)), (False, True)):
            if 1 <= fewer < size:
                smaller = dict(tensors)
                for name, axis in axes:
                    smaller[name] = _cut(smaller[name], axis, fewer, last)
                yield case.with_tensors(smaller)
    if case.launch or case.threads:
        yield replace(case, launch=None, threads=None)
    for flag in case.flags:
        if flag != "aliased" and not flag.startswith("no-"):
            yield replace(case, flags=tuple(f for f in case.flags if f != flag))
    for name, tensor in tensors.items():
        plain = contiguous(tensor.layout.shape)
        if "aliased" not in case.flags and tensor.layout != plain:
            yield case.with_tensors({**tensors, name: replace(tensor, layout=plain)})
    for name, value in case.params:
        if value not in (1.0, 0.0):
            yield replace(case, params=tuple((n, 1 if n == name else v) for n, v in case.params))


def _single_elements(checked: Checked) -> Iterator[Case]:
    """If all tensors have one shape: the first wrong element alone."""
    case, first = checked.case, checked.verdict.first
    shapes = {layout.shape for layout in case.layouts.values()}
    shape = shapes.pop()
    if shapes or 0 in shape:
        return
    place = first.coordinates if first is not None and len(first.coordinates) == len(shape) else (0,) * len(shape)
    for small in dict.fromkeys(((1,), (1,) * len(shape))):
        if shape and shape not in ((1,), small):
            yield case.with_tensors({name: _pluck(tensor, place, small) for name, tensor in case.tensors})


def _axes_of_one_extent(tensors: dict[str, Tensor]) -> Iterator[tuple[tuple[str, int], ...]]:
    """Sets of axes, as (tensor, axis), that may have to be cut together.

    Which ones must is for the op to say, so these are: the same axis of all tensors where all agree; else all axes of
    one extent, any two of them, and each on its own.
    """
    shapes = {name: tensor.layout.shape for name, tensor in tensors.items()}
    if len(set(shapes.values())) == 1:
        for axis in range(len(next(iter(shapes.values())))):
            yield tuple((name, axis) for name in shapes)
        return
    axes = [(name, axis) for name, shape in shapes.items() for axis in range(len(shape))]
    for extent in sorted({n for shape in shapes.values() for n in shape if n > 1}, reverse=True):
        alike = [(name, axis) for name, axis in axes if shapes[name][axis] == extent]
        for count in dict.fromkeys((len(alike), 2, 1)):
            if 1 <= count <= len(alike):
                yield from itertools.combinations(alike, count)


def _cut(tensor: Tensor, axis: int, size: int, last: bool) -> Tensor:
    """The tensor with the first or last ``size`` elements along one dim, contiguous if it was, else with its strides.

    A contiguous tensor keeps the values of its elements only if the dim is the outermost one.
    """
    layout = tensor.layout
    shape = (*layout.shape[:axis], size, *layout.shape[axis + 1 :])
    skipped = (layout.shape[axis] - size) * layout.strides[axis] if last and tensor.data else 0
    return replace(
        tensor,
        layout=contiguous(shape, layout.offset) if layout.is_contiguous else replace(layout, shape=shape),
        start=tensor.start + skipped,
    )


def _pluck(tensor: Tensor, coordinates: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
    """The one-element tensor that holds the element at these coordinates."""
    place = sum(i * s for i, s in zip(coordinates, tensor.layout.strides, strict=True))
    return replace(tensor, layout=contiguous(shape), start=tensor.start + place if tensor.data else 0)
