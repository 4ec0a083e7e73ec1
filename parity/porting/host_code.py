"""Host code that is left out of a module because it does not compile and no kernel needs it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from parity.compilers.diagnostics import Diagnostic, Place
from parity.compilers.lexing import WORD
from parity.model.finding import Finding
from parity.porting.kernel_templates import Instantiation
from parity.porting.source_tree import SourceEdit, blank, encode

_CONSTANT = re.compile(r"(\w+)\s*=\s*(.*)")
_ERROR = re.compile(r"#\s*error\b")
_CONDITIONALS = re.compile(rb"^([ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else|endif)\b(?:\\\r?\n|[^\r\n])*)", re.MULTILINE)


@dataclass(frozen=True)
class LeftOut:
    """Bytes ``start`` to ``end`` of a file that are not compiled, and the error that they cause.

    ``instead`` replaces them. ``function`` names the device function that is removed, or that contains a call which
    fails when it is executed; ``line`` is then the line of the error. ``is_faulty`` is true if the device function has
    an error, or uses one that has.
    """

    file: str
    line: int
    name: str
    because: str
    start: int
    end: int
    instead: str = ""
    function: str = ""
    is_faulty: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name}: {self.because}"

    @classmethod
    def of(cls, file: str, edit: SourceEdit, because: str) -> LeftOut:
        """Return the piece that an edit removes."""
        return cls(file, edit.line, edit.head, because, edit.start, edit.end, edit.replacement)

    @property
    def is_call(self) -> bool:
        """True if this is a call in ``function`` that fails when it is executed."""
        return bool(self.function) and self.instead.startswith("(")

    def is_in(self, piece: LeftOut) -> bool:
        """True if another piece of the same file contains this one."""
        return self.file == piece.file and piece.start <= self.start and self.end <= piece.end


@dataclass(frozen=True)
class HostCode:
    """The code that is left out of a module, and the replacements of absent headers.

    Attributes:
        left_out: Pieces that are not compiled.
        empty_headers: Absent headers that an empty file replaces.
        missing: The compiler's messages about these headers.
        instantiated: Kernel templates to instantiate, because the code that launched them is left out.
        implied: Lines for names that the absent headers would have provided.
        pasted: CUDA's names that macros paste together.
        stuck: Errors that the last round could not attribute to host code, with their places.
        stubbed: Real libraries that do not compile, so that their stubs are used.
    """

    left_out: tuple[LeftOut, ...] = ()
    empty_headers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    instantiated: tuple[Instantiation, ...] = ()
    implied: tuple[str, ...] = ()
    pasted: tuple[Finding, ...] = ()
    stuck: frozenset[tuple[str, Place]] = frozenset()
    stubbed: tuple[Finding, ...] = ()

    @property
    def errors(self) -> tuple[LeftOut, ...]:
        """The ``#error`` directives that are left out, because an absent header may have prevented them."""
        return tuple(piece for piece in self.left_out if _ERROR.match(piece.name))

    def blanked(self, file: str, text: str) -> str:
        """Return the text of a file without the pieces left out of it. Lines and conditionals stay."""
        data = encode(text)
        parts: list[bytes] = []
        done = 0
        for piece in sorted((each for each in self.left_out if each.file == file), key=lambda e: (e.start, -e.end)):
            if piece.start >= done:  # else it is within a larger piece
                split = _CONDITIONALS.split(data[piece.start : piece.end])
                kept = (part if i % 2 else blank(part) for i, part in enumerate(split))
                parts += [data[done : piece.start], piece.instead.encode(), *kept]
                done = piece.end
        return b"".join((*parts, data[done:])).decode("utf-8", "surrogateescape")

    def reasons_of(self, errors: Iterable[Diagnostic]) -> tuple[str, ...]:
        """Return the compiler's messages about pieces that declare names which these errors quote.

        Constants are followed: a piece may be left out because a constant that it uses is. If a declaration was first
        left out in parts, the first part has the reason.
        """
        wanted = {word for error in errors for name in error.names for word in WORD.findall(name)}
        whole = [piece for piece in self.left_out if not piece.instead]
        constants = {match[1]: match[2] for piece in whole if (match := _CONSTANT.search(piece.name))}
        while more := {w for name in wanted for w in WORD.findall(constants.get(name, "")) if w in constants} - wanted:
            wanted |= more
        found = {
            next(i for i, each in enumerate(self.left_out) if each.is_in(piece))
            for piece in whole
            if wanted & set(WORD.findall(piece.name))
        }
        first = (self.left_out[i] for i in sorted(found))
        return tuple(f"{each.file}:{each.line}:1: error: {each.because}" for each in first)

    def covers(self, file: str, edit: SourceEdit) -> bool:
        """True if the code of an edit is left out already."""
        return any(each.file == file and each.start <= edit.start and edit.end <= each.end for each in self.left_out)


@dataclass
class RepairState:
    """The progress in leaving out a module's host code, shared by targets that are built at the same time."""

    host: HostCode = HostCode()
    rounds: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
