"""The error of a source that does not compile, with the changes to the source, and advice: HIP's names, remedies."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from parity.compilers.diagnostics import ATTRIBUTES, Diagnostic
from parity.compilers.errors import CompileError
from parity.compilers.include import STUBS
from parity.compilers.targets import target
from parity.compilers.toolchain import chosen
from parity.model.finding import Finding
from parity.porting.cuda_names import header_rules, name_rules
from parity.porting.stubs import library_of, needed_for
from parity.porting.translation import Translation

_MISSING_NAME = re.compile(
    r"\bno (?:member|type|template) named|undeclared|unknown type|not found|is not a class|no matching"
)
_UNDECLARED = re.compile(r"undeclared identifier|^identifier .* is undefined$")
_REMOVED = re.compile(r"CUDA \d+ (?:removed|does not have)")
"""Matches advice about names that no header of a project can provide."""
_MISSING_HEADER = 'the project does not have it; name its folder: include = ["..."] in [tool.parity]'


@dataclass(frozen=True)
class Remedies:
    """Remedies in a project for names that are missing in a compilation.

    ``hints`` are advice by name or file, ``switches`` the macros that the project's build may have to define.
    """

    hints: Mapping[str, str] = field(default_factory=dict)
    switches: tuple[str, ...] = ()


class PortError(CompileError):
    """A module does not compile. The error holds the changes to the source, and gives advice."""

    def __init__(
        self,
        module: str,
        target: str,
        log: str,
        files: Collection[str] = (),
        *,
        translation: Translation | None = None,
        remedies: Remedies | None = None,
    ) -> None:
        super().__init__(module, target, log, files)
        self.translation, self.remedies = translation, remedies or Remedies()

    def preceded_by(self, log: str) -> PortError:
        """Return the same error with more lines before its log."""
        return PortError(
            self.module,
            self.target,
            f"{log}\n{self.log}",
            self.files,
            translation=self.translation,
            remedies=self.remedies,
        )

    @functools.cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The distinct errors in the log. Names that CUDA has removed come first: no header would provide them."""
        return tuple(sorted(super().findings, key=lambda each: not _REMOVED.search(each.advice)))

    def advice(self, error: Diagnostic) -> str:
        """Return advice for an error: a hint from the project, or else general advice."""
        hints = self.remedies.hints
        return hints.get(error.subject) or hints.get(error.places[0][0]) or _general_advice(error, self.target)


def _general_advice(error: Diagnostic, name: str) -> str:
    """Return advice that applies to any project and this target, or an empty string."""
    names = error.names
    if by_name := _advice_for_name(error):
        return by_name
    if "use of overloaded operator" in error.text and "HIP_vector_type" in error.text:
        return "HIP's vector types already have operators; put the program's between #ifndef __HIPCC__ and #endif"
    if "__shared__" in error.text and "cannot be 'extern'" in error.text:
        return "clang does not accept a fixed length; omit the first one: extern __shared__ float name[][32]"
    if ATTRIBUTES.search(error.text):
        return "clang requires the same __host__ and __device__ at a declaration and its definition; nvcc does not"
    if "no matching constructor" in error.text and error.host_only:
        return "its constructors are for the host; one must also be __device__"
    if not names:
        return _MISSING_HEADER if error.missing_header else ""
    if library := _host_only_stub(error):
        return f"{library} is replaced by a stub for host code; device code needs the real library"
    if any(names[0] == rule.hip for rule in (*name_rules().values(), *header_rules().values())):
        return f"{_headers(name)} do not have it; the headers of a newer ROCm may"
    if error.missing_header:
        return _MISSING_HEADER
    if _UNDECLARED.search(error.text) and names[0].isupper():
        return f'if the project is built with -D{names[0]}=..., say so: flags = ["-D{names[0]}=..."] in [tool.parity]'
    return ""


def _headers(name: str) -> str:
    """Describe the headers that the code of a target is compiled with."""
    device = target(name)
    version = chosen(device).version if device.vendor == "amd" else ()
    return f"the headers of HIP {'.'.join(map(str, version))}" if version else "parity's headers"


def _advice_for_name(error: Diagnostic) -> str:
    """Return the advice for the first quoted name in hipify's table or the list of libraries."""
    names, headers = name_rules(), header_rules()
    for name in error.names:
        rule = names.get(name) or headers.get(name)
        if rule and (rule.note or rule.hip):
            return rule.note or f"HIP has {rule.hip}"
        if (needed := needed_for(name)) and _MISSING_NAME.search(error.text):
            return needed
    return ""


def _host_only_stub(error: Diagnostic) -> str:
    """Return the library whose stub declares the called function for the host only, or an empty string."""
    if "__host__ function" in error.text or "no matching function" in error.text:
        for file in map(Path, error.host_only):
            if STUBS in file.parents and (library := library_of(file.relative_to(STUBS).as_posix())):
                return library
    return ""
