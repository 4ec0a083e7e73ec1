"""Errors of HIP: those that calls return, and those that are planted."""

from __future__ import annotations

from dataclasses import dataclass

from parity.errors import UsageError, nearest
from parity.hip.library import hip_errors

__all__ = ["STICKY", "HipError", "PlantedFault"]

_NUMBERS = {name: value for value, name, _ in hip_errors()}

# What a launch does to every later call: these errors stay until the process ends.
STICKY = frozenset(
    ("hipErrorIllegalAddress", "hipErrorLaunchFailure", "hipErrorLaunchTimeOut", "hipErrorAssert", "hipErrorUnknown")
)


class HipError(Exception):
    """A call that returns an error: its name (hipError_t), and why, for a person."""

    def __init__(self, name: str, why: str = "") -> None:
        super().__init__(why or name)
        self.name, self.why = name, why

    @property
    def number(self) -> int:
        return _NUMBERS[self.name]


@dataclass(frozen=True)
class PlantedFault:
    """A function that fails: ``API=ERROR`` at every call, ``API=ERROR@N`` at the N-th alone.

    The error ``exit`` ends the process that is the device.
    """

    api: str
    error: str
    call: int | None

    @staticmethod
    def parse(text: str) -> PlantedFault:
        """The fault that a text names.

        Raises:
            UsageError: it is not of that form, or there is no such error.
        """
        api, equals, rest = text.partition("=")
        error, at, number = rest.partition("@")
        if not (api and equals) or (at and not (number.isdigit() and int(number))):
            raise UsageError(f"{text!r} is not a fault: write API=ERROR, or API=ERROR@N for the N-th call")
        if error not in _NUMBERS and error != "exit":
            raise UsageError(f"unknown error {error!r} in {text!r}{nearest(error, [*_NUMBERS, 'exit'])}")
        return PlantedFault(api, error, int(number) if at else None)
