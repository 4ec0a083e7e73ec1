"""The error of a source that does not compile, with the changes to the source and advice."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from parity.compilers.diagnostics import Diagnostic
from parity.compilers.errors import CompileError
from parity.porting.advice import general_advice
from parity.porting.translation import Translation


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

    @classmethod
    def of(
        cls, error: CompileError, *, translation: Translation | None = None, remedies: Remedies | None = None
    ) -> PortError:
        """Return a compiler's error with the changes to the source, and remedies."""
        return cls(error.module, error.target, error.log, error.files, translation=translation, remedies=remedies)

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

    def advice(self, error: Diagnostic) -> str:
        """Return advice for an error: a hint from the project, or else general advice."""
        hints = self.remedies.hints
        return hints.get(error.subject) or hints.get(error.places[0][0]) or general_advice(error)
