"""Recognizes failures that mix up the two formats of 8-bit floats: OCP, and FNUZ of gfx94x (D19)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

import ml_dtypes
import numpy as np

from parity.compare.comparison import compare
from parity.engine.checked_case import CheckedCase, Implementation
from parity.engine.judging import judge
from parity.errors import ParityError
from parity.model.dtypes import DTYPES, Array, array_dtype
from parity.op import Call
from parity.reference.expected import Expected
from parity.runners import Vendor

F8 = DTYPES["f8_e4m3"]


def fnuz_mixups(
    call: Call, failing: CheckedCase, vendor: Vendor, oracle: Implementation | None = None
) -> Iterator[str]:
    """Yield a sentence that names the tensors for which FNUZ's f8 instead of OCP's makes the results right.

    Yields nothing if the results were not compared, or if a FNUZ value does not exist in OCP's f8 (half of the smallest
    number). ``oracle`` is CUDA's implementation, which gives the right values if the op has no reference.
    """
    if failing.expected is None:
        return
    inputs = [name for name, x in call.inputs.items() if array_dtype(x) is F8]
    names = [*inputs, *(name for name in failing.outputs if call.buffers[name].dtype is F8 and name not in inputs)]
    for count in range(len(names), 0, -1):
        found = [
            " and ".join(some) for some in combinations(names, count) if _right(call, failing, vendor, oracle, some)
        ]
        if found:
            yield (
                f"right if f8 is FNUZ's in {' or '.join(found)}, not OCP's: the same bits are half the value, and 0x80 "
                "is NaN (D19)"
            )
            return


def _right(
    call: Call, failing: CheckedCase, vendor: Vendor, oracle: Implementation | None, chosen: tuple[str, ...]
) -> bool:
    def passes(name: str, wanted: Expected) -> bool:
        got = failing.outputs[name]
        got = _as_large(_read(got), wanted.value) if name in chosen else got
        return compare(wanted, got, vendor=vendor).passed

    try:
        written = [_read(failing.outputs[name]).astype(np.float32) for name in chosen if name in failing.outputs]
        # Every OCP overflow reads as FNUZ's largest number, 240, which stands for all larger ones: not evidence.
        if written and not any(((np.abs(each) < 240) & (each != 0)).any() for each in written):
            return False
        expected = _expected(call, failing, oracle, chosen)
        return bool(expected) and all(passes(name, each) for name, each in expected.items())
    except (ArithmeticError, ParityError):  # references need not accept such values
        return False


def _expected(
    call: Call, failing: CheckedCase, oracle: Implementation | None, chosen: tuple[str, ...]
) -> Mapping[str, Expected]:
    """Return the expectation of each output if the chosen inputs are FNUZ; empty if unknown.

    Raises:
        ArithmeticError: As ``_read``.
    """
    if call.refer:
        return call.refer({name: _read(x) if name in chosen else x for name, x in call.inputs.items()})
    if oracle is None:
        return {}
    buffers = {
        name: replace(buffer, data=_read(buffer.data)) if name in chosen and name in call.inputs else buffer
        for name, buffer in call.buffers.items()
    }
    outputs = judge(failing.case, replace(call, buffers=buffers), oracle).outputs
    return {name: Expected(value) for name, value in outputs.items()}


def _as_large(got: Array, value: Array) -> Array:
    """Replace FNUZ's largest number, 240, by the expected value where larger values saturate to it."""
    saturated = np.clip(value.astype(np.float32), -240, 240)
    return np.where((np.abs(saturated) == 240) & (got == saturated), value, got)


def _read(x: Array) -> Array:
    """Return the OCP f8 values that equal the FNUZ values of the same bits.

    Raises:
        ArithmeticError: OCP's f8 lacks one of the values.
    """
    values = x.view(ml_dtypes.float8_e4m3fnuz).astype(np.float32)
    found: Array = values.astype(F8.numpy)
    if not np.array_equal(found.astype(np.float32), values, equal_nan=True):
        raise ArithmeticError
    return found
