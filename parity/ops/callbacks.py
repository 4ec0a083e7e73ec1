"""Calls the functions of a declaration, and names the declaration in errors."""

from __future__ import annotations

import functools
import inspect
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from parity.dsl.shapes import ShapeMismatch
from parity.errors import ParityError, UsageError
from parity.platform.time_limit import TimeLimitExceeded, time_limit
from parity.platform.version import PACKAGE


class CallbackError(UsageError):
    """A function of a declaration raised an exception."""


_endless: dict[tuple[OpOrigin, str], str] = {}
"""The message about each function that exceeded the time limit. It is not called again: other cases would wait too."""


@dataclass(frozen=True)
class OpOrigin:
    """Where an op is declared (``file:line``), and its name."""

    place: str
    op: str

    def error(self, message: str) -> UsageError:
        """Return an error that names the op and its place."""
        return UsageError(self._located(message))

    @contextmanager
    def naming(self, field: str) -> Iterator[None]:
        """Add op, place and field to errors of an expression; a ``ShapeMismatch`` concerns the case and passes."""
        try:
            yield
        except ShapeMismatch:
            raise
        except UsageError as error:
            if str(error).startswith(self._located("")):
                raise
            raise self.error(f"{field}: {error}") from None

    def call(self, field: str, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Call a function of the declaration. The function cannot end the process, or run forever.

        Raises:
            CallbackError: the function raised something other than a ``ParityError`` or ``MemoryError``.
        """
        if endless := _endless.get((self, field)):
            raise CallbackError(endless)
        try:
            with time_limit():
                return function(*arguments, **keywords)
        except (ParityError, MemoryError):
            raise
        except TimeLimitExceeded as error:
            message = _endless[self, field] = self._located(f"{field}{_place(error)} {error}")
            raise CallbackError(message) from error
        except BaseException as error:
            if type(error).__module__.startswith("hypothesis."):
                raise
            # Workers ignore Ctrl-C, so a KeyboardInterrupt there comes from the function itself.
            if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
                raise
            hint = "" if isinstance(error, Exception) else "; it cannot end the process here, raise another exception"
            message = f"{field} raised {type(error).__name__}: {error}{_place(error)}{hint}"
            raise CallbackError(self._located(message)) from error

    def _located(self, message: str) -> str:
        return f"{self.place}: op {self.op}: {message}"


def accepted(function: Callable[..., Any], **offered: Any) -> dict[str, Any]:
    """Return the offered keyword arguments that the function has a parameter for."""
    names = (_parameters if isinstance(function, FunctionType) else _parameters.__wrapped__)(function)
    return {name: value for name, value in offered.items() if name in names}


@functools.cache
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(function).parameters)
    except ValueError:  # a C function without a signature
        return frozenset()


def _place(error: BaseException) -> str:
    """The innermost frame outside parity, NumPy and frozen modules of Python (``exit``), as `` (file:line)``."""
    own = ("<frozen ", *(str(folder) + os.sep for folder in (PACKAGE, Path(np.__file__).parent)))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(own)]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
