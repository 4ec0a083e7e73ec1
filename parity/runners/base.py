"""The protocols that a runner implements.

There are two kinds of runners. A ``Runner`` executes compiled kernels: ``open`` returns a session that executes
launches. An ``OpRunner`` computes whole ops with a library instead, and parity builds nothing for it. Optional
capabilities are defined in ``parity.runners.capabilities``.
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


class Evidence(StrEnum):
    """How a result is known. Reports never show an emulated pass as a hardware pass."""

    HARDWARE = "hardware"
    EMULATED = "emulated"
    EMULATED_HIP = "emulated HIP"
    """Emulated, and launched through the calls of parity's own libamdhip64."""
    AMD_RUNTIME = "AMD runtime, emulated GPU"
    """Emulated, and launched by AMD's HIP runtime."""
    RECORDED = "recorded"
    LIBRARY = "library"
    """Computed by a library with its own code, so the result says nothing about the kernel."""
    COMPILED = "compiled only"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Probe:
    """The availability of a runner. If it is not available, ``reason`` states why and ``install`` how to fix that."""

    available: bool
    reason: str = ""
    install: str = ""


def missing_tool_probe(*tools: Callable[[], object]) -> Probe | None:
    """Return the probe for the first tool whose function raises ``MissingTool``; None if no tool is missing."""
    try:
        for tool in tools:
            tool()
    except MissingTool as error:
        return Probe(False, f"{error.tool} not found", f"install it with: {error.install}")
    return None


class Executor(Protocol):
    """Executes launches."""

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Execute a launch and return the contents of all buffers.

        An implementation must:

        * copy the buffers, and leave the caller's arrays unchanged;
        * fill the variables of the code object named in ``launch.constants`` first;
        * execute the launches in ``launch.then`` afterwards, in order and on the same memory;
        * return an ``Outcome`` with a ``Fault`` if the kernel misbehaves, instead of raising an exception.
        """


class Session(Executor, Protocol):
    """An open device.

    A session may also implement ``SupportsTiming``, ``SupportsCounting``, ``SupportsCoverage``,
    ``SupportsExplanation``, ``SupportsNearest``, ``SupportsReordering`` and ``SupportsShadows``.
    """

    def prepare(self, code: CodeObject, kernels: Sequence[str]) -> None:
        """Make kernels ready to run, if that is cheaper for many kernels at once. May do nothing."""


@runtime_checkable
class Runner(Protocol):
    """A runner of compiled kernels.

    ``name`` must be the name under which the runner is registered. ``evidence`` must be any value except
    ``Evidence.LIBRARY``, and ``Evidence.RECORDED`` if and only if the runner implements ``SupportsReplay``. ``vendor``
    is the side whose kernels the runner executes, "cuda" or "amd".

    A runner may also implement ``SupportsDescription``, ``SupportsDefaultTargets``, ``SupportsDeviceNumbers``,
    ``SupportsWorkerLimit`` and ``SupportsReplay``.
    """

    name: str
    evidence: Evidence
    vendor: Vendor

    def probe(self) -> Probe:
        """Report whether the runner works on this machine. Must be quick and must not raise."""

    def targets(self) -> tuple[str, ...]:
        """Return the targets whose code objects it can run, such as "gfx90a". A target must not contain blanks."""

    def open(self, target: str, *, checked: bool = True) -> Session:
        """Open a device for a target. With ``checked``, the device checks memory accesses if it is able to."""


@runtime_checkable
class OpRunner(Protocol):
    """A runner that computes ops with a library.

    ``name`` must be the name under which the runner is registered. ``evidence`` must be ``Evidence.LIBRARY``.
    ``vendor`` is "cuda" or "amd" for a library of GPU kernels, "host" for a library that computes on the CPU. A runner
    may also implement ``SupportsDescription`` and ``SupportsWorkerLimit``.
    """

    name: str
    evidence: Evidence
    vendor: Vendor

    def probe(self) -> Probe:
        """Report whether the runner works on this machine. Must be quick and must not raise."""

    def targets(self) -> tuple[str, ...]:
        """Return the devices it can compute on, as words that name them in the matrix."""

    def compute(self, target: str, asked: Computation) -> np.ndarray[Any, Any]:
        """Compute a case. The result has ``asked.dtype`` and ``asked.shape``; the inputs must stay unchanged.

        Raises:
            Unsupported: The library does not have this op, or not for these dtypes or parameters.
        """


@dataclass(frozen=True)
class OpSession:
    """An ``OpRunner`` on one of its devices: ``compute`` as ``OpRunner.compute`` for this device."""

    compute: Callable[[Computation], np.ndarray[Any, Any]]


def argument_mismatch(kernel: Kernel, launch: Launch) -> str:
    """Describe the first argument of a launch that does not fit the kernel's metadata; empty if all of them fit."""
    given = [(len(argument_bytes(arg)), isinstance(arg, Pointer)) for arg in launch.args]
    return first_difference(kernel, given)
