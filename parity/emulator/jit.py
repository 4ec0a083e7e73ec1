"""Compile C++ functions in batches with the host compiler, and load them.

A cache entry per batch holds a shared object; a small entry for each function names its batch. So a function is
compiled once for all kernels that need it, and after a change of one function only that function is compiled again.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

from parity.compilers import zig
from parity.compilers.clang_version import compiler_version
from parity.errors import NotAvailable, ParityError, ResourceExhausted
from parity.platform.cache import Cache, digest
from parity.platform.files import link_or_copy
from parity.platform.subprocesses import processors

SYMBOL = "THE_FUNCTION"
"""The placeholder for the name of a function in its text."""
COUNTERS = "_counters"
"""The suffix of the symbol of a kernel's counters of basic blocks."""


_HERE = Path(__file__).parent
_BATCH_BYTES = 200_000
_REQUIRED = {"fma", "avx2", "f16c"}
_FLAGS = [
    "-x", "c++", "-std=c++20", "-fPIC", "-ffreestanding", "-nostdinc", "-fno-exceptions", "-fno-rtti",
    "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno", "-Xclang", "-ffloat16-excess-precision=none",
    "-fno-strict-aliasing", "-fno-asynchronous-unwind-tables", "-Xclang", "-disable-lifetime-markers", "-Wno-psabi",
    "-w",
]  # fmt: skip


_LINKER = ["ld.lld", "-shared", "-s", "-z", "now"]


@functools.cache
def host_features() -> str:
    """Return the identity and the features of this processor, which are part of every cache key.

    Raises:
        NotAvailable: the processor has another architecture, or lacks required features.
    """
    machine = platform.machine()
    if machine in ("aarch64", "arm64"):
        return "aarch64"
    if machine not in ("x86_64", "AMD64"):
        raise NotAvailable(f"the emulator runs on x86-64 and aarch64 Linux, not on {machine}")
    first, _, _ = Path("/proc/cpuinfo").read_text().partition("\n\n")
    found = dict(re.findall(r"^(.*?)\s*: (.*)$", first, re.MULTILINE))
    if missing := _REQUIRED - set(found["flags"].split()):
        names = ", ".join(sorted(missing)).upper()
        raise NotAvailable(f"the emulator needs a processor with {names} (x86-64-v3, 2013 or later)")
    return " ".join(found[key] for key in ("vendor_id", "cpu family", "model", "stepping", "flags"))


def _machine_flags() -> list[str]:
    return [] if host_features() == "aarch64" else ["-march=native", "-mprefer-vector-width=512"]


@functools.cache
def runtime_version() -> str:
    """Return a digest of everything outside of a function's text that affects its compiled code."""
    return digest(
        *(p.read_bytes() for p in sorted(_HERE.glob("runtime/*"))),
        *(compiler_version(), host_features(), *_FLAGS, *_LINKER),
    )


class CompiledFunctions:
    """The compiled functions of a cache. Loads a shared object when one of its functions is first needed."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._places: dict[str, tuple[str, str]] = {}
        self._whole: set[str] = set()
        self._libraries: dict[str, ctypes.CDLL] = {}
        self._refused: dict[frozenset[str], ResourceExhausted] = {}
        """The functions that a full disk or a lack of memory kept from being compiled; later cases need them, too."""

    @staticmethod
    def key(text: str, lanes: int, level: str) -> str:
        """Return the key of a function, whose text has SYMBOL in place of the function's name."""
        return digest(runtime_version(), str(lanes), level, text)

    def __contains__(self, key: str) -> bool:
        if key in self._places:
            return True
        if (text := self._cache.noted(key)) is None:
            return False
        batch, _, symbol = text.partition(" ")
        if not self._is_whole(batch):
            self._cache.forget(key)  # its batch was evicted
            return False
        self._places[key] = batch, symbol
        return True

    def batch_of(self, key: str) -> str:
        """Return the key of the cache entry that holds an available function."""
        return self._places[key][0]

    def find(self, batches: Mapping[str, str]) -> bool:
        """True if functions, given by key with their batch, are available; checks only the batches."""
        if not all(map(self._is_whole, dict.fromkeys(batches.values()))):
            return False
        self._places |= {key: (batch, _name(key)) for key, batch in batches.items()}
        return True

    def _is_whole(self, batch: str) -> bool:
        if batch not in self._whole and batch in self._cache:
            self._whole.add(batch)
        return batch in self._whole

    def compile(self, texts: Mapping[str, str], lanes: int, level: str, workers: int | None = None) -> None:
        """Compile functions, given by key.

        Raises:
            ResourceExhausted: space or memory ran out. The same functions are not tried again.
        """
        wanted = frozenset(texts)
        if wanted in self._refused:
            raise self._refused[wanted]
        try:
            self._compile(texts, lanes, level, workers)
        except ResourceExhausted as error:
            self._refused[wanted] = error
            raise

    def _compile(self, texts: Mapping[str, str], lanes: int, level: str, workers: int | None) -> None:
        batches = list(_batches({key: text.replace(SYMBOL, _name(key)) for key, text in texts.items()}))

        def build(batch: Mapping[str, str]) -> str:
            return _build(self._cache, lanes, level, list(batch.values()))

        if len(batches) > 1:
            with ThreadPoolExecutor(workers or processors()) as pool:
                built = list(pool.map(build, batches))
        else:
            built = [build(batch) for batch in batches]
        for batch, where in zip(batches, built, strict=True):
            self._whole.add(where)
            for key in batch:
                self._places[key] = where, _name(key)
                self._cache.note(key, f"{where} {_name(key)}")

    def load(self, key: str) -> tuple[ctypes.CDLL, str]:
        """Return the library of an available function, and its symbol."""
        batch, symbol = self._places[key]
        if batch not in self._libraries:
            folder, _ = self._cache.get(batch, _missing)
            self._libraries[batch] = ctypes.CDLL(str(folder / "kernels.so"))
        return self._libraries[batch], symbol


def _name(key: str) -> str:
    return f"kernel_{key[:32]}"


def _missing(folder: Path) -> NoReturn:
    raise ParityError(f"the cache entry {folder} was removed while it was in use; run again")


# --- the compiler ----------------------------------------------------------------------------------------------------


def _batches(texts: Mapping[str, str]) -> Iterator[dict[str, str]]:
    batch: dict[str, str] = {}
    size = 0
    for key, text in texts.items():
        if batch and size + len(text) > _BATCH_BYTES:
            yield batch
            batch, size = {}, 0
        batch[key] = text
        size += len(text)
    if batch:
        yield batch


def _build(cache: Cache, lanes: int, level: str, sources: Sequence[str]) -> str:
    runtime, _ = cache.get(
        digest(runtime_version(), "runtime", str(lanes)), lambda folder: _compile_runtime(folder, lanes)
    )
    key = digest(runtime_version(), "batch", str(lanes), level, *sources)

    def build(folder: Path) -> None:
        (library,) = runtime.glob("*.so")
        link_or_copy(library, folder / library.name)
        code = folder / "kernels.cpp"
        code.write_text('#include "threaded.h"\n' + "\n".join(sources) + "\n")
        options = [*_FLAGS, *_machine_flags(), level, f"-DLANES={lanes}", f"-I{_HERE / 'runtime'}"]
        _run(["clang", *options, "-c", code, "-o", folder / "kernels.o"])
        inputs = (folder / "kernels.o", folder / library.name)
        _run([*_LINKER, "-rpath", "$ORIGIN", *inputs, "-o", folder / "kernels.so"])
        (folder / "kernels.o").unlink()
        code.unlink()

    cache.get(key, build)
    return key


def _compile_runtime(folder: Path, lanes: int) -> None:
    """Make the library of the functions that all kernels call.

    Every batch links to a hard link of it. So it is once on disk and once in memory, and is evicted after them.
    """
    objects = []
    for source in (_HERE / "runtime").glob("*.cpp"):
        objects.append(folder / f"{source.stem}.o")
        _run(["clang", *_FLAGS, *_machine_flags(), "-O2", f"-DLANES={lanes}", "-c", source, "-o", objects[-1]])
    name = f"runtime{lanes}.so"
    _run([*_LINKER, "-Bsymbolic", "-soname", name, *objects, "-o", folder / name])
    for each in objects:
        each.unlink()


def _run(arguments: Sequence[str | Path]) -> None:
    done = zig.run(arguments)
    if done.returncode:
        raise ParityError(
            f"the host compiler failed on generated code, a defect of the emulator:\n{done.stderr[:2000]}"
        )
