"""Optional capabilities of runners and sessions.

Each capability is a protocol. A runner or session has a capability if it implements the protocol's methods;
``isinstance`` tests that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from parity.model.code_object import CodeObject
from parity.model.coverage import Point
from parity.model.launch import Arithmetic, Buffer, Fault, Launch, Outcome, Shadows, Tiled
from parity.runners.base import Executor, OpRunner, Runner
from parity.runners.recording_file import Recording
from parity.runners.timing import Timings


@runtime_checkable
class SupportsTiming(Protocol):
    """A session that measures the duration of launches on a real device."""

    def time(
        self, code: CodeObject, launch: Launch, buffers: Mapping[str, Tiled], *, hot: bool, seconds: float
    ) -> Timings | Fault:
        """Repeat a launch for at most about ``seconds`` and return its timings, or the fault that ended it.

        The cold timing is always measured; ``hot`` requests the hot timing as well.
        """


@runtime_checkable
class SupportsCounting(Protocol):
    """A session that counts instructions, for devices whose durations mean nothing."""

    def count(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Mapping[str, int]:
        """Run a launch and return the number of issued instructions by class."""


@runtime_checkable
class SupportsCoverage(Protocol):
    """A session that notes which code a launch reaches, in ``Outcome.reached``."""

    def points(self, code: CodeObject, kernels: Iterable[str]) -> Sequence[Sequence[Point]]:
        """Return the coverage points of each kernel in the order of the bits of ``Reached``, blocks first."""


@runtime_checkable
class SupportsSampling(Protocol):
    """A session that executes a sample of the blocks of a launch with a sparse buffer."""

    @property
    def samples(self) -> bool:
        """Whether it can do so on this machine."""


@runtime_checkable
class SupportsExplanation(Protocol):
    """A session that can investigate a wrong result."""

    def explain(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Sequence[str]:
        """Return findings about a launch as lines of text."""


@runtime_checkable
class SupportsNearest(Protocol):
    """A session that draws the results of approximate instructions, and states so in ``Outcome.drawn``."""

    @property
    def nearest(self) -> Executor:
        """The same device with approximate instructions that return the nearest numbers."""


@runtime_checkable
class SupportsDefaultTargets(Protocol):
    """A runner that runs some of its targets only if a user names them."""

    def default_targets(self) -> tuple[str, ...]:
        """Return the targets of a run without ``--target``."""


@runtime_checkable
class SupportsShadows(Protocol):
    """A session that can repeat a launch with other roundings, to show how much they change its results."""

    def arithmetic(self, code: CodeObject, launch: Launch) -> Arithmetic:
        """Classify the floating-point arithmetic in the machine code of a launch's kernels."""

    def shadows(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Shadows:
        """Execute a launch with other roundings."""


@runtime_checkable
class SupportsReordering(Protocol):
    """A session that can repeat a launch in other orders, to show which results are not deterministic."""

    def reorder(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer], times: int) -> Sequence[Outcome]:
        """Execute a launch up to so many times, with other orders of wavefronts and workgroups and with other clocks.

        In every second launch, quotients of integers by 0, and fast quotients by more than 2^126, have another value.
        """


@runtime_checkable
class SupportsDescription(Protocol):
    """A runner that can describe its device."""

    def describe(self) -> Mapping[str, str]:
        """Return the device (key "gpu") and the versions of its software, for records and recordings."""


@runtime_checkable
class SupportsDeviceNumbers(Protocol):
    """A runner for numbered GPUs. ``visible`` names the environment variable that hides GPUs from a process."""

    visible: str

    def device_targets(self) -> Sequence[str]:
        """Return the target of each GPU of this machine, indexed by the GPU's number."""


@runtime_checkable
class SupportsWorkerLimit(Protocol):
    """A runner whose devices are shared by the worker processes of a run."""

    def max_workers(self, targets: Sequence[str]) -> int:
        """Return how many processes the devices of these targets can serve at once."""


@runtime_checkable
class SupportsReplay(Protocol):
    """A runner that replays a recording; its evidence must be ``Evidence.RECORDED``.

    parity builds nothing for such a runner, and runs only the cases of the recording on it.
    """

    @property
    def recording(self) -> Recording:
        """The recording that it replays."""


UNKNOWN = "unknown"
"""The beginning of a value in ``device_description`` that could not be found out; the reason follows."""


def device_description(runner: Runner | OpRunner) -> dict[str, str]:
    """Return what a runner states about its device and software; empty if it states nothing."""
    facts = runner.describe() if isinstance(runner, SupportsDescription) else {}
    return {str(name): str(value) for name, value in facts.items()}


def default_targets(runner: Runner | OpRunner) -> tuple[str, ...]:
    """Return the targets that a run uses on a runner unless the user names others."""
    return tuple(runner.default_targets() if isinstance(runner, SupportsDefaultTargets) else runner.targets())


def replayed_recording(runner: Runner | OpRunner) -> Recording | None:
    """Return the recording that a runner replays; None for a runner that executes launches."""
    return runner.recording if isinstance(runner, SupportsReplay) else None
