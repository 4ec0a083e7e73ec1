"""The AMD side of a module as files that clang compiles: translated if it is CUDA, without host code in the way.

Every file keeps its lines, and ``#line`` names the user's file, so that errors and listings speak of that.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from parity.toolchain.compat import Compat, supplied
from parity.toolchain.compiler import RUNTIME, CompileError, in_terms_of_the_source
from parity.toolchain.coordinates import with_plain_coordinates
from parity.toolchain.header_defects import defects
from parity.toolchain.hipify import Finding, Hipified
from parity.toolchain.host_code import Diagnostic, HostCode, LeftOut, diagnostics, instantiations, repaired
from parity.toolchain.sources import Source, found_in
from parity.toolchain.translators import hipified

__all__ = ["Staged", "Translation", "compiled"]

_EMPTY = "empty"
_FINDINGS = ("unmapped", "hazards", "branches", "spelled_out", "needs", "defects")
_ROUNDS = 12
"""How often more host code is left out before what is left is the user's to mend."""


@dataclass(frozen=True)
class Translation:
    """What happened to the source of a module on its way to AMD's compiler.

    ``replaced`` is how often each CUDA name was translated; ``unmapped`` and ``hazards`` are what hipify left to a
    person, ``branches`` says what conditions on CUDA's macros mean, and ``spelled_out`` is what the helpful style
    writes otherwise than the literal one. ``left_out`` is host code that does not compile here, ``empty_headers`` are
    headers that are not here and in whose place an empty one stands. ``needs`` are names that parity's
    compatibility headers supply, ``defects`` those whose function in AMD's headers is known to be wrong. ``ported``
    sources were HIP already.
    """

    ported: bool = False
    replaced: Mapping[str, int] | None = None
    unmapped: tuple[Finding, ...] = ()
    hazards: tuple[Finding, ...] = ()
    branches: tuple[Finding, ...] = ()
    spelled_out: tuple[Finding, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    empty_headers: tuple[str, ...] = ()
    needs: tuple[Finding, ...] = ()
    defects: tuple[Finding, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Translation:
        """What ``as_dict`` wrote."""
        findings = {name: tuple(Finding(**f) for f in data[name]) for name in _FINDINGS}
        left_out = tuple(LeftOut(**piece) for piece in data["left_out"])
        return cls(**{**data, **findings, "left_out": left_out, "empty_headers": tuple(data["empty_headers"])})


@dataclass(frozen=True)
class Staged:
    """The files to compile: the main one, folders with headers, and headers that are included first."""

    main: Path
    include: tuple[Path, ...]
    forced: tuple[str | Path, ...]
    translation: Translation


def compiled(
    compile_it: Callable[[Staged], None],
    source: Source,
    folder: Path,
    *,
    headers: tuple[int, ...] = (),
    plain_coordinates: bool = False,
) -> Staged:
    """Write the files of a module below ``folder`` and compile them; the files that compiled.

    ``headers`` is the version of AMD's headers, empty if they are parity's own: what a translated source needs beside
    them is included first. Where host code does not compile, it is left out, and ``compile_it`` is called again. What
    is left out for one target is left out for all.

    Raises:
        CompileError: device code does not compile. It knows what became of the source.
    """
    hip = _hip(source)
    compat = _compat(source, hip, headers)
    repairs = source.repairs
    while True:
        host = repairs.host
        try:
            return _attempt(compile_it, source, hip, compat, host, folder, plain_coordinates)
        except CompileError as error:
            with repairs.lock:
                if repairs.host is not host:  # another target got further meanwhile
                    continue
                more = repaired(host, {n: hip[p].text for n, p in source.originals.items()}, _errors(error, source))
                if more is None or repairs.rounds == _ROUNDS:
                    if host.missing:  # what device code lacks may have been in one of these headers
                        raise error.after(in_terms_of_the_source("\n".join(host.missing), _paths(source))) from None
                    raise
                repairs.host, repairs.rounds = more, repairs.rounds + 1


def _attempt(
    compile_it: Callable[[Staged], None],
    source: Source,
    hip: Mapping[Path, Hipified],
    compat: Compat,
    host: HostCode,
    folder: Path,
    plain_coordinates: bool,
) -> Staged:
    staged = _staged(source, hip, compat, host, folder, plain_coordinates)
    try:
        compile_it(staged)
    except CompileError as error:
        error.translation = staged.translation
        raise
    return staged


def _staged(
    source: Source,
    hip: Mapping[Path, Hipified],
    compat: Compat,
    host: HostCode,
    folder: Path,
    plain_coordinates: bool,
) -> Staged:
    main = folder
    for path, each in hip.items():
        place = folder / os.path.relpath(path, source.root)
        text = host.blanked(source.name(path), each.text)
        if path == source.path:
            place = main = place.with_suffix(".hip")
            text += instantiations(host.instantiated)
        if plain_coordinates and not source.ported:
            text = with_plain_coordinates(text)
        place.parent.mkdir(parents=True, exist_ok=True)
        head = f"#line 1 {json.dumps(source.name(path), ensure_ascii=False)}\n"
        place.write_bytes((head + text).encode("utf-8", "surrogateescape"))
    for header in host.empty_headers:
        place = folder / _EMPTY / header
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    return Staged(
        main,
        tuple(folder / os.path.relpath(path, source.root) for path in source.folders)
        + ((folder / _EMPTY,) if host.empty_headers else ()),
        (
            *(() if source.ported else (RUNTIME, *compat.headers)),
            *(_forced(name, source, folder) for name in source.side.forced),
        ),
        _translation(source, hip, compat, host),
    )


def _forced(name: str, source: Source, folder: Path) -> str | Path:
    path = found_in(name, source.folders)
    return (folder / os.path.relpath(path, source.root)).resolve() if path and path in source.files else name


def _compat(source: Source, hip: Mapping[Path, Hipified], headers: tuple[int, ...]) -> Compat:
    """What the sources need beside AMD's headers; nothing if these are HIP already: what compiles that is AMD's."""
    texts = {source.name(path): each.text for path, each in hip.items()}
    known = Compat() if source.ported or not headers else supplied(texts, headers)
    return replace(known, defects=defects(texts, headers)) if headers else known


def _translation(source: Source, hip: Mapping[Path, Hipified], compat: Compat, host: HostCode) -> Translation:
    replaced: Counter[str] = Counter()
    for each in hip.values():
        replaced.update(each.replaced)
    return Translation(
        source.ported,
        dict(replaced),
        tuple(compat.left([finding for each in hip.values() for finding in each.unmapped])),
        tuple(finding for each in hip.values() for finding in each.hazards),
        tuple(finding for each in hip.values() for finding in each.branches),
        tuple(finding for each in hip.values() for finding in each.spelled_out),
        host.left_out,
        host.empty_headers,
        compat.needs,
        compat.defects,
    )


def _hip(source: Source) -> dict[Path, Hipified]:
    """The files of a module in HIP."""
    if source.ported:
        return {path: Hipified(text, {}) for path, text in source.files.items()}
    return hipified(source.files, source.name, source.folders, source.side.flags, source.hipifier)


def _paths(source: Source) -> dict[str, str]:
    return {name: str(path) for name, path in source.originals.items()}


def _errors(error: CompileError, source: Source) -> list[Diagnostic]:
    """The errors of a compilation, in files as the source names them."""
    names = {path: name for name, path in _paths(source).items()}
    return [
        replace(each, places=tuple((names.get(file, file), line, column) for file, line, column in each.places))
        for each in diagnostics(error.log)
    ]
