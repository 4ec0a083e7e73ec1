"""Compiler options that bisecting changes one at a time, read from ``compiler_options.csv``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.targets import Target
from parity.platform.files import read_rows

_SEPARATOR = "\n"
"""Separates flags in the text that patterns match. No flag contains it."""


@dataclass(frozen=True)
class CompilerOption:
    """One change to how a project compiles a kernel.

    ``flags`` are appended to the flags of the project. ``where`` is a regular expression for a flag; whitespace in it
    separates a flag from its value. The option then applies only to projects with such a flag, and removes the flag if
    ``flags`` is empty. ``wavefront`` restricts the option to targets of that width (0: all). ``variant`` changes
    something other than flags: "headers" uses another version of AMD's headers, and "helpful" another hipify style.
    ``says`` explains what it means if a result depends on this option.
    """

    name: str
    vendor: str
    flags: tuple[str, ...]
    where: str
    wavefront: int
    variant: str
    says: str

    def applies(self, target: Target, flags: Sequence[str]) -> bool:
        """Return True if the option would change a build for ``target`` with the project's ``flags``."""
        here = target.vendor == self.vendor and self.wavefront in (0, target.wavefront)
        done = bool(self.flags) and {*self.flags} <= {*flags}
        return here and not done and (not self.where or bool(self._matches(flags)))

    def changed_flags(self, flags: Sequence[str]) -> tuple[str, ...]:
        """Return the project's ``flags`` with this option changed."""
        if self.flags or not self.where:
            return (*flags, *self.flags)
        return tuple(filter(None, self._pattern.sub("", _SEPARATOR.join(flags)).split(_SEPARATOR)))

    def description(self, flags: Sequence[str]) -> str:
        """Return the change to the project's ``flags`` as text: "-O0" or "without -O3"."""
        return " ".join(self.flags or (f"without {' '.join(self._matches(flags))}",))

    def _matches(self, flags: Sequence[str]) -> list[str]:
        return [each[0].replace(_SEPARATOR, " ") for each in self._pattern.finditer(_SEPARATOR.join(flags))]

    @property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?:^|(?<={_SEPARATOR}))(?:{self.where})(?=$|{_SEPARATOR})")


COMPILER_OPTIONS = read_rows(Path(__file__).with_suffix(".csv"), CompilerOption)
"""All compiler options, the most telling ones first."""


def available_options(target: Target, flags: Sequence[str]) -> tuple[CompilerOption, ...]:
    """Return the options that would change a build for ``target`` with the project's ``flags``."""
    return tuple(option for option in COMPILER_OPTIONS if option.applies(target, flags))
