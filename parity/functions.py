"""Calling functions of a declaration: with what they name, and so that none of them ends the process."""

from __future__ import annotations

import functools
import inspect
import signal
import traceback
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from parity.errors import UsageError

__all__ = ["Ended", "guard", "wanted"]


class Ended(Exception):
    """A reference would have ended the process."""


def guard(declared: Any) -> None:
    """Make ``sys.exit`` in the functions of a frozen dataclass, its fields and mappings there, an exception.

    That is ``Ended`` in the reference, which is then one that raises, and else a UsageError.
    """
    for each in fields(declared):
        value = getattr(declared, each.name)
        kind = Ended if each.name == "reference" else UsageError
        if isinstance(value, Mapping) and any(map(callable, value.values())):
            guarded: Any = {name: _guarded(of, kind) for name, of in value.items()}
        else:
            guarded = _guarded(value, kind)
        if guarded is not value:
            object.__setattr__(declared, each.name, guarded)


def _guarded(value: Any, kind: type[Exception]) -> Any:
    if not callable(value):
        return value

    @functools.wraps(value)
    def call(*args: Any, **more: Any) -> Any:
        try:
            return value(*args, **more)
        except (SystemExit, KeyboardInterrupt) as error:
            # Where Ctrl-C is ignored, as in a worker, nobody has pressed it.
            if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
                raise
            raise kind(
                f"{_place(error)}: {type(error).__name__} in a declaration ends nothing; raise another exception"
            ) from error

    return call


def wanted(function: Callable[..., Any], **offered: Any) -> dict[str, Any]:
    """Those of the offered arguments that the function names."""
    try:
        names = inspect.signature(function).parameters
    except ValueError:  # a function of C that does not say
        return {}
    return {name: value for name, value in offered.items() if name in names}


def _place(error: BaseException) -> str:
    """File and line, in the file of the function that was called."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == frames[min(1, len(frames) - 1)].filename]
    return f"{own[-1].filename}:{own[-1].lineno}"
