"""The result of building one module for one target."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.errors import CompileError
from parity.model.code_object import CodeObject
from parity.model.finding import Finding
from parity.porting import Switch, Translation


@dataclass(frozen=True)
class Built:
    """A code object, or the error that prevented it.

    Attributes:
        module: Name of the module.
        target: Name of the target.
        seconds: How long this build took. A result from the cache took almost no time.
        cached: True if the result comes from the cache.
        code_object: The code object, unless there is an error.
        error: The error, unless there is a code object.
        hip: The HIP source that was compiled. None for a CUDA target.
        translation: The changes to the source. None for a CUDA target whose source was compiled unchanged.
        switches: Flags from the project's build files without which the module does not compile.
        part_of: The source that was built instead, because it includes this one, which does not compile alone.
        guessed: True if the kernels are templates whose arguments no source names.
        behind: Macros that a build has to define before the module has any kernels.
        files: The source and all files that it may include, except the headers of compilers and libraries.
    """

    module: str
    target: str
    seconds: float
    cached: bool = False
    code_object: CodeObject | None = None
    error: CompileError | None = None
    hip: Path | None = None
    translation: Translation | None = None
    switches: tuple[Switch, ...] = ()
    part_of: Path | None = None
    guessed: bool = False
    behind: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the kernels."""
        return tuple(self.code_object.kernels) if self.code_object else ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The compiler's errors."""
        return self.error.findings if self.error else ()

    @property
    def first_finding(self) -> str:
        """The place and the text of the first error, after a colon; empty without an error that has a place."""
        return next((f": {os.path.relpath(e.file)}:{e.line}: {e.advice}" for e in self.findings), "")

    @property
    def changes(self) -> Translation:
        """The changes to the source, and what they found; empty without a translation."""
        return self.translation or Translation()

    def most(self, resource: str) -> int:
        """Return the maximum of a resource over all kernels, such as ``vgprs`` or ``lds_bytes``."""
        kernels = self.code_object.kernels.values() if self.code_object else ()
        return max((int(getattr(kernel, resource)) for kernel in kernels), default=0)
