"""HIP errors as exceptions, and planted faults of HIP calls."""

from __future__ import annotations

from dataclasses import dataclass

from parity.errors import UsageError, nearest
from parity.hip.library import hip_errors

_NUMBERS = {name: value for value, name, _ in hip_errors()}

# Sticky errors: every later call returns them until the process ends.
STICKY = frozenset(
    ("hipErrorIllegalAddress", "hipErrorLaunchFailure", "hipErrorLaunchTimeOut", "hipErrorAssert", "hipErrorUnknown")
)


class HipError(Exception):
    """The error of a HIP call: its name in hipError_t, and a description."""

    def __init__(self, name: str, why: str = "") -> None:
        super().__init__(why or name)
        self.name, self.why = name, why

    @property
    def number(self) -> int:
        return _NUMBERS[self.name]


@dataclass(frozen=True)
class PlantedFault:
    """A planted fault: every call of ``api`` fails, or only call number ``call``.

    The error ``exit`` ends the process that emulates the device.
    """

    api: str
    error: str
    call: int | None

    @staticmethod
    def parse(text: str) -> PlantedFault:
        """Parse ``API=ERROR`` or ``API=ERROR@N``.

        Raises:
            UsageError: The text has another form, or the error is unknown.
        """
        api, equals, rest = text.partition("=")
        error, at, number = rest.partition("@")
        if not (api and equals) or (at and not (number.isdigit() and int(number))):
            raise UsageError(f"{text!r} is not a fault: write API=ERROR, or API=ERROR@N for the N-th call")
        if error not in _NUMBERS and error != "exit":
            raise UsageError(f"unknown error {error!r} in {text!r}{nearest(error, [*_NUMBERS, 'exit'])}")
        return PlantedFault(api, error, int(number) if at else None)
