"""Describes a case: its launch, its buffers, and the accepted values for each element of its outputs."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np

from parity.build.modules import build_suite
from parity.compare.ulps import format_value
from parity.compilers.targets import DEFAULT_TARGETS
from parity.model.case import Case
from parity.model.divergences import divergences
from parity.model.dtypes import Array
from parity.model.launch import WIDE, Buffer, Launch
from parity.op import Call, Op
from parity.reference import Limits
from parity.reference.accuracy import Accuracy
from parity.reference.expected import Bounds, Expected
from parity.report.tables import plain
from parity.runners import Runner, runner
from parity.runners.device_session import chosen_results
from parity.suite.loading import Suite, find_suite

ELEMENTS = 16
"""Default number of elements to show per output and buffer."""

WITHOUT_REFERENCE = "CUDA's side of the run computes it, within what roundings explain; the op has no reference"

MOST_ELEMENTS, MOST_OPERATIONS = 2**24, 2**30
"""Largest case to compute: its reference takes at most a few seconds and less than a gigabyte."""

_PRINTS = re.compile(r"\bprintf\s*\(")


def explain(case: str, *, suite: Suite | None = None, elements: int = ELEMENTS) -> str:
    """Return the description of a case, as ``parity explain`` prints it.

    The description contains the launch, buffers and layouts. For the first ``elements`` of each output it also contains
    inputs, expected values, and the accepted interval for each vendor.

    Raises:
        UsageError: The text is not a case of the suite (default: the suite of the project around the working
            directory, or else the suite shipped with parity).
    """
    return "\n".join(explanation(suite or find_suite(), case, elements))


def explanation(suite: Suite, text: str, elements: int = ELEMENTS) -> Iterator[str]:
    """Yield the lines of ``explain`` as soon as they are known.

    Raises:
        UsageError: The text is not a case of the suite.
    """
    case = suite.parse(text)
    op = suite.op(case.op)
    yield _line("case", str(case))
    if about := op.divergences(case.dtypes).get(str(case)):
        yield _line("about", str(divergences()[about]))
    if op.library:
        yield _line("kernel", "none; libraries compute it")
    else:
        yield _line("kernel", f"{op.kernel_name(case.dtypes)} of {suite.files[op.module]}")
        yield from itertools.starmap(_line, _launch(op.args, op.timed(case)[0]))
    yield from _listed("tensor", (f"{name}: {_tensor(tensor)}" for name, tensor in case.tensors))
    if why := _too_large(op, case):
        yield _line("values", f"not shown: {why}; use a smaller case to see them")
        return
    call = op.call(case)
    yield from _listed("buffer", (f"{name}: {_buffer(buffer, elements)}" for name, buffer in call.buffers.items()))
    if call.references is None:
        yield _line("right if", WITHOUT_REFERENCE)
    for name, expected in call.references().items() if call.references else ():
        size, kind = expected.value.size, call.buffers[name].dtype
        yield _line("output", f"{name}: {size} elements of {kind}, layout {call.outputs[name]}")
        yield _line("right if", _rule(expected))
        yield from _listed("limits", _limits(expected))
        heads, *rows = _elements(call, expected, elements)
        yield f"\n{plain(heads, rows, right=range(len(heads)))}"
        if size > elements:
            yield f"... and {size - elements} more (--elements N)"
        yield ""
    if printed := _printed(suite, op, call):
        yield f"printed on {DEFAULT_TARGETS[0]} (emulated):\n{printed.rstrip()}"


def _line(label: str, text: str) -> str:
    return f"{label:<10} {text}"


def _listed(label: str, texts: Iterable[str]) -> Iterator[str]:
    """Yield a line for each text. Only the first line has the label."""
    return (_line("" if i else label, text) for i, text in enumerate(texts))


def _too_large(op: Op, case: Case) -> str:
    """Return why the values of a case are not computed; empty if they are."""
    given = op.view(case)
    elements = sum(layout.span for layout in case.layouts.values()) + sum(map(math.prod, given.shapes.values()))
    if elements > MOST_ELEMENTS:
        return f"the tensors have {elements} elements, more than the limit of {MOST_ELEMENTS}"
    if (operations := op.work(case).operations) > MOST_OPERATIONS:
        return f"a reference takes {operations} operations or more, beyond the limit of {MOST_OPERATIONS}"
    return ""


def _printed(suite: Suite, op: Op, call: Call) -> str:
    """Return what the kernel prints in this case; empty if it does not print, or there is no emulator."""
    path = suite.files.get(op.module)
    if op.library or path is None or not path.is_file() or not _PRINTS.search(path.read_text(errors="replace")):
        return ""
    (built,) = build_suite(suite, [op.module], DEFAULT_TARGETS[:1])
    emulated = runner("emulated")
    if built.code_object is None or not emulated.probe().available or not isinstance(emulated, Runner):
        return ""
    session = emulated.open(built.target)
    return session.execute(built.code_object, call.on(built.code_object).launch, call.buffers).printed


def _launch(args: str, launch: Launch) -> Iterator[tuple[str, str]]:
    yield "arguments", args
    yield "launch", str(launch)
    yield "grid", _geometry(launch)
    if launch.wide:
        yield "", f"{_geometry(launch.wide)}, with wavefronts of {WIDE} lanes"
    yield "emulated", f"with {chosen_results(launch)}, where an instruction is approximate"


def _geometry(launch: Launch) -> str:
    return f"{_dims(launch.grid)} blocks of {_dims(launch.block)} threads, {launch.shared_bytes} B shared"


def _dims(dims: tuple[int, int, int]) -> str:
    return "x".join(map(str, dims))


def _tensor(tensor: Any) -> str:
    layout = tensor.layout
    text = f"shape {layout.shape}, strides {layout.strides}, offset {layout.offset}"
    text += ", contiguous" if layout.is_contiguous else ", not contiguous"
    return text + (f", data {tensor.data} from element {tensor.start}" if tensor.data else "")


def _buffer(buffer: Buffer, limit: int) -> str:
    """Return the content of a buffer before the launch, with ``-`` for elements that the kernel must not read."""
    defined = np.ones(len(buffer.data), np.bool_) if buffer.defined is None else buffer.defined
    pairs = itertools.islice(zip(buffer.data, defined, strict=True), limit)
    values = " ".join(format_value(value) if known else "-" for value, known in pairs)
    more = " ..." if len(buffer.data) > limit else ""
    access = "read and written" if buffer.writable and defined.any() else "written" if buffer.writable else "read"
    return f"{buffer.dtype} x {len(buffer.data)}, {access}: {values}{more}"


def _rule(expected: Expected) -> str:
    if expected.bounds:
        parts = ["inside the accepted interval of the device's vendor"]
    elif expected.accepts:
        parts = ["the reference accepts it; one of several accepted values is shown"]
    else:
        parts = ["exactly the expected value"]
    also = {
        "or another accepted value": expected.alternatives,
        "or NaN where that is also accepted": np.any(expected.nan_allowed),
        f"or throughout the other vendor's value ({', '.join(expected.divergences)})": expected.divergences,
        "or any value where the result is unspecified": np.any(expected.unspecified),
        "; the sign of zero counts": np.any(expected.sign_of_zero),
    }
    return " ".join([*parts, *(text for text, applies in also.items() if applies)]).replace(" ;", ";")


VENDORS: tuple[Literal["cuda", "amd"], ...] = ("cuda", "amd")


def _limits(expected: Expected) -> Iterator[str]:
    """Yield the documented accuracy of each function that the error bound rests on, for both vendors."""
    asked: list[Accuracy] = []
    for vendor in VENDORS:
        _bounds(expected, Limits(vendor, asked=asked))
    for row in dict.fromkeys(asked):
        unit = f"ULP of {row.ulp_of}" if row.function != "tanh_tail" else "times 1 - |tanh x|, plus half an ULP near 1"
        yield f"{row.vendor.upper()}: {row.function}: {row.documented:g} {unit} ({row.source})"


def _bounds(expected: Expected, limits: Limits) -> Bounds | None:
    with np.errstate(all="ignore"):
        return expected.bounds(limits) if expected.bounds else None


def _intervals(expected: Expected) -> dict[str, Array]:
    """Return the ends of the accepted interval by column heading, separately for each vendor if they differ."""
    found: dict[str, Array] = {}
    for vendor in VENDORS:
        if bounds := _bounds(expected, Limits(vendor)):
            for head, room in (("from", -bounds.below), ("to", bounds.above)):
                with np.errstate(all="ignore"):
                    ends = bounds.centre + (bounds.residual + room)
                found[f"{vendor.upper()} {head}"] = np.broadcast_to(ends, expected.value.shape)
    if found and all(np.array_equal(found[f"CUDA {e}"], found[f"AMD {e}"], equal_nan=True) for e in ("from", "to")):
        return {"from": found["AMD from"], "to": found["AMD to"]}
    return found


def _elements(call: Call, expected: Expected, limit: int) -> Iterator[list[str]]:
    """Yield the heading, then coordinates, inputs and accepted values of each element."""
    intervals = _intervals(expected)
    others = {f"({name})": values for name, values in expected.divergences.items()}
    others |= {f"or ({n})": values for n, values in enumerate(expected.alternatives, 1)}
    inputs = {name: array for name, array in call.inputs.items() if array.shape == expected.value.shape}
    heads = ["element", *inputs, "expected", *intervals, *others]
    yield heads
    for index in itertools.islice(np.ndindex(expected.value.shape), limit):
        at: Any = index
        line = [",".join(map(str, at)) or "()", *(format_value(array[at]) for array in inputs.values())]
        line.append(format_value(expected.value[at]))
        line += [f"{array[at]:.9g}" for array in intervals.values()]
        yield line + [format_value(values[at]) for values in others.values()]
