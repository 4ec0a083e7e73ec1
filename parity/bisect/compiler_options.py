"""The knobs: one way each to compile a kernel otherwise than the project does, from ``knobs.csv``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from parity.compilers.targets import Target
from parity.platform.files import read_table
from parity.platform.serialization import checked

__all__ = ["COMPILER_OPTIONS", "CompilerOption", "available_options"]

Variant = Literal["", "headers", "helpful"]

_BETWEEN = "\n"
"""Between the words of a command line, where a pattern is looked for: no flag has it."""


@dataclass(frozen=True)
class CompilerOption:
    """A way to compile: ``flags`` are added to the project's, and win.

    With ``where``, a regular expression for a flag, in which white space is between it and its value, the knob is there
    where the project has such a flag; without ``flags`` of its own it takes that away. ``wavefront`` is the width of
    the targets that have the knob, 0 for all. A ``variant`` changes something else: "headers" takes another version of
    AMD's, "helpful" another translation of CUDA's source. ``says`` is what it means that a result depends on this knob.
    """

    name: str
    vendor: Literal["amd", "cuda"]
    flags: tuple[str, ...]
    where: str
    wavefront: int
    variant: Variant
    says: str

    def fits(self, target: Target, flags: Sequence[str]) -> bool:
        """True if a target has this knob, and the flags of a project leave it to be turned."""
        here = target.vendor == self.vendor and self.wavefront in (0, target.wavefront)
        done = bool(self.flags) and {*self.flags} <= {*flags}
        return here and not done and (not self.where or bool(self._met(flags)))

    def turned(self, flags: Sequence[str]) -> tuple[str, ...]:
        """The flags of a project, with this knob turned."""
        if self.flags or not self.where:
            return (*flags, *self.flags)
        return tuple(filter(None, self._pattern.sub("", _BETWEEN.join(flags)).split(_BETWEEN)))

    def described(self, flags: Sequence[str]) -> str:
        """The change to the flags of a project, in the words of a command line."""
        return " ".join(self.flags or (f"without {' '.join(self._met(flags))}",))

    def _met(self, flags: Sequence[str]) -> list[str]:
        """The flags of a project that ``where`` means."""
        return [each[0].replace(_BETWEEN, " ") for each in self._pattern.finditer(_BETWEEN.join(flags))]

    @property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?:^|(?<={_BETWEEN}))(?:{self.where})(?=$|{_BETWEEN})")


def _read(path: Path) -> Iterator[CompilerOption]:
    for row in read_table(path):
        typed = {"flags": row["flags"].split(), "wavefront": int(row["wavefront"] or 0)}
        yield checked(row | typed, CompilerOption, path.name)


COMPILER_OPTIONS = tuple(_read(Path(__file__).with_name("compiler_options.csv")))
"""All knobs, those that say most about a cause first."""


def available_options(target: Target, flags: Sequence[str]) -> tuple[CompilerOption, ...]:
    """The knobs that a target has and that the flags of a project leave to be turned."""
    return tuple(knob for knob in COMPILER_OPTIONS if knob.fits(target, flags))
