"""Translate kernels and put them together from compiled functions.

A kernel is one compiled function, or threaded code and the steps that it takes. The cache has an entry for every kernel
of a listing that says which functions those are. So a second run of a subset neither translates nor compiles, an edit
of one kernel concerns that kernel alone, and what kernels share is compiled once.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from parity.compilers.targets import Target
from parity.emulator.amdgpu.approximate import APPROXIMATE
from parity.emulator.amdgpu.codegen import translate
from parity.emulator.amdgpu.threaded import Threaded, thread
from parity.emulator.image import image_of
from parity.emulator.jit import SYMBOL, CompiledFunctions, runtime_version
from parity.emulator.parse import bodies_of, kernel_code
from parity.emulator.shadow import shadowed
from parity.emulator.structures import structure
from parity.errors import ResourceExhausted
from parity.model.code_object import CodeObject
from parity.model.coverage import Point, Reached
from parity.platform.cache import Cache, digest
from parity.platform.serialization import json_text, read_json

__all__ = ["Amdgpu", "Executable", "Kind", "Language", "Programs", "Traits"]

Kind = Literal["threaded", "compiled", "counted", "shadow"]
"""The ways to execute kernels: as threaded code, of which next to nothing has to be compiled; compiled, which takes
long and runs faster; compiled to count instructions as well; or as threaded code that rounds up and down. See
``thread``, ``translate`` and ``shadowed``."""

_RECIPE = "kernel.json"
_INDEX = "recipe"
_HERE = Path(__file__).parent
_COMPARES = re.compile(r"_f?cmp(?:swap|st)")
_LEVELS: Mapping[Kind, str] = {"threaded": "-O2", "compiled": "-O2", "counted": "-O1", "shadow": "-O2"}
# What may differ between two listings of the same kernel: line table with its files, comments but for alignments and
# memory of the compiler's own, and numbers counted over the file.
_NOISE = re.compile(
    r"^\t\.(?:loc|file)\t.*\n|^\s*;.*\n|^\.L(?:tmp|func_begin)\d+:.*\n|\s*;(?! align \d| private \?).*$"
    r"|(?<=\.LBB)\d+|(?<=\.Lpost_getpc)\d+",
    re.MULTILINE,
)


@functools.cache
def _version() -> str:
    """Digest of everything but the listing that decides what a translation looks like."""
    return digest(
        runtime_version(), *(p.read_bytes() for p in sorted((*_HERE.glob("*.py"), *_HERE.parent.glob("*.py"))))
    )


_Program = structure("threaded.h", "Program")


@dataclass(frozen=True)
class Traits:
    """Facts that the text of a kernel and of the functions it calls tells: whether it has barriers, compares and swaps,
    and has an instruction of which an error is documented.
    """

    barriers: bool = False
    compares: bool = False
    approximate: bool = False


@dataclass(frozen=True)
class Executable:
    """A kernel that can be launched: ``launch`` and ``symbol`` of ``library``, and what that executes if threaded.

    ``libraries`` have the functions that it consists of, ``memory`` is what ``program`` points to. ``points`` are those
    of its code that are noted when they are reached.
    """

    library: ctypes.CDLL
    symbol: str
    libraries: tuple[ctypes.CDLL, ...]
    program: ctypes.Structure | None = None
    memory: tuple[np.ndarray[Any, Any], ...] = ()
    points: tuple[Point, ...] = ()
    traits: Traits = field(default_factory=Traits)
    _numbers: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0, np.uint64))
    _notes: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0, np.int64))

    @functools.cached_property
    def blocks(self) -> int:
        """The number of points that are blocks, which come first."""
        return sum(point.is_block for point in self.points)

    def take_reached(self) -> Reached:
        """The code that was reached since the last call."""
        found = self._numbers[self._notes]
        self._numbers[self._notes] = 0
        mask = int.from_bytes(np.packbits(found.astype(np.bool_), bitorder="little").tobytes(), "little")
        return Reached.of(self.blocks, len(self.points) - self.blocks, mask)

    @property
    def address(self) -> int:
        """The address of the kernel's function."""
        return _address(self.library, self.symbol)


@dataclass(frozen=True)
class _Recipe:
    """The parts of a kernel: compiled functions, by key, and the threaded code of which they are the steps.

    ``batches`` are the entries of the cache that have the functions, ``places`` the number of the one that has each.
    """

    functions: Sequence[str]
    threaded: Threaded | None
    batches: Sequence[str] = ()
    places: Sequence[int] = ()
    traits: Traits = field(default_factory=Traits)


class Language(Protocol):
    """The language of listings: how a kernel of one is translated."""

    @property
    def version(self) -> str:
        """All that decides it beside the listing and the files of this package; empty if nothing does."""
        return ""

    def parts(self, listing: str, name: str) -> Sequence[str]:
        """The texts that decide what the translation of a kernel is."""

    def traits(self, listing: str, name: str) -> Traits:
        """The facts that its text tells."""

    def threaded(self, listing: str, name: str, target: Target, *, shadow: bool = False) -> Threaded:
        """Threaded code of a kernel; of one that rounds up and down if ``shadow``."""

    def compiled(self, listing: str, name: str, target: Target, *, fast: bool, counted: bool) -> str:
        """C++ of a kernel, a function named SYMBOL."""


class Amdgpu(Language):
    """Assembly of AMD GPUs."""

    def parts(self, listing: str, name: str) -> Sequence[str]:
        symbols, bodies = image_of(listing).places, bodies_of(listing, name)
        places = " ".join(f"{name} {at}" for name, at in symbols.items())
        used = places if any("rel32@" in body.text for body in bodies) else ""
        return used, *(_NOISE.sub("", body.text) for body in bodies)

    def traits(self, listing: str, name: str) -> Traits:
        texts = [body.text for body in bodies_of(listing, name)]
        return Traits(
            any("s_barrier" in text for text in texts),
            any(map(_COMPARES.search, texts)),
            any(map(APPROXIMATE.search, texts)),
        )

    def threaded(self, listing: str, name: str, target: Target, *, shadow: bool = False) -> Threaded:
        return thread(kernel_code(listing, name), target, image_of(listing).places, shadow=shadow)

    def compiled(self, listing: str, name: str, target: Target, *, fast: bool, counted: bool) -> str:
        code = kernel_code(listing, name)
        return translate(code, SYMBOL, target, image_of(listing).places, fast=fast, counted=counted)


class Programs:
    """The kernels of one cache, from listings in one language."""

    def __init__(self, cache: Cache, kind: Kind, language: Language) -> None:
        self._cache, self._kind, self._language = cache, kind, language
        self._functions = CompiledFunctions(cache)

    def prepare(
        self, code: CodeObject, target: Target, names: Sequence[str], *, workers: int | None = None
    ) -> Mapping[str, _Recipe]:
        """Make sure that kernels of a code object are translated and compiled.

        Raises:
            UnknownInstruction: a kernel has an instruction that the tables do not know.
            UsageError: the listing lacks a kernel or is cut off.
        """
        listing = code.listing

        def key_of(name: str) -> str:
            """The key of the recipe, kept for this very listing, in which it would have to be searched for."""
            index = digest(_version(), self._language.version, repr(target), self._kind, code.digest, name)
            if (known := self._cache.noted(index, _INDEX)) is None:
                known = digest(_version(), repr(target), self._kind, *self._language.parts(listing, name))
                with contextlib.suppress(ResourceExhausted):  # without the entry, it is searched for again
                    self._cache.note(index, _INDEX, known)
            return known

        keys = {name: key_of(name) for name in names}
        found = {name: recipe for name in names if (recipe := self._kept(keys[name]))}
        made: dict[str, _Recipe] = {}
        missing: dict[str, str] = {}
        for name in names:
            if name not in found:
                made[name], texts = self._translated(listing, name, target)
                missing |= {key: text for key, text in texts.items() if key not in self._functions}
        self._functions.compile(missing, target.wavefront, _LEVELS[self._kind], workers)
        for name, recipe in list(made.items()):
            batches = [self._functions.batch_of(key) for key in recipe.functions]
            several = list(dict.fromkeys(batches))
            traits = self._language.traits(listing, name)
            recipe = replace(recipe, batches=several, places=list(map(several.index, batches)), traits=traits)
            made[name] = recipe
            self._cache.note(keys[name], _RECIPE, json_text(recipe).decode())
        return found | made

    def kernel(self, code: CodeObject, target: Target, name: str) -> Executable:
        """One kernel, translated and compiled if need be."""
        recipe = self.prepare(code, target, [name])[name]
        functions = [self._functions.load(key) for key in recipe.functions]
        if recipe.threaded is None:
            return Executable(*functions[0], (functions[0][0],), traits=recipe.traits)
        return _linked(functions, recipe.threaded, recipe.traits)

    def _translated(self, listing: str, name: str, target: Target) -> tuple[_Recipe, dict[str, str]]:
        """The recipe of a kernel, and the texts of the functions that it takes, by key."""
        threaded = None
        if self._kind in ("threaded", "shadow"):
            shadow = self._kind == "shadow"
            threaded = self._language.threaded(listing, name, target, shadow=shadow)
            texts = [
                shadowed(step, SYMBOL) if shadow else f"{threaded.header}STEP({SYMBOL}, {step})"
                for step in threaded.steps
            ]
        else:
            fast, counted = self._kind == "compiled", self._kind == "counted"
            texts = [self._language.compiled(listing, name, target, fast=fast, counted=counted)]
        keys = [CompiledFunctions.key(text, target.wavefront, _LEVELS[self._kind]) for text in texts]
        recipe = _Recipe(keys, threaded and replace(threaded, steps=()))
        return recipe, dict(zip(keys, texts, strict=True))

    def _kept(self, key: str) -> _Recipe | None:
        """The recipe of a kernel, if all that it takes is in the cache."""
        if (text := self._cache.noted(key, _RECIPE)) is None:
            return None
        recipe = read_json(text, _Recipe, _RECIPE)
        batches = [recipe.batches[place] for place in recipe.places]
        if self._functions.find(dict(zip(recipe.functions, batches, strict=True))):
            return recipe
        self._cache.forget(key)
        return None


def _linked(functions: Sequence[tuple[ctypes.CDLL, str]], threaded: Threaded, traits: Traits) -> Executable:
    """Threaded code with the addresses of its steps and of their numbers."""
    steps = np.array([_address(*function) for function in functions], np.uint64)
    numbers = np.array([*chain.from_iterable(threaded.numbers)], np.uint64)
    starts = np.array([0, *accumulate(map(len, threaded.numbers))][:-1], np.uint64)
    code = np.column_stack([steps[list(threaded.code)], starts * numbers.itemsize + numbers.ctypes.data])
    registers, constants = np.array(threaded.registers, np.uint32), np.array(threaded.constants, np.uint64)
    program = _Program(
        code.ctypes.data,
        registers.ctypes.data,
        registers.size,
        threaded.vectors,
        constants.ctypes.data if constants.size else 0,
        threaded.shared,
    )
    libraries = tuple({id(library): library for library, _ in functions}.values())
    memory = code, numbers, registers, constants
    notes = np.array(threaded.notes, np.int64)
    return Executable(functions[0][0], "threaded", libraries, program, memory, threaded.points, traits, numbers, notes)


def _address(library: ctypes.CDLL, symbol: str) -> int:
    address = ctypes.cast(library[symbol], ctypes.c_void_p).value
    assert address is not None
    return address
