"""Errors of the compilers: a source, or a code object, that cannot be used for a target."""

from __future__ import annotations

import functools
from collections.abc import Collection
from pathlib import Path

from parity.compilers.diagnostics import NOT_DEFINED, Diagnostic, diagnostics
from parity.errors import ParityError
from parity.model.finding import Finding


class CompileError(ParityError):
    """A module does not compile for a target. The message contains the compiler's log.

    ``files`` are the user's files, as paths that the log uses.
    """

    _message = "module {module!r} does not compile for {target}:\n{log}"

    def __init__(self, module: str, target: str, log: str, files: Collection[str] = ()) -> None:
        super().__init__(self._message.format(module=module, target=target, log=log.strip()))
        self.module, self.target, self.log, self.files = module, target, log, files

    @functools.cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The distinct errors in the log, each with the name that it is about.

        An error in a header that is not one of ``files`` is placed where a user's file leads to it.
        """
        return tuple(dict.fromkeys(map(self._finding, diagnostics(self.log))))

    @property
    def first(self) -> str:
        """The first line of the first error, or of the message if no error has a place."""
        return (self.findings[0].advice if self.findings else str(self)).partition("\n")[0]

    def advice(self, error: Diagnostic) -> str:
        """Return what to do about an error of the log. The compilers themselves give no advice."""
        return ""

    def _finding(self, error: Diagnostic) -> Finding:
        place = error.place_in(self.files)
        where = "" if place == error.places[0] else f" (in {Path(error.places[0][0]).name})"
        advice = self.advice(error)
        return Finding(error.subject, *place, f"{error.text}{where}{f'; {advice}' if advice else ''}")


class UnusableCodeObject(CompileError):
    """A code object was given instead of a source, and cannot be used for a target."""

    _message = "the code object of module {module!r} cannot be used for {target}: {log}"


class NoSource(CompileError):
    """A module has no source for the vendor of a target. The message names the file that is missing."""

    _message = "module {module!r} cannot be built for {target}: {log}"


def undefined_error(place: str, name: str) -> str:
    """Return the log line for a device function or variable that the source declares and does not define."""
    advice = "nvcc links several files (-rdc=true), but parity compiles one: #include the file that defines it"
    return f"{place}: error: '{name}' {NOT_DEFINED}; {advice}"


def undefined_names(error: CompileError) -> tuple[str, ...]:
    """Return the functions and variables that are defined nowhere according to an error."""
    return tuple(each.subject.partition("(")[0] for each in diagnostics(error.log) if NOT_DEFINED in each.text)
