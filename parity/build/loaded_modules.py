"""Loads code objects on a device once, and looks up their functions by name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from parity.errors import UsageError, nearest
from parity.model.code_object import CodeObject, source_name, unqualified

HandleT = TypeVar("HandleT")
FunctionT = TypeVar("FunctionT")

_SHOWN_KERNELS = 8
"""Kernels that the message about a missing one lists."""


class MissingKernel(UsageError):
    """A code object does not have a kernel of this name."""

    def __init__(self, name: str, code: CodeObject) -> None:
        names = [source_name(symbol) for symbol in code.kernels]
        hint = nearest(name, names) or f"; it has {', '.join(names[:_SHOWN_KERNELS]) or 'no kernels'}"
        if reason := code.refused.get(unqualified(name)):
            hint = f", which is left out: {reason}"
        super().__init__(f"{code.module} has no {name}{hint}")
        self.name, self.module, self.target = name, code.module, code.target


class LoadedModules(Generic[HandleT, FunctionT]):
    """The code objects that are loaded on a device. Threads can share it.

    Args:
        load: Puts a code object on the device and returns the device's handle.
        find: Returns the function of a name in a loaded module.

    Attributes:
        loads: Number of calls of ``load``.
        lookups: Number of requests for a function.
    """

    def __init__(self, load: Callable[[CodeObject], HandleT], find: Callable[[HandleT, str], FunctionT]) -> None:
        self._load, self._find = load, find
        self._handles: dict[str, HandleT] = {}
        self._functions: dict[tuple[str, str], FunctionT] = {}
        self._lock = threading.Lock()
        self.loads = 0
        self.lookups = 0

    def function(self, code: CodeObject, name: str) -> FunctionT:
        """Return the function of a kernel. The first request loads the code object.

        Raises:
            MissingKernel: the code object has no such kernel; nothing is loaded.
        """
        with self._lock:
            self.lookups += 1
            key = code.digest, name
            if key not in self._functions:
                if name not in code.kernels:
                    raise MissingKernel(name, code)
                if code.digest not in self._handles:
                    self._handles[code.digest] = self._load(code)
                    self.loads += 1
                self._functions[key] = self._find(self._handles[code.digest], name)
            return self._functions[key]

    def handle(self, code: CodeObject) -> HandleT:
        """Return the handle of a loaded code object."""
        return self._handles[code.digest]

    def __len__(self) -> int:
        return len(self._handles)
