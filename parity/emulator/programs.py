"""Translate kernels and assemble them from compiled functions.

A kernel is one compiled function, or threaded code and the functions of its steps. For each kernel of a listing, the
cache has a recipe that names these functions. So a second run neither translates nor compiles, an edit affects only the
edited kernel, and steps that kernels share are compiled once.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from parity.compilers.targets import Target
from parity.emulator.jit import CompiledFunctions, runtime_version
from parity.emulator.language import Language, Traits
from parity.emulator.runtime_headers import structure
from parity.emulator.threaded_code import ThreadedCode
from parity.errors import ResourceExhausted
from parity.model.code_object import CodeObject
from parity.model.coverage import Point, Reached
from parity.platform.cache import Cache, digest
from parity.platform.files import find_below
from parity.platform.serialization import json_text, read_json

Kind = Literal["threaded", "compiled", "counted", "shadow"]
"""The ways to execute kernels: as threaded code, which is quick to compile; compiled, which is slow to compile and fast
to execute; compiled and counting instructions; or as the threaded code of shadow runs, which rounds up and down."""

_HERE = Path(__file__).parent
_LEVELS: Mapping[Kind, str] = {"threaded": "-O2", "compiled": "-O2", "counted": "-O1", "shadow": "-O2"}


@functools.cache
def _version() -> str:
    """A digest of the emulator's code and tables, which affect the translation of kernels."""
    return digest(runtime_version(), *(path.read_bytes() for path in sorted(find_below(_HERE, ".py", ".csv"))))


_Program = structure("threaded.h", "Program")


@dataclass(frozen=True)
class Executable:
    """A kernel that can be launched.

    Attributes:
        library: the library with its function ``symbol`` and with ``launch``.
        libraries: all libraries with functions of the kernel.
        program: the threaded code, if it is threaded.
        memory: the arrays that ``program`` points to.
        points: the coverage points that it records.
    """

    library: ctypes.CDLL
    symbol: str
    libraries: tuple[ctypes.CDLL, ...]
    program: ctypes.Structure | None = None
    memory: tuple[np.ndarray[Any, Any], ...] = ()
    points: tuple[Point, ...] = ()
    traits: Traits = field(default_factory=Traits)
    _numbers: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0, np.uint64))
    _flags: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0, np.int64))

    @functools.cached_property
    def blocks(self) -> int:
        """The number of points that are blocks; these come first."""
        return sum(point.is_block for point in self.points)

    def take_reached(self) -> Reached:
        """Return the points that were reached since the last call."""
        found = self._numbers[self._flags]
        self._numbers[self._flags] = 0
        mask = int.from_bytes(np.packbits(found.astype(np.bool_), bitorder="little").tobytes(), "little")
        return Reached.of(self.blocks, len(self.points) - self.blocks, mask)

    @functools.cached_property
    def address(self) -> int:
        """The address of the kernel's function."""
        return _address(self.library, self.symbol)


@dataclass(frozen=True)
class _Recipe:
    """The parts of a kernel.

    Attributes:
        functions: the keys of compiled functions.
        threaded: the threaded code whose steps these functions are.
        batches: the cache entries that hold the functions.
        places: for each function, the index of its batch.
    """

    functions: Sequence[str]
    threaded: ThreadedCode | None
    batches: Sequence[str] = ()
    places: Sequence[int] = ()
    traits: Traits = field(default_factory=Traits)


class Programs:
    """Translates and compiles the kernels of listings in one language, with a cache."""

    def __init__(self, cache: Cache, kind: Kind, language: Language) -> None:
        self._cache, self._kind, self._language = cache, kind, language
        self._functions = CompiledFunctions(cache)

    def prepare(
        self, code: CodeObject, target: Target, names: Sequence[str], *, workers: int | None = None
    ) -> Mapping[str, _Recipe]:
        """Translate and compile the kernels of a code object that are not in the cache.

        Raises:
            UnknownInstruction: the tables lack an instruction of a kernel.
            UsageError: the listing lacks a kernel or is cut off.
        """
        listing = code.listing

        def key_of(name: str) -> str:
            """The key of the recipe. Cached by listing, because computing it requires a search in the listing."""
            index = digest(_version(), repr(target), self._kind, code.digest, name)
            if (known := self._cache.noted(index)) is None:
                known = digest(_version(), repr(target), self._kind, *self._language.parts(listing, name))
                with contextlib.suppress(ResourceExhausted):  # the next run computes it again
                    self._cache.note(index, known)
            return known

        keys = {name: key_of(name) for name in names}
        found = {name: recipe for name in names if (recipe := self._kept(keys[name]))}
        translated: dict[str, _Recipe] = {}
        missing: dict[str, str] = {}
        for name in names:
            if name not in found:
                translated[name], texts = self._translated(listing, name, target)
                missing |= {key: text for key, text in texts.items() if key not in self._functions}
        self._functions.compile(missing, target.wavefront, _LEVELS[self._kind], workers)
        for name, recipe in list(translated.items()):
            batches = [self._functions.batch_of(key) for key in recipe.functions]
            several = list(dict.fromkeys(batches))
            recipe = replace(recipe, batches=several, places=list(map(several.index, batches)))
            translated[name] = recipe
            self._cache.note(keys[name], json_text(recipe).decode())
        return found | translated

    def kernel(self, code: CodeObject, target: Target, name: str) -> Executable:
        """Return a kernel; translates and compiles it if it is not in the cache."""
        recipe = self.prepare(code, target, [name])[name]
        functions = [self._functions.load(key) for key in recipe.functions]
        if recipe.threaded is None:
            return Executable(*functions[0], (functions[0][0],), traits=recipe.traits)
        return _linked(functions, recipe.threaded, recipe.traits)

    def _translated(self, listing: str, name: str, target: Target) -> tuple[_Recipe, dict[str, str]]:
        """The recipe of a kernel, and the texts of its functions by key."""
        threaded = None
        if self._kind in ("threaded", "shadow"):
            shadow = self._kind == "shadow"
            threaded = self._language.threaded(listing, name, target, shadow=shadow)
            texts = [self._language.step_function(step, shadow=shadow) for step in threaded.steps]
        else:
            fast, counted = self._kind == "compiled", self._kind == "counted"
            texts = [self._language.compiled(listing, name, target, fast=fast, counted=counted)]
        keys = [CompiledFunctions.key(text, target.wavefront, _LEVELS[self._kind]) for text in texts]
        # Here, because the parsed kernel is still in memory.
        traits = self._language.traits(listing, name)
        recipe = _Recipe(keys, threaded and replace(threaded, steps=()), traits=traits)
        return recipe, dict(zip(keys, texts, strict=True))

    def _kept(self, key: str) -> _Recipe | None:
        """The recipe of a kernel, if the cache has all of its functions."""
        if (text := self._cache.noted(key)) is None:
            return None
        recipe = read_json(text, _Recipe, "the recipe of a kernel")
        batches = [recipe.batches[place] for place in recipe.places]
        if self._functions.find(dict(zip(recipe.functions, batches, strict=True))):
            return recipe
        self._cache.forget(key)
        return None


def _linked(functions: Sequence[tuple[ctypes.CDLL, str]], threaded: ThreadedCode, traits: Traits) -> Executable:
    """Fill the addresses of the steps and of their numbers into threaded code."""
    steps = np.array([_address(*function) for function in functions], np.uint64)
    numbers = np.array([*chain.from_iterable(threaded.numbers)], np.uint64)
    starts = np.array([0, *accumulate(map(len, threaded.numbers))][:-1], np.uint64)
    code = np.column_stack([steps[list(threaded.code)], starts * numbers.itemsize + numbers.ctypes.data])
    registers, constants = np.array(threaded.registers, np.uint32), np.array(threaded.constants, np.uint64)
    program = _Program(
        code=code.ctypes.data,
        registers=registers.ctypes.data,
        count=registers.size,
        vectors=threaded.vectors,
        constants=constants.ctypes.data if constants.size else 0,
        shared=threaded.shared,
    )
    libraries = tuple({id(library): library for library, _ in functions}.values())
    memory = code, numbers, registers, constants
    flags = np.array(threaded.flags, np.int64)
    return Executable(functions[0][0], "threaded", libraries, program, memory, threaded.points, traits, numbers, flags)


def _address(library: ctypes.CDLL, symbol: str) -> int:
    address = ctypes.cast(library[symbol], ctypes.c_void_p).value
    assert address is not None
    return address
