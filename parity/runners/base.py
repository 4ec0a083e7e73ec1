"""The runner protocol.

A runner of kernels has ``open``, which gives a session that executes launches of compiled kernels. A runner of ops has
``compute`` instead: a library that has the op, and no kernel of ours. Nothing is built for it. What else runners and
sessions may have stands in ``parity.runners.capabilities``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from parity.errors import MissingTool
from parity.model.code_object import CodeObject, Kernel, first_difference
from parity.model.launch import Buffer, Computation, Launch, Outcome, Pointer, argument_bytes
from parity.reference.expected import Vendor

__all__ = [
    "Evidence",
    "Executor",
    "OpRunner",
    "OpSession",
    "Probe",
    "Runner",
    "Session",
    "Vendor",
    "argument_mismatch",
    "missing_tool_probe",
]


class Evidence(StrEnum):
    """The evidence of a result. An emulated pass is never shown as a hardware pass."""

    HARDWARE = "hardware"
    EMULATED = "emulated"
    EMULATED_HIP = "emulated HIP"
    """Emulated too, by way of HIP's own calls."""
    RECORDED = "recorded"
    LIBRARY = "library"
    """A library computed it with code of its own, which says nothing of the kernel."""
    COMPILED = "compiled only"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Probe:
    """A runner's availability on this machine: if it cannot work, ``reason`` says why and ``install`` what to do."""

    available: bool
    reason: str = ""
    install: str = ""


def missing_tool_probe(*tools: Callable[[], object]) -> Probe | None:
    """The probe of a runner that lacks one of these tools, each a function that raises MissingTool; None if none is."""
    try:
        for tool in tools:
            tool()
    except MissingTool as error:
        return Probe(False, f"{error.tool} not found", f"install it with: {error.install}")
    return None


class Executor(Protocol):
    """An object that executes launches."""

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Run a launch on fresh copies of the buffers.

        So are the launches that follow it (``Launch.then``), which find what it left, and variables of the code object
        are filled before (``Launch.constants``). A kernel's misbehaviour is a fault of the outcome, not an exception.
        """


class Session(Executor, Protocol):
    """An open device. It may be ``Timed``, ``Counting``, ``Explaining``, ``Drawing`` and ``Shadowing``."""

    def prepare(self, code: CodeObject, kernels: Sequence[str]) -> None:
        """Make these kernels ready to run. Optional work that is cheaper for many kernels at once."""


@runtime_checkable
class Runner(Protocol):
    """An object that can execute launches: its name, the evidence of its results, and the maker of the devices.

    It may be ``Describing``, ``Shared`` and ``Replaying``.
    """

    name: str
    evidence: Evidence
    vendor: Vendor

    def probe(self) -> Probe:
        """The availability on this machine. Quick, and never raises."""

    def targets(self) -> tuple[str, ...]:
        """The targets it can run code objects of."""

    def open(self, target: str, *, checked: bool = True) -> Session:
        """A device for that target; ``checked`` asks for memory checks where the runner has them."""


@runtime_checkable
class OpRunner(Protocol):
    """An object that computes ops; its evidence is ``Evidence.LIBRARY``. It may be ``Describing`` and ``Shared``."""

    name: str
    evidence: Evidence
    vendor: Vendor

    def probe(self) -> Probe:
        """The availability on this machine. Quick, and never raises."""

    def targets(self) -> tuple[str, ...]:
        """The devices it can compute on: words that name them in the matrix."""

    def compute(self, target: str, asked: Computation) -> np.ndarray[Any, Any]:
        """The output of a case, an array of the dtype and shape asked for. The inputs must stay as they are.

        Raises:
            Unsupported: it does not have this op, or not for these dtypes or parameters.
        """


@dataclass(frozen=True)
class OpSession:
    """A device of an OpRunner, open."""

    runner: OpRunner
    target: str

    def compute(self, asked: Computation) -> np.ndarray[Any, Any]:
        """As ``OpRunner.compute``."""
        return self.runner.compute(self.target, asked)


def argument_mismatch(kernel: Kernel, launch: Launch) -> str:
    """The first error in the arguments of a launch, in the terms of the kernel's metadata; empty if they fit."""
    given = [(len(argument_bytes(arg)), isinstance(arg, Pointer)) for arg in launch.args]
    return first_difference(kernel, given)
