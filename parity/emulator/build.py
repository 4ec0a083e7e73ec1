"""Translate kernels, compile them in batches with the host compiler, and load what was compiled.

One cache entry per batch holds a shared object; a tiny entry names the batch of every translation, and another one the
batch of every kernel of a listing. So a second run of a subset compiles nothing, an edit of one kernel compiles that
kernel alone, and kernels whose translations are equal are compiled once.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

from parity import zig
from parity.cache import Cache, digest
from parity.emulator.codegen import translate
from parity.emulator.image import image_of
from parity.emulator.parse import bodies_of, function_of
from parity.errors import NotAvailable, ParityError
from parity.toolchain.targets import Target

__all__ = ["Program", "host_features", "prepare"]

_HERE = Path(__file__).parent
_BATCH_BYTES = 200_000
_SYMBOL = "THE_KERNEL"
_FLAGS = [
    "-x",
    "c++",
    "-std=c++20",
    "-fPIC",
    "-ffreestanding",
    "-nostdinc",
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-Xclang",
    "-ffloat16-excess-precision=none",
    "-fno-strict-aliasing",
    "-fno-asynchronous-unwind-tables",
    "-Xclang",
    "-disable-lifetime-markers",
    "-Wno-psabi",
    "-w",
]
# What may differ between two listings of the same kernel: line table, comments, and numbers counted over the file.
_NOISE = re.compile(r"^\t\.loc\t.*\n|^\s*;.*\n|^\.L(?:tmp|func_begin)\d+:.*\n|\s*;.*$|(?<=\.LBB)\d+", re.MULTILINE)


@functools.cache
def host_features() -> str:
    """The compiler's name for this processor, which is part of every cache key.

    Raises:
        NotAvailable: the processor lacks fused multiply-add, or is of another architecture.
    """
    machine = platform.machine()
    if machine in ("aarch64", "arm64"):
        return "aarch64"
    if machine not in ("x86_64", "AMD64"):
        raise NotAvailable(f"the emulator runs on x86-64 and aarch64 Linux, not on {machine}")
    found = zig.run(["clang", "-march=native", "-dM", "-E", "-x", "c", os.devnull]).stdout
    names = set(re.findall(r"^#define __(\w+)__ 1$", found, re.MULTILINE))
    if missing := {"FMA", "AVX2", "F16C"} - names:
        raise NotAvailable(
            f"the emulator needs a processor with {', '.join(sorted(missing))} (x86-64-v3, 2013 or later)"
        )
    return " ".join(sorted(names))


def _machine_flags() -> list[str]:
    return [] if host_features() == "aarch64" else ["-march=native", "-mprefer-vector-width=512"]


@functools.cache
def _runtime_version() -> str:
    """Digest of everything but the translation that decides what is compiled from it."""
    return digest(*(p.read_bytes() for p in sorted(_HERE.glob("runtime/*"))), zig.version(), host_features(), *_FLAGS)


@functools.cache
def _version() -> str:
    """Digest of everything but the listing that decides what a translation looks like."""
    return digest(_runtime_version(), *(p.read_bytes() for p in sorted(_HERE.glob("*.py"))))


class Program:
    """The loaded kernels of one cache. Shared objects are loaded when a kernel of theirs is first asked for."""

    def __init__(self, cache: Cache, fast: bool, counted: bool = False) -> None:
        self._cache, self._fast, self._counted = cache, fast, counted
        self._libraries: dict[str, ctypes.CDLL] = {}

    def kernel(self, listing: str, target: Target, name: str) -> tuple[ctypes.CDLL, str]:
        """The library with ``launch`` and the symbol of one kernel in it, translated and compiled if need be."""
        places = prepare(self._cache, listing, target, [name], fast=self._fast, counted=self._counted)
        batch, symbol = places[name]
        if batch not in self._libraries:
            folder, _ = self._cache.get(batch, _missing)
            self._libraries[batch] = ctypes.CDLL(str(folder / "kernels.so"))
        return self._libraries[batch], symbol


def prepare(
    cache: Cache,
    listing: str,
    target: Target,
    names: Sequence[str],
    *,
    fast: bool,
    counted: bool = False,
    workers: int | None = None,
) -> Mapping[str, tuple[str, str]]:
    """Make sure that kernels of a listing are compiled; returns the batch and the symbol of each.

    ``fast`` code takes more than twice as long to compile; for this and ``counted`` see ``translate``.

    Raises:
        UnknownInstruction: a kernel has an instruction that the tables do not know.
        UsageError: the listing lacks a kernel or is cut off.
    """
    symbols = image_of(listing).symbols
    places = " ".join(f"{name} {at}" for name, at in symbols.items())

    def key_of(name: str) -> str:
        bodies = bodies_of(listing, name)
        used = places if any("@rel32" in body.text for body in bodies) else ""
        kind = "counted" if counted else str(fast)
        return digest(_version(), target.name, kind, used, *(_NOISE.sub("", body.text) for body in bodies))

    level = "-O2" if fast else "-O1"
    listed = {name: key_of(name) for name in names}
    found = {name: place for name in names if (place := _place_of(cache, listed[name]))}
    waiting: dict[str, str] = {}
    sources: dict[str, str] = {}
    for name in names:
        if name not in found:
            text = translate(function_of(listing, name), _SYMBOL, target, symbols, fast=fast, counted=counted)
            waiting[name] = code = digest(_runtime_version(), str(target.wavefront), level, text)
            if not _place_of(cache, code):
                sources[code] = text.replace(_SYMBOL, _symbol(code))
    batches = list(_batches(sources))

    def build(batch: list[str]) -> str:
        return _build(cache, target.wavefront, level, [sources[code] for code in batch])

    if len(batches) > 1:
        with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
            built = list(pool.map(build, batches))
    else:
        built = [build(batch) for batch in batches]
    for batch, key in zip(batches, built, strict=True):
        for code in batch:
            _note(cache, code, (key, _symbol(code)))
    for name, code in waiting.items():
        found[name] = _place_of(cache, code) or _missing(cache.root)
        _note(cache, listed[name], found[name])
    return found


def _symbol(code: str) -> str:
    return f"kernel_{code[:32]}"


def _note(cache: Cache, key: str, place: tuple[str, str]) -> None:
    cache.get(key, lambda folder: _write(folder / "place", " ".join(place)))


def _write(file: Path, text: str) -> None:
    file.write_text(text)


def _missing(folder: Path) -> NoReturn:
    raise ParityError(f"the cache entry {folder} was removed while it was in use; run again")


class _Absent(Exception):
    pass


def _absent(_: Path) -> None:
    raise _Absent


def _place_of(cache: Cache, key: str) -> tuple[str, str] | None:
    """The batch that holds a kernel and its symbol there, if both are in the cache."""
    try:
        folder, _ = cache.get(key, _absent)
        batch, symbol = (folder / "place").read_text().split()
    except _Absent:
        return None
    try:
        cache.get(batch, _absent)
    except _Absent:
        shutil.rmtree(folder, ignore_errors=True)  # else it would point to a batch that is gone for ever
        return None
    return batch, symbol


def _batches(sources: Mapping[str, str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for name, source in sources.items():
        if batch and size + len(source) > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(name)
        size += len(source)
    if batch:
        yield batch


def _build(cache: Cache, lanes: int, level: str, sources: Sequence[str]) -> str:
    runtime, _ = cache.get(digest(_version(), "runtime", str(lanes)), lambda folder: _compile_runtime(folder, lanes))
    key = digest(_version(), "batch", str(lanes), level, *sources)

    def build(folder: Path) -> None:
        code = folder / "kernels.cpp"
        code.write_text('#include "memory.h"\n' + "\n".join(sources) + "\n")
        _run(
            [
                "clang",
                *_FLAGS,
                *_machine_flags(),
                level,
                f"-DLANES={lanes}",
                f"-I{_HERE / 'runtime'}",
                "-c",
                code,
                "-o",
                folder / "kernels.o",
            ]
        )
        _run(["ld.lld", "-shared", folder / "kernels.o", *sorted(runtime.glob("*.o")), "-o", folder / "kernels.so"])
        (folder / "kernels.o").unlink()
        code.unlink()

    cache.get(key, build)
    return key


def _compile_runtime(folder: Path, lanes: int) -> None:
    for source in (_HERE / "runtime").glob("*.cpp"):
        target = folder / f"{source.stem}.o"
        _run(["clang", *_FLAGS, *_machine_flags(), "-O2", f"-DLANES={lanes}", "-c", source, "-o", target])


def _run(arguments: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    done = zig.run(arguments)
    if done.returncode:
        raise ParityError(
            f"the host compiler failed on generated code, a defect of the emulator:\n{done.stderr[:2000]}"
        )
    return done
