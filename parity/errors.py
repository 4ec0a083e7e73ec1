"""Errors that a user can act on, and helpers for their messages.

A message names what is wrong, the value, the place, and what to do. The command line prints only the message and exits
with ``exit_code``. A traceback means a defect in parity itself.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

SYSTEM_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN)
"""Errors of a system that lacks space, memory, files or processes. Other input would not avoid them."""

_DIGITS = 18
"""Most digits of a number. Every number with 18 digits fits into 64 bits."""


class ParityError(Exception):
    """Base class of all errors with a message for the user."""

    exit_code = 2


class UsageError(ParityError):
    """Wrong usage or configuration, such as an unknown name, a malformed case or an impossible option."""


class NotAvailable(ParityError):
    """Something that the user requested by name cannot work on this machine, or nothing was run."""

    exit_code = 3


class ResourceExhausted(NotAvailable):
    """The system lacks space, memory or write permission. This does not say anything about a kernel."""


class DeviceLost(NotAvailable):
    """A device cannot be opened, or no longer responds. Another machine may have one."""


class Unreferenced(UsageError):
    """A reference raised an error, so there are no expected values."""


class MissingTool(NotAvailable):
    """A tool is missing. The message says where parity looked for it and how to install it."""

    def __init__(self, tool: str, looked: str, install: str) -> None:
        super().__init__(f"{tool} not found (looked for {looked}); install it with: {install}")
        self.tool, self.looked, self.install = tool, looked, install


class Unsupported(ParityError):
    """A runner does not support something that a case needs. This is not a failure."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean a, b?"`` for an unknown name, or an empty string."""
    import difflib  # only needed for errors

    close = difflib.get_close_matches(word, list(dict.fromkeys(known)), n=3, cutoff=0.5)
    return f"; did you mean {', '.join(close)}?" if close else ""


def pluralize(number: int, noun: str) -> str:
    """Return a number with its noun: "1 case", "2,000 cases"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def first_names(names: Sequence[str], most: int, between: str = " ") -> str:
    """Join the first names, and count the rest: "a b c and 5 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def parse_natural(text: str, what: str) -> int:
    """Parse a number that consists of digits only. ``what`` names it in errors.

    Raises:
        UsageError: the text is not such a number, or has more than 18 digits.
    """
    if not re.fullmatch("[0-9]+", text):
        raise UsageError(f"{what} is {text[:40]!r}; it must be a number in digits")
    if len(text.lstrip("0")) > _DIGITS:
        raise UsageError(f"{what} has {len(text)} digits; the limit is {_DIGITS}")
    return int(text)


def describe_os_error(error: OSError) -> str:
    """Return the message for an operation that the system refuses."""
    where = f" {error.filename}" if isinstance(error.filename, str | Path) else ""
    return f"the system refuses{where}: {error.strerror or error}"


def display_path(path: Path | str) -> str:
    """Return a path for messages: relative to the working folder if it is inside it, else absolute."""
    absolute = os.path.normpath(Path(path).absolute())
    return os.path.relpath(path) if Path(absolute).is_relative_to(Path.cwd()) else absolute
