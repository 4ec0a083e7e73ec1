"""Explain a case: launch, buffers, layouts, input values; of each output expected values and accepted intervals."""

from __future__ import annotations

import argparse
import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console

from parity.case import Case
from parity.cli.options import add_folders, positive, suite_of
from parity.cli.terminal import output
from parity.compare import show
from parity.launch import Buffer, Launch
from parity.op import Call, Op
from parity.reference import Limits
from parity.reference.expected import Expected
from parity.report.tables import plain
from parity.runners import Runner, runner
from parity.runners.emulated import results_of
from parity.suite import Suite
from parity.toolchain import DEFAULT_TARGETS, build_suite

__all__ = ["main", "options"]

ELEMENTS, OPERATIONS = 2**24, 2**30
"""What a reference does within a few seconds, and with less than a gigabyte."""

_PRINTS = re.compile(r"\bprintf\s*\(")

Array = np.ndarray[Any, Any]


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("case", metavar="CASE", help="a case as parity prints it, in quotes")
    parser.add_argument(
        "--elements", type=positive, default=16, metavar="N", help="elements to show (default: %(default)s)"
    )
    add_folders(parser)


def main(arguments: argparse.Namespace) -> int:
    """Print the explanation."""
    suite = suite_of(arguments)
    case = suite.parse(arguments.case)
    op = suite.op(case.op)
    kernel = op.kernel_name(case.dtypes)
    console = output()
    _print(
        console,
        ("case", str(case)),
        ("kernel", "none; libraries compute it" if op.library else f"{kernel} of {suite.files[op.module]}"),
        *(() if op.library else _launch(op.args, op.timed(case)[0])),
        *(
            (("tensor" if i == 0 else ""), f"{name}: {_tensor(tensor)}")
            for i, (name, tensor) in enumerate(case.tensors)
        ),
    )
    if why := _too_large(op, case):
        _print(console, ("values", f"not shown: {why}; a smaller case shows how they come about"))
        return 0
    call = op.call(case)
    _print(
        console,
        *(
            (("buffer" if i == 0 else ""), f"{name}: {_buffer(buffer, arguments.elements)}")
            for i, (name, buffer) in enumerate(call.buffers.items())
        ),
    )
    for name, expected in call.references().items():
        size, kind = expected.value.size, call.buffers[name].dtype
        _print(
            console,
            ("output", f"{name}: {size} elements of {kind}, layout {call.outputs[name]}"),
            ("right if", _rule(expected)),
        )
        heads, *rows = _elements(call, expected, arguments.elements)
        console.print(f"\n{plain(heads, rows, right=range(len(heads)))}")
        if size > arguments.elements:
            console.print(f"... and {size - arguments.elements} more (--elements N)")
        console.print()
    if printed := _printed(suite, op, call):
        console.print(f"printed on {DEFAULT_TARGETS[0]} (emulated):", printed.rstrip(), sep="\n", markup=False)
    return 0


def _print(console: Console, *lines: tuple[str, str]) -> None:
    for label, value in lines:
        console.print(f"{label:<10} {value}")


def _too_large(op: Op, case: Case) -> str:
    """Why the values of a case are not computed to show some of them, or an empty string."""
    given = op.given(case)
    elements = sum(layout.span for layout in case.layouts.values()) + sum(map(math.prod, given.shapes.values()))
    if elements > ELEMENTS:
        return f"the tensors have {elements} elements, and the values of up to {ELEMENTS} are computed here"
    if (operations := op.work(case).operations) > OPERATIONS:
        return f"a reference takes {operations} operations or more, and up to {OPERATIONS} are done here"
    return ""


def _printed(suite: Suite, op: Op, call: Call) -> str:
    """What the kernel prints in this case; empty if its source does not print, or cannot be run here."""
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
    yield "grid", f"{_dims(launch.grid)} blocks of {_dims(launch.block)} threads, {launch.shared_bytes} B shared"
    yield "emulated", f"with {results_of(launch)}, where an instruction is approximate"


def _dims(dims: tuple[int, int, int]) -> str:
    return "x".join(map(str, dims))


def _tensor(tensor: Any) -> str:
    layout = tensor.layout
    text = f"shape {layout.shape}, strides {layout.strides}, offset {layout.offset}"
    text += ", contiguous" if layout.is_contiguous else ", not contiguous"
    return text + (f", data {tensor.data} from element {tensor.start}" if tensor.data else "")


def _buffer(buffer: Buffer, limit: int) -> str:
    """What the device's memory holds before the launch; ``-`` for what the kernel must not read."""
    defined = np.ones(len(buffer.data), np.bool_) if buffer.defined is None else buffer.defined
    pairs = itertools.islice(zip(buffer.data, defined, strict=True), limit)
    values = " ".join(show(value) if known else "-" for value, known in pairs)
    more = " ..." if len(buffer.data) > limit else ""
    access = "read and written" if buffer.writable and defined.any() else "written" if buffer.writable else "read"
    return f"{buffer.dtype} x {len(buffer.data)}, {access}: {values}{more}"


def _rule(expected: Expected) -> str:
    if expected.bounds:
        parts = ["inside of the accepted interval"]
    elif expected.accepts:
        parts = ["the reference accepts it; of several right values one is shown"]
    else:
        parts = ["exactly the expected value"]
    if expected.alternatives:
        parts.append("or another right value")
    if np.any(expected.nan_allowed):
        parts.append("or NaN where that is right as well")
    if expected.divergences:
        parts.append(f"or throughout the other vendor's value ({', '.join(expected.divergences)})")
    if np.any(expected.unspecified):
        parts.append("or anything where nothing is specified")
    if np.any(expected.sign_of_zero):
        parts.append("; the sign of zero counts")
    return " ".join(parts).replace(" ;", ";")


def _elements(call: Call, expected: Expected, limit: int) -> Iterator[list[str]]:
    """The header, then coordinates, inputs, expected value, limits, and other right values of every element."""
    with np.errstate(all="ignore"):
        bounds = expected.bounds(Limits("amd")) if expected.bounds else None
    others = {f"({name})": values for name, values in expected.divergences.items()}
    others |= {f"or ({n})": values for n, values in enumerate(expected.alternatives, 1)}
    inputs = {name: array for name, array in call.inputs.items() if array.shape == expected.value.shape}
    heads = ["element", *inputs, "expected", *(["from", "to"] if bounds else []), *others]
    yield heads
    for place in itertools.islice(np.ndindex(expected.value.shape), limit):
        at: Any = place
        line = [",".join(map(str, at)) or "()", *(show(array[at]) for array in inputs.values())]
        line.append(show(expected.value[at]))
        if bounds:
            with np.errstate(all="ignore"):
                centre = np.broadcast_to(bounds.centre, expected.value.shape)[at]
                residual = np.broadcast_to(bounds.residual, expected.value.shape)[at]
                below = np.broadcast_to(bounds.below, expected.value.shape)[at]
                above = np.broadcast_to(bounds.above, expected.value.shape)[at]
                line += [f"{centre + (residual - below):.9g}", f"{centre + (residual + above):.9g}"]
        yield line + [show(values[at]) for values in others.values()]
