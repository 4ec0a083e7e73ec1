"""A case with its verdict, and what it ran on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from parity.compare.ulps import format_value
from parity.compare.verdict import Verdict
from parity.model.case import Case
from parity.model.code_object import CodeObject
from parity.model.coverage import Reached
from parity.model.dtypes import Array
from parity.op import Call
from parity.reference.expected import Expected
from parity.runners import OpSession, Session, Vendor

NO_REFERENCE = "no reference"
BEYOND_TARGET = "beyond target"
"""The kind of a verdict on a configuration that Triton's autotuner skips on a target."""


@dataclass(frozen=True)
class CheckedCase:
    """A verdict with everything that helps to understand it.

    ``lost`` means that the device had to be reopened. ``outputs`` holds the outputs in logical shape, and is empty
    after a fault. ``printed`` is the start of the kernel's output. ``expected`` holds what the outputs were compared
    with, or None if nothing was compared. ``reached`` is the coverage of the kernel's code, if it was noted.
    """

    case: Case
    verdict: Verdict
    launch: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    instructions: int | None = None
    lost: bool = False
    outputs: Mapping[str, Array] = field(default_factory=dict)
    printed: str = ""
    expected: Mapping[str, Expected] | None = None
    reached: Reached | None = None

    @property
    def unreferenced(self) -> bool:
        """True if the op has no reference, and nothing that is visible without one is wrong."""
        return self.verdict.kind == NO_REFERENCE


@dataclass(frozen=True)
class Implementation:
    """An implementation under test: code on an open device, or a library. ``vendor`` selects the accuracy limits.

    ``oracle`` is CUDA's implementation, whose results judge an op without a reference. ``name`` denotes the
    implementation in verdicts. ``other_warps`` yields code in which the Triton kernel of a symbol has other numbers of
    warps.
    """

    session: Session | OpSession
    vendor: Vendor
    code: CodeObject | None = None
    oracle: Implementation | None = None
    name: str = ""
    other_warps: Callable[[str], Iterable[CodeObject]] = lambda symbol: ()


def wrong_inputs(call: Call, verdict: Verdict) -> dict[str, str]:
    """Return the inputs of the first wrong element as text."""
    if verdict.first is None or verdict.kind in ("input modified", "outside of the output"):
        return {}
    found = input_elements(call, verdict.first.coordinates, verdict.output)
    return {name: format_value(each) for name, each in found}


def input_elements(call: Call, index: tuple[int, ...], output: str = "") -> Iterator[tuple[str, np.generic]]:
    """Yield the inputs that have the shape of an output (default: the first), with their element at its ``index``."""
    shape = call.outputs[output or call.output].shape
    for name, array in call.inputs.items():
        if array.shape == shape:
            yield name, array[index]
