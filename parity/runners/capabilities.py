"""Optional capabilities of runners and sessions, beside those that their protocols ask of all of them.

Each capability is a protocol: an object that has its methods has the capability, and ``isinstance`` tests for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from parity.model.code_object import CodeObject
from parity.model.coverage import Point
from parity.model.launch import Arithmetic, Buffer, Fault, Launch, Shadows, Tiled
from parity.runners.base import Executor, OpRunner, Runner
from parity.runners.recording_file import Recording
from parity.runners.timing import Timings

__all__ = [
    "SupportsCounting",
    "SupportsCoverage",
    "SupportsDefaultTargets",
    "SupportsDescription",
    "SupportsDeviceNumbers",
    "SupportsExplanation",
    "SupportsNearest",
    "SupportsReplay",
    "SupportsShadows",
    "SupportsTiming",
    "SupportsWorkerLimit",
    "default_targets",
    "device_description",
    "replayed_recording",
]  # fmt: skip


@runtime_checkable
class SupportsTiming(Protocol):
    """A session that can time launches, because its times are those of a device."""

    def time(
        self, code: CodeObject, launch: Launch, buffers: Mapping[str, Tiled], *, hot: bool, seconds: float
    ) -> Timings | Fault:
        """The timings of a launch that is repeated for about ``seconds`` at most, or the fault that ended it.

        ``hot`` asks for the hot timing beside the cold one.
        """


@runtime_checkable
class SupportsCounting(Protocol):
    """A session that counts instructions, because its times are not those of a device."""

    def count(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Mapping[str, int]:
        """Run the launch; the number of instructions of each class that were issued."""


@runtime_checkable
class SupportsCoverage(Protocol):
    """A session that notes what launches reach of the code of kernels (``Outcome.reached``)."""

    def points(self, code: CodeObject, kernels: Iterable[str]) -> Sequence[Sequence[Point]]:
        """The points of the code of each kernel, blocks first; their order is that of the bits of ``Reached``."""


@runtime_checkable
class SupportsExplanation(Protocol):
    """A session that can find out more after a wrong result."""

    def explain(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Sequence[str]:
        """The findings, as lines of text."""


@runtime_checkable
class SupportsNearest(Protocol):
    """A session that draws the results of approximate instructions (``Outcome.drawn``)."""

    @property
    def nearest(self) -> Executor:
        """The same device, but that they are the nearest numbers."""


@runtime_checkable
class SupportsDefaultTargets(Protocol):
    """A runner that runs some of its targets only if they are named."""

    def default_targets(self) -> tuple[str, ...]:
        """The targets of a run that names none."""


@runtime_checkable
class SupportsShadows(Protocol):
    """A session that can execute a launch once more with other roundings, to show what they matter to its results."""

    def arithmetic(self, code: CodeObject, launch: Launch) -> Arithmetic:
        """The most that the kernels of a launch do with floating-point numbers, as their machine code says."""

    def shadows(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Shadows:
        """The launch with other roundings."""


@runtime_checkable
class SupportsDescription(Protocol):
    """A runner that knows its device."""

    def describe(self) -> Mapping[str, str]:
        """The device ("gpu") and its software, for a record or a recording."""


@runtime_checkable
class SupportsDeviceNumbers(Protocol):
    """A runner of GPUs that have numbers; ``visible`` is the variable that shows a process only some of them."""

    visible: str

    def device_targets(self) -> Sequence[str]:
        """The target of each GPU of this machine, by its number."""


@runtime_checkable
class SupportsWorkerLimit(Protocol):
    """A runner whose devices are shared by the processes of a run."""

    def max_workers(self, targets: Sequence[str]) -> int:
        """The number of processes that the devices of these targets serve."""


@runtime_checkable
class SupportsReplay(Protocol):
    """A runner that replays, and so has ``Evidence.RECORDED``.

    Nothing is built for it, and it has results for the cases recorded there only.
    """

    @property
    def recording(self) -> Recording:
        """The recording that it replays."""


def device_description(runner: Runner | OpRunner) -> dict[str, str]:
    """The facts that a runner states about its device and software; empty if it states none."""
    told = runner.describe() if isinstance(runner, SupportsDescription) else {}
    return {str(what): str(value) for what, value in told.items()}


def default_targets(runner: Runner | OpRunner) -> tuple[str, ...]:
    """The targets of a run on a runner that names none."""
    return tuple(runner.default_targets() if isinstance(runner, SupportsDefaultTargets) else runner.targets())


def replayed_recording(runner: Runner | OpRunner) -> Recording | None:
    """The recording that a runner replays; None for a runner that executes."""
    return runner.recording if isinstance(runner, SupportsReplay) else None
