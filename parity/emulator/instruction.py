"""An instruction of a listing, and the errors that its translation raises."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction as printed, for example ``v_add_f32_e64 v0, |v1|, s2 clamp``.

    Attributes:
        line: its line in the listing, from 1.
        source: the ``file:line`` that it was compiled from, if the listing states it.
        header: the place in a header of HIP or C++, if code of the header was inlined into the source.
        paired: the second half of a dual-issue pair.
        align: the alignment, in bytes, that the source's type promises for the address.
        array: the private array that it accesses and its type, for example ``s float[8]``; empty for memory that only
            the compiler uses, ``None`` if unknown.
    """

    text: str
    mnemonic: str
    operands: tuple[str, ...]
    modifiers: tuple[str, ...]
    line: int
    source: str | None
    paired: Instruction | None = None
    header: str | None = None
    align: int = 1
    array: str | None = None

    @property
    def base(self) -> str:
        """The first word of the mnemonic: ``add`` for ``add.rn.f32``."""
        return self.mnemonic.partition(".")[0]


class Unknown(Exception):
    """A part of an instruction is not in the emulator's tables; the message names the part."""


class MissingFeature(Unknown):
    """The kernel uses a feature that the emulator lacks; the message is the name that the source has for it."""
