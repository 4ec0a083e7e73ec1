"""Cache entries of built modules: files that a compilation wrote, and a record that describes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parity.build.packed_listings import pack_listing
from parity.compilers import targets
from parity.compilers.clang_flags import host_library
from parity.compilers.include import HEADERS, HEADERS_ALIAS, HIP_ALIAS, LIBRARY_ALIAS
from parity.compilers.toolchain import chosen
from parity.model.code_object import CodeObject, Kernel
from parity.platform.cache import Cache, file_digest
from parity.platform.serialization import json_text, read_json
from parity.porting import Source, Translation

_RECORD = "build.json"


@dataclass(frozen=True)
class EntryRecord:
    """The description of a code object. ``listing``, ``binary`` and ``hip`` are names of files in the entry.

    ``outside`` has the digests of headers that only the compiler found, by path. ``skipped`` is as in ``CodeObject``.
    """

    target: str
    digest: str
    listing: str
    binary: str
    sources: tuple[str, ...]
    hip: str
    translation: Translation | None
    kernels: tuple[Kernel, ...]
    outside: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)


def write_record(
    code: CodeObject,
    listing: Path,
    binary: Path,
    *,
    sources: Sequence[str],
    hip: str = "",
    translation: Translation | None = None,
    outside: Iterable[Path] = (),
) -> None:
    """Write the record of a code object next to its listing, which is compressed to a tenth."""
    packed = pack_listing(listing, code.listing)
    kernels = tuple(code.kernels.values())
    record = EntryRecord(
        *(code.target, code.digest, packed.name, binary.name, tuple(sources), hip, translation, kernels),
        _digests(outside),
        code.skipped,
    )
    (listing.parent / _RECORD).write_bytes(json_text(record))


def current_entry(cache: Cache, key: str, build: Callable[[Path], None]) -> tuple[Path, bool]:
    """Return the folder of an entry and whether it existed. Builds it again if headers of its record have changed."""
    folder, existed = cache.get(key, build)
    if existed and (known := read_record(folder).outside) != _digests(map(Path, known)):
        cache.forget(key)
        return cache.get(key, build)
    return folder, existed


def read_record(entry: Path) -> EntryRecord:
    """Read the record of a cache entry."""
    file = entry / _RECORD
    return read_json(file.read_bytes(), EntryRecord, str(file), "remove that folder")


def read_code(entry: Path, record: EntryRecord, source: Source, target: str, provenance: str) -> CodeObject:
    """Return the code object of a cache entry. ``provenance`` describes the sources and the compiler."""
    translation = record.translation or Translation()
    return CodeObject(
        source.module,
        target,
        (entry / record.listing).read_bytes(),
        {kernel.name: kernel for kernel in record.kernels},
        record.digest,
        tuple(_resolve(Path(name), source.folder, target) for name in record.sources),
        entry / record.binary,
        provenance,
        {
            each.function: f"{each.file}:{each.line}: {each.because}"
            for each in translation.left_out
            if each.function and not each.is_call
        },
        record.skipped,
        translation.defects,
    )


def _digests(files: Iterable[Path]) -> dict[str, str]:
    return {str(file): file_digest(file) for file in files}


def _resolve(name: Path, folder: Path, target: str) -> Path:
    """Return the path of a file that a line table names."""
    head, rest = name.parts[0], name.parts[1:]
    if head == HEADERS_ALIAS:
        return HEADERS.joinpath(*rest)
    if head == HIP_ALIAS and (include := chosen(targets.target(target)).include):
        return include.joinpath(*rest)
    if head == LIBRARY_ALIAS:  # looked up only here: compiling for CUDA does not require zig
        return host_library().joinpath(*rest)
    return Path(os.path.normpath(folder / name))
