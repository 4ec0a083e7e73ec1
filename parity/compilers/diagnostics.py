"""Parses the errors and warnings of clang, gcc and nvcc."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

ATTRIBUTES = re.compile(
    r"out-of-line definition of .* does not match any declaration|__(?:host|device)__ function .* cannot overload"
    r"|no function template matches function template specialization"
)
"""Matches errors about different ``__host__`` and ``__device__`` at a declaration and its definition."""

NOT_DEFINED = "is declared for the device and not defined here"
"""The message for a function or variable that only another source of the program defines."""

CRASHED = "clang itself crashes while it makes code"
"""The beginning of the message for a crash of the compiler."""

Place = tuple[str, int, int]
"""A file, a line and a column. Lines and columns start at 1."""

# clang: FILE:LINE:COLUMN: error: TEXT; nvcc: FILE(LINE): error: TEXT, FILE(LINE): warning #NUMBER-D: TEXT
_LINE = re.compile(
    r"^(?:(?P<file>[^\s:(][^:(\n]*)(?::(?P<line>\d+):(?P<column>\d+)|\((?P<nvcc>\d+)\)): "
    r"(?P<kind>fatal error|error|note|warning)(?: #\d+(?:-D)?)?: (?P<text>.*)"
    r"|In file included from (?P<includer>[^:\n]+):(?P<at>\d+):.*)$",
    re.MULTILINE,
)
# The messages of clang, and of gcc as nvcc's preprocessor.
_NOT_FOUND = re.compile(r"'(?P<clang>[^']+)' file not found|^(?P<gcc>\S+): No such file or directory$")
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")
_PREVIOUS = (
    *("previous definition is", "previous declaration is"),
    *("member declaration nearly matches", "member declaration does not match"),
)


@dataclass(frozen=True)
class Diagnostic:
    """An error or a warning.

    Attributes:
        text: The message.
        places: The place of the error, then the places that instantiate the template it is in, the nearest first.
        included: The places that include the file of the error, the nearest first.
        host_only: Files of candidate functions that exist for the host only.
        previous: The place of the previous definition that an error mentions.
        candidates: The functions that a call may refer to.
    """

    text: str
    places: tuple[Place, ...]
    included: tuple[Place, ...] = ()
    host_only: tuple[str, ...] = ()
    previous: Place | None = None
    candidates: tuple[Place, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the message quotes."""
        return quoted(self.text)

    @property
    def subject(self) -> str:
        """The name that the error is about, or an empty string."""
        return next(iter(self.names), self.missing_header)

    @property
    def missing_header(self) -> str:
        """The header that was not found, or an empty string. A folder (``<sys/``) is not a header."""
        match = _NOT_FOUND.search(self.text)
        name = (match["clang"] or match["gcc"]) if match else ""
        return "" if name.endswith("/") else name

    def renamed(self, named: Callable[[Place], Place]) -> Diagnostic:
        """Return the error with other names of its files, or with corrected places."""
        previous = named(self.previous) if self.previous else None
        places, included, candidates = (tuple(map(named, e)) for e in (self.places, self.included, self.candidates))
        return replace(self, places=places, included=included, previous=previous, candidates=candidates)

    def place_in(self, files: Collection[str]) -> Place:
        """Return the first place of the error in one of these files, or the error's own place."""
        return next((place for place in (*self.places, *self.included) if place[0] in files), self.places[0])


def quoted(text: str) -> tuple[str, ...]:
    """Return the names that a message quotes."""
    return tuple(a or b for a, b in _QUOTED.findall(text))


def diagnostics(log: str) -> list[Diagnostic]:
    """Return the errors in a compiler's output, in order."""
    found: list[Diagnostic] = []
    stacks: dict[str, tuple[Place, ...]] = {}
    in_warning = False
    for place, kind, text, stack in _messages(log):
        # Clang prints the include stack only when it changes from one message to the next.
        if stack:
            stacks[place[0]] = stack
        in_warning = kind == "warning" or (in_warning and kind == "note")
        if in_warning:
            continue
        if "error" in kind:
            found.append(Diagnostic(text, (place,), stacks.get(place[0], ())))
        elif found and kind == "note" and "requested here" in text:
            found[-1] = replace(found[-1], places=(*found[-1].places, place))
        elif found and kind == "note" and text.startswith(_PREVIOUS):
            found[-1] = replace(found[-1], previous=place)
        elif found and kind == "note" and text == "candidate function":
            found[-1] = replace(found[-1], candidates=(*found[-1].candidates, place))
        elif found and kind == "note" and ("call to __host__ function" in text or "declared here" in text):
            last = found[-1]
            found[-1] = replace(last, host_only=(*last.host_only, place[0]), candidates=(*last.candidates, place))
    return found


def warnings(log: str) -> list[Diagnostic]:
    """Return the warnings in a compiler's output, in order."""
    return [Diagnostic(text, (place,)) for place, kind, text, _ in _messages(log) if kind == "warning"]


def _messages(log: str) -> Iterator[tuple[Place, str, str, tuple[Place, ...]]]:
    stack: list[Place] = []
    for match in _LINE.finditer(log):
        if match["includer"]:
            stack.insert(0, (match["includer"], int(match["at"]), 1))
            continue
        place = (match["file"], int(match["line"] or match["nvcc"]), int(match["column"] or 1))
        yield place, match["kind"], match["text"], tuple(stack)
        stack.clear()
