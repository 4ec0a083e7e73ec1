"""Precompiles the headers that begin every HIP compilation, because clang takes a second to read them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from parity.compilers import zig
from parity.compilers.clang_flags import HIP_FLAGS, STUBS_AFTER, header_options, host_library
from parity.compilers.clang_version import fingerprint
from parity.compilers.compile_options import MACROS
from parity.compilers.dependencies import listed_files, rule_options
from parity.compilers.errors import CompileError
from parity.compilers.headers import HipHeaders
from parity.compilers.include import EMPTY_SOURCE, HEADERS, HIP_RUNTIME
from parity.compilers.targets import Target
from parity.compilers.unit import Unit
from parity.platform.cache import Cache, default_root, digest

_HEADER, _WORDS = "prelude.pch", "words"
"""The files of a cache entry: the precompiled header, and all words of the headers in it."""
_MACRO = re.compile(r"-D([A-Za-z_]\w*)")
_WORD = re.compile(r"[A-Za-z_]\w*")


def include_options(
    target: Target, unit: Unit, headers: HipHeaders | None, *, precompiled: bool = True
) -> Iterator[str | Path]:
    """Yield the options that include headers before the source. Headers common to all sources are precompiled.

    A file of macros affects them and may change, so nothing is precompiled with one.
    """
    start, others = _split(unit.forced, headers)
    if headers and precompiled and MACROS not in unit.flags:
        folder = _precompiled_for(target, unit.flags, tuple(start), headers)
        yield from ("-Xclang", "-include-pch", "-Xclang", folder / _HEADER)
    elif start:
        others = (*start, *others)
    yield from (part for header in others for part in ("-include", header))


def _split(
    forced: Sequence[str | Path], headers: HipHeaders | None
) -> tuple[Sequence[str | Path], Sequence[str | Path]]:
    """Return the headers that begin every compilation, and those that follow before a source."""
    if not headers:
        return (), forced
    start = (HEADERS / "library_throws.h", "__clang_hip_runtime_wrapper.h", HEADERS / "libcxx_numeric_type.h")
    if forced[:1] == (HIP_RUNTIME,):
        return (*start, HIP_RUNTIME, HEADERS / "without_local.h"), forced[1:]
    return start, forced


def _precompiled_for(target: Target, flags: Sequence[str], start: tuple[str | Path, ...], headers: HipHeaders) -> Path:
    """Return the cache entry with these headers, precompiled with the flags that matter to them.

    A macro matters if the headers contain its name. Thus the many macros that only projects use share an entry.
    The folder of stubs is different for every module and never matters.
    """
    pairs = zip(("", *flags), flags, strict=False)
    flags = tuple(flag for before, flag in pairs if STUBS_AFTER not in (before, flag))
    others = tuple(flag for flag in flags if not _MACRO.match(flag))
    if others == flags:
        return _precompiled(target, flags, start, headers)
    try:
        words = _words(_precompiled(target, others, start, headers))
    except CompileError:  # the headers may only compile with one of the macros
        return _precompiled(target, flags, start, headers)
    kept = (flag for flag in flags if not (macro := _MACRO.match(flag)) or macro[1] in words)
    return _precompiled(target, tuple(kept), start, headers)


@functools.cache
def _words(folder: Path) -> frozenset[str]:
    return frozenset((folder / _WORDS).read_text(encoding="utf-8").split())


@functools.cache
def _precompiled(target: Target, flags: tuple[str, ...], start: tuple[str | Path, ...], headers: HipHeaders) -> Path:
    key = digest("prelude", _WORDS, fingerprint(target, headers), *flags, *map(str, start), *_places(headers))
    folder, _ = Cache(default_root() / "prelude").get(
        key, functools.partial(_precompile, target, flags, start, headers)
    )
    return folder


def _precompile(
    target: Target, flags: tuple[str, ...], start: tuple[str | Path, ...], headers: HipHeaders, folder: Path
) -> None:
    included = (part for header in start for part in ("-include", header))
    read = folder / "read"
    # clang's driver cannot precompile device code alone. The front end can.
    output = ("-Xclang", "-emit-pch", "-Xclang", "-o", "-Xclang", folder / _HEADER, *rule_options(read))
    command = (
        *(
            "clang",
            *HIP_FLAGS,
            f"--offload-arch={target.gpu}",
            *flags,
            *header_options(target, flags, headers),
            *included,
        ),
        *("-fsyntax-only", *output, EMPTY_SOURCE),
    )
    result = zig.run(command, cwd=folder)
    if result.returncode:
        raise CompileError("AMD's headers", target.name, result.stderr)
    words: set[str] = set()
    for name in listed_files(read):
        words.update(_WORD.findall(Path(folder, name).read_text(encoding="utf-8", errors="replace")))
    (folder / _WORDS).write_text("\n".join(sorted(words)), encoding="utf-8")
    read.unlink()


def _places(headers: HipHeaders) -> Iterator[str]:
    """Yield the folders whose headers a precompiled header names."""
    yield from map(str, (HEADERS, host_library(), headers.folder))
