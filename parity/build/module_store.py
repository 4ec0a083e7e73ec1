"""Loaded code objects of one device: each is loaded once, its functions are looked up by name afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from parity.errors import UsageError, nearest
from parity.model.code_object import CodeObject, name_of, unqualified

__all__ = ["MissingKernel", "ModuleStore"]

HandleT = TypeVar("HandleT")
FunctionT = TypeVar("FunctionT")

KERNELS_NAMED = 8
"""Kernels of a code object that are named where another one was looked for."""


class MissingKernel(UsageError):
    """A code object has no kernel of that name."""

    def __init__(self, name: str, code: CodeObject) -> None:
        names = [name_of(symbol) for symbol in code.kernels]
        hint = nearest(name, names) or f"; it has {', '.join(names[:KERNELS_NAMED]) or 'no kernels'}"
        if why := code.refused.get(unqualified(name)):
            hint = f", which is left out: {why}"
        super().__init__(f"{code.module} has no {name}{hint}")
        self.name, self.module, self.target = name, code.module, code.target


class ModuleStore(Generic[HandleT, FunctionT]):
    """The modules of one device.

    ``load`` puts a code object on the device and returns the device's handle of it; ``find`` returns the function of
    that name in a loaded module. ``loads`` counts calls of ``load``, ``lookups`` requests for a function. Safe to share
    between threads.
    """

    def __init__(self, load: Callable[[CodeObject], HandleT], find: Callable[[HandleT, str], FunctionT]) -> None:
        self._load, self._find = load, find
        self._handles: dict[str, HandleT] = {}
        self._functions: dict[tuple[str, str], FunctionT] = {}
        self._lock = threading.Lock()
        self.loads = 0
        self.lookups = 0

    def function(self, code: CodeObject, name: str) -> FunctionT:
        """The function of a kernel; loads the code object if this is the first request for it.

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
        """The handle of a code object of which a function was asked for before."""
        return self._handles[code.digest]

    def __len__(self) -> int:
        return len(self._handles)
