"""Errors that a user can act on.

Every error says what was wrong, with which value, where, and what to do. The command line prints the message
alone and leaves with ``exit_code``; a traceback is only ever shown for a defect of parity itself.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = [
    "SYSTEM_ERRORS",
    "DeviceLost",
    "MissingTool",
    "NotAvailable",
    "ParityError",
    "ResourceExhausted",
    "Unreferenced",
    "Unsupported",
    "UsageError",
    "describe_os_error",
    "display_path",
    "first_names",
    "nearest",
    "parse_natural",
    "pluralize",
]

SYSTEM_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN)
"""Errors of a system that lacks space, memory, files or processes: no other input of the user would avoid them."""

_DIGITS = 18
"""Digits of the largest number: every such number fits into 64 bits."""


class ParityError(Exception):
    """Base of all errors with a message for the user."""

    exit_code = 2


class UsageError(ParityError):
    """Wrong usage or configuration: an unknown name, a malformed case, an impossible option."""


class NotAvailable(ParityError):
    """Something that was asked for by name cannot work on this machine, or nothing was run."""

    exit_code = 3


class ResourceExhausted(NotAvailable):
    """The system lacks space, memory, or permission to write: a failure that says nothing about a kernel."""


class DeviceLost(NotAvailable):
    """A device cannot be opened, or not any more; another machine may have one."""


class Unreferenced(UsageError):
    """A reference raised an error, so that there are no expected values."""


class MissingTool(NotAvailable):
    """A tool was looked for and not found; the message names it, where it was looked for, and how to install it."""

    def __init__(self, tool: str, looked: str, install: str) -> None:
        super().__init__(f"{tool} not found (looked for {looked}); install it with: {install}")
        self.tool, self.looked, self.install = tool, looked, install


class Unsupported(ParityError):
    """A runner does not support what a case asks for; the message says what. It is not a failure."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A ``"; did you mean a, b?"`` tail for an unknown name, or an empty string."""
    import difflib  # for whoever has mistyped a name

    close = difflib.get_close_matches(word, list(dict.fromkeys(known)), n=3, cutoff=0.5)
    return f"; did you mean {', '.join(close)}?" if close else ""


def pluralize(number: int, noun: str) -> str:
    """A number of things in words: "1 case", "2 cases"."""
    return f"{number} {noun}{'s' * (number != 1)}"


def first_names(names: Sequence[str], most: int, between: str = " ") -> str:
    """The first of some names, and the number of the others: "a b c and 5 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def parse_natural(text: str, what: str) -> int:
    """The number that a text is, in digits alone.

    Raises:
        UsageError: it is none, or more than any memory has bytes.
    """
    if not re.fullmatch("[0-9]+", text):
        raise UsageError(f"{what} is {text[:40]!r}, and has to be a number in digits")
    if len(text.lstrip("0")) > _DIGITS:
        raise UsageError(f"{what} has {len(text)} digits; no number of more than {_DIGITS} can be used")
    return int(text)


def describe_os_error(error: OSError) -> str:
    """The error message for an operation that the system refuses."""
    where = f" {error.filename}" if isinstance(error.filename, str | Path) else ""
    return f"the system refuses{where}: {error.strerror or error}"


def display_path(path: Path | str) -> str:
    """A path as messages show it: from the working folder, if it is below that."""
    return os.path.relpath(path) if Path(path).is_relative_to(Path.cwd()) else str(path)
