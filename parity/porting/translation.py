"""The record of a source's changes before its compilation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parity.model.finding import Finding
from parity.porting.host_code import LeftOut


@dataclass(frozen=True)
class Translation:
    """The changes to the source of a module before it was compiled.

    Attributes:
        ported: The sources were HIP already.
        replaced: How often each CUDA name was translated.
        unmapped: Names that hipify could not translate.
        hazards: Code that hipify translated or kept, and that means something different on AMD GPUs.
        branches: The effect on AMD of conditions on CUDA's macros.
        spelled_out: Lines that the helpful style translates differently from the literal style.
        left_out: Host code that was removed because it does not compile here.
        empty_headers: Missing headers that empty headers replace.
        stubs: Missing headers that stubs replace, see ``stubs.py``.
        around: Folders of the project that have included headers although no setting names these folders.
        made: Headers that the project's build generates, each with its template and the switches that are on.
        needs: Names that parity's compatibility headers supply.
        defects: Names whose function in AMD's headers is known to be wrong.
        implied: Lines that replace declarations of missing headers.
        libraries: Real libraries that were used instead of stubs, with their folders.
        stubbed: Real libraries whose headers do not compile for the device, so that their stubs were used.
    """

    ported: bool = False
    replaced: Mapping[str, int] | None = None
    unmapped: tuple[Finding, ...] = ()
    hazards: tuple[Finding, ...] = ()
    branches: tuple[Finding, ...] = ()
    spelled_out: tuple[Finding, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    empty_headers: tuple[str, ...] = ()
    stubs: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    made: tuple[Finding, ...] = ()
    needs: tuple[Finding, ...] = ()
    defects: tuple[Finding, ...] = ()
    implied: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    stubbed: tuple[Finding, ...] = ()

    @property
    def faulty(self) -> tuple[Finding, ...]:
        """The errors in device functions that are left out so that the rest of the source compiles."""
        return tuple(
            Finding(each.function, each.file, each.line, 1, each.because) for each in self.left_out if each.is_faulty
        )
