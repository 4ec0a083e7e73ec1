"""The runner protocol.

A runner of kernels has ``open``, which gives a session that executes launches of compiled kernels. A runner of ops has
``compute`` instead: a library that has the op, and no kernel of ours. Nothing is built for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from parity.codeobject import CodeObject, Kernel, first_difference
from parity.launch import Buffer, Computation, Launch, Outcome, Pointer, argument_bytes
from parity.runners.recording import Recording

__all__ = [
    "DEVICES", "Evidence", "Library", "OpRunner", "Probe", "Runner", "Session", "Vendor", "described", "mismatch",
    "replayed",
]  # fmt: skip

Vendor = Literal["amd", "cuda", "host"]
"""Whose accuracy limits are those of a device; "host" for a library on a CPU, which may be as far off as either."""


class Evidence(StrEnum):
    """How a result is known. An emulated pass is never shown as a hardware pass."""

    HARDWARE = "hardware"
    EMULATED = "emulated"
    EMULATED_HIP = "emulated HIP"
    """Emulated too, by way of HIP's own calls."""
    RECORDED = "recorded"
    LIBRARY = "library"
    """A library computed it with code of its own, which says nothing of the kernel."""
    COMPILED = "compiled only"
    NOT_RUN = "not run"


DEVICES = (Evidence.HARDWARE, Evidence.LIBRARY)
"""What is known from a device of this machine, which a record describes."""


@dataclass(frozen=True)
class Probe:
    """Whether a runner can work on this machine: if not, ``reason`` says why and ``install`` what to do about it."""

    available: bool
    reason: str = ""
    install: str = ""


class Session(Protocol):
    """An open device."""

    def prepare(self, code: CodeObject, kernels: Sequence[str]) -> None:
        """Make these kernels ready to run. Optional work that is cheaper for many kernels at once."""

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Run a launch on fresh copies of the buffers.

        So are the launches that follow it (``Launch.then``), which find what it left, and variables of the code object
        are filled before (``Launch.constants``). A kernel's misbehaviour is a fault of the outcome, not an exception.
        One that draws the results of approximate instructions (``Outcome.drawn``) has a property ``nearest``: the same
        device, but that they are the nearest numbers. A session may have a method ``explain``, called with the same
        arguments after a wrong result: it returns what it can find out, as lines of text. One whose time says nothing
        may have a method ``count``, which runs the launch and returns how many instructions of each class were issued.
        One whose time does may have a method ``time(code, launch, buffers, *, hot, seconds)``: its buffers are
        ``Tiled``; it repeats the launch, for about ``seconds`` at most, and returns ``Timings``, or the Fault that
        ended it. ``hot`` asks for the hot timing beside the cold one.
        """


@runtime_checkable
class Runner(Protocol):
    """What can execute launches: its name, the evidence its results are, and the maker of the devices.

    A runner may have a method ``describe``: the device ("gpu") and its software, for a recording. One that replays has
    a property ``recording``: nothing is built for it, and it has results for the cases recorded there only. One whose
    devices are shared by the processes of a run may have a method ``most_workers``, called with the targets: how many
    processes they serve.
    """

    name: str
    evidence: Evidence
    vendor: Vendor

    def probe(self) -> Probe:
        """Whether it can work here. Quick, and never raises."""

    def targets(self) -> tuple[str, ...]:
        """The targets it can run code objects of."""

    def open(self, target: str, *, checked: bool = True) -> Session:
        """A device for that target; ``checked`` asks for memory checks where the runner has them."""


@runtime_checkable
class OpRunner(Protocol):
    """What computes ops; its evidence is ``Evidence.LIBRARY``. It may have ``describe`` and ``most_workers``."""

    name: str
    evidence: Evidence
    vendor: Vendor

    def probe(self) -> Probe:
        """Whether it can work here. Quick, and never raises."""

    def targets(self) -> tuple[str, ...]:
        """The devices it can compute on: words that name them in the matrix."""

    def compute(self, target: str, asked: Computation) -> np.ndarray[Any, Any]:
        """The output of a case, an array of the dtype and shape asked for. The inputs must stay as they are.

        Raises:
            Unsupported: it does not have this op, or not for these dtypes or parameters.
        """


@dataclass(frozen=True)
class Library:
    """A device of an OpRunner, open."""

    runner: OpRunner
    target: str

    def compute(self, asked: Computation) -> np.ndarray[Any, Any]:
        """As ``OpRunner.compute``."""
        return self.runner.compute(self.target, asked)


def described(runner: Runner | OpRunner) -> dict[str, str]:
    """What a runner says of its device and software; empty if it says nothing."""
    describe = getattr(runner, "describe", None)
    return {str(what): str(value) for what, value in describe().items()} if describe else {}


def replayed(runner: Runner | OpRunner) -> Recording | None:
    """What a runner replays; None for one that executes."""
    found: Recording | None = getattr(runner, "recording", None)
    return found


def mismatch(kernel: Kernel, launch: Launch) -> str:
    """What is wrong first in the arguments of a launch, in the terms of the kernel's metadata; empty if they fit."""
    given = [(len(argument_bytes(arg)), isinstance(arg, Pointer)) for arg in launch.args]
    return first_difference(kernel, given)
