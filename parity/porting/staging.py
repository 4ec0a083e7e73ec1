"""The AMD side of a module as files that clang compiles: translated if it is CUDA, without host code in the way.

Every file keeps its lines, and ``#line`` names the user's file, so that errors and listings speak of that.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.compilers import clang, rocm
from parity.compilers.clang_flags import STUBS_AFTER
from parity.compilers.diagnostics import NOT_DEFINED, Diagnostic, Place, diagnostics
from parity.compilers.errors import CompileError, undefined_names
from parity.compilers.headers import available_headers
from parity.compilers.include import HIP_RUNTIME, STUBS
from parity.compilers.targets import Target
from parity.compilers.unit import Unit, with_user_paths
from parity.model.finding import Finding
from parity.porting.compat import Compat, parse_version, supplied
from parity.porting.cuda_names import counterpart
from parity.porting.errors import PortError
from parity.porting.header_defects import defects
from parity.porting.hints import hints, remedies
from parity.porting.hipify import Hipified, hipify
from parity.porting.host_code import HostCode, LeftOut, instantiations, repaired
from parity.porting.host_syntax import ANYTHING, Instantiation
from parity.porting.implicit_includes import brought, pasted
from parity.porting.library_names import LIBRARY_NAMES, library_names
from parity.porting.redeclared_names import redeclarations
from parity.porting.sources import INCLUDE, Source, found_in, included, others_define, searched
from parity.porting.stubs import Choice, choose, forwarding_header, needed_for
from parity.porting.thread_coordinates import with_plain_coordinates
from parity.porting.translation import Translation
from parity.porting.translators import hipified
from parity.porting.vector_types import PLAIN, names_of_vectors, operators_of_hip, with_plain_bases

__all__ = [
    "ANYTHING_HEADER", "EMPTY", "FINE_ROUNDS", "ROUNDS", "STANDARD_HEADER", "Staged", "appended", "compiled",
    "not_found",
]  # fmt: skip

EMPTY = "empty"
"""The folder of the headers that an empty one replaces."""

BROUGHT = "brought.h"
"""The header with what headers that are not here would have brought."""

_STUBS, _LIBRARIES = "stubs", "libraries"
FINE_ROUNDS, ROUNDS = 8, 16
"""Rounds in which parts of host functions are left out, and rounds of leaving out altogether; an error that is left
after them is the user's."""

ANYTHING_HEADER = STUBS / "parity" / "anything.h"
"""Declares what stands in host code for a value that is not compiled."""

STANDARD_HEADER = STUBS / "parity" / "standard.h"
"""Has what headers that are not here would have brought of the standard library."""


@dataclass(frozen=True)
class Staged:
    """A module as it is compiled, the changes to its source, and the folders of real libraries by their names."""

    unit: Unit
    translation: Translation
    real: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)


def compiled(compile_it: Callable[[Unit], None], source: Source, target: Target, folder: Path) -> Staged:
    """Write the files of a module for a target below ``folder`` and compile them; what compiled.

    What a translated source needs beside AMD's headers is included first. Where host code does not compile, it is left
    out, and ``compile_it`` is called again. What is left out for one target is left out for all.

    Raises:
        PortError: device code does not compile.
    """
    installed = rocm.chosen(target)
    hip = _hip(source)
    compat = _compat(source, hip, hip_version(installed))
    repairs = source.repairs
    with repairs.lock:
        begun = repairs.host
        twice = (each for each in _twice_defined(source, hip) if each not in begun.left_out)
        wanted = () if begun.left_out or begun.instantiated else tuple(_wanted(source))
        repairs.host = replace(
            begun,
            left_out=begun.left_out if source.ported else (*begun.left_out, *twice),
            instantiated=(*begun.instantiated, *wanted),
        )
        clean = repairs.host
    while True:
        host = repairs.host
        staged = _staged(source, hip, compat, host, folder, plain_coordinates=installed is not None)
        try:
            compile_it(staged.unit)
            return staged
        except CompileError as error:
            with repairs.lock:
                if repairs.host is not host:  # another target got further meanwhile
                    continue
                if stubbed := _not_compiling(staged, error, source):
                    repairs.host = replace(clean, stubbed=(*host.stubbed, *stubbed))
                    continue
                texts = {name: hip[path].text for name, path in source.originals.items()}
                errors = _errors(error, source)
                if (
                    errors
                    and all(NOT_DEFINED in each.text for each in errors)
                    and others_define(undefined_names(error), source)
                ):
                    raise _explained(error, host, source, hip, staged) from None  # no other words bring what they have
                if any(each.missing_header for each in errors):
                    missed = installed.headers_missed if installed else clang.headers_missed
                    errors += not_found(missed(staged.unit, target), texts)
                new = brought(errors, texts, host.brought) if host.empty_headers else ()
                names = () if source.ported else pasted(errors, texts.values(), host.pasted)
                if new or names:
                    repairs.host = replace(host, brought=(*host.brought, *new), pasted=(*host.pasted, *names))
                    continue
                without = _lacked(hip) if source.without else None
                coarse = repairs.rounds >= FINE_ROUNDS
                more = repaired(host, texts, errors, coarse=coarse, without=without, guessed=source.guessed)
                if more is None or repairs.rounds == ROUNDS:
                    if staged.real:  # a stub may have what the real library lacks
                        rest = _not_compiling(staged, error, source, anywhere=True)
                        repairs.host, repairs.rounds = replace(clean, stubbed=(*host.stubbed, *rest)), 0
                        continue
                    raise _explained(error, host, source, hip, staged) from None
                # A header that is not there is found before anything else, and no error of host code.
                repairs.rounds += len(more.empty_headers) == len(host.empty_headers)
                repairs.host = more


def _not_compiling(
    staged: Staged, error: CompileError, source: Source, *, anywhere: bool = False
) -> tuple[Finding, ...]:
    """Return the real libraries in whose headers there are errors; with ``anywhere``, all that were used."""
    files: set[str] = set()
    for each in diagnostics(error.log):
        places = (*each.places, *((each.previous,) if each.previous else ()))
        files |= {*each.host_only, *(file for file, _, _ in places)}
    return tuple(
        Finding(name, source.name(source.path), 1, 1, f"its headers do not compile for {error.target}: {error.first}")
        for name, folders in staged.real.items()
        if anywhere or any(file.startswith(f"{folder}/") for folder in folders for file in files)
    )


def hip_version(installed: rocm.Rocm | None) -> tuple[int, ...]:
    """The version of AMD's headers; empty where parity's own have to do."""
    if installed:
        return installed.version
    found = available_headers()
    return parse_version(found.version) if found else ()


def _lacked(hip: Mapping[Path, Hipified]) -> Callable[[str], bool]:
    """Tells the names that HIP does not have, or a library that is not here."""
    unmapped = {each.name for text in hip.values() for each in text.unmapped}
    return lambda name: name in unmapped or bool(needed_for(name))


def not_found(headers: Collection[str], texts: Mapping[str, str]) -> list[Diagnostic]:
    """A compiler's errors for these headers that are nowhere, each at the first place that includes it."""
    found: dict[str, Diagnostic] = {}
    for file, text in texts.items():
        for line, name in enumerate(text.splitlines(), 1):
            include = INCLUDE.match(name)
            if include and include[2] in headers:
                found.setdefault(include[2], Diagnostic(f"'{include[2]}' file not found", ((file, line, 1),)))
    return list(found.values())


def _explained(
    error: CompileError, host: HostCode, source: Source, hip: Mapping[Path, Hipified], staged: Staged
) -> PortError:
    """The error behind what may have led to it, with what became of the source, and what the project has for it."""
    # What device code lacks may have been in a header that is not there, or in what was left out.
    causes = (*host.missing, *host.reasons_of(each.text for each in diagnostics(error.log)))
    log = "\n".join((*(with_user_paths(each, _paths(source)) for each in causes), error.log))
    refused = (Diagnostic(each.because, ((str(source.originals[each.file]), each.line, 1),)) for each in host.errors)
    errors = [*refused, *diagnostics(log)]
    found = hints(source, {path: each.text for path, each in hip.items()}, errors)
    return PortError(
        error.module, error.target, log, error.files, translation=staged.translation, remedies=remedies(found)
    )


def _wanted(source: Source) -> Iterator[Instantiation]:
    """The kernel templates that are declared, as AMD's side spells them; guesses where their constants are known."""
    for name in source.kernels:
        text = name if source.ported else hipify(name, source.path.name).text
        yield Instantiation.of(text) if source.guessed else Instantiation((), text)


def _twice_defined(source: Source, hip: Mapping[Path, Hipified]) -> Iterator[LeftOut]:
    """The parts of a source that HIP's headers have, too: operators with the same definition, names declared again."""
    names = names_of_vectors(each.text for each in hip.values())
    ambiguous = "HIP's vector types have it, and two are ambiguous"
    for path, each in hip.items():
        found = [(*where, ambiguous) for where in operators_of_hip(each.text, names)]
        found += [(*where, "HIP's headers have it") for where in redeclarations(each.text)]
        for start, end, name, because in found:
            before, piece = (
                text.encode("utf-8", "surrogateescape") for text in (each.text[:start], each.text[start:end])
            )
            line = before.count(b"\n") + 1
            yield LeftOut(source.name(path), line, name, because, len(before), len(before) + len(piece))


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
            text += appended(source, host)
        if plain_coordinates and not source.ported:
            text = with_plain_coordinates(text)
        if PLAIN in source.side.forced:
            text = with_plain_bases(text)
        place.parent.mkdir(parents=True, exist_ok=True)
        head = f"#line 1 {json.dumps(source.name(path), ensure_ascii=False)}\n"
        place.write_bytes((head + text).encode("utf-8", "surrogateescape"))
    for header in host.empty_headers:
        place = folder / EMPTY / header
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    choice = choose(_foreign_headers(source, hip), [each.name for each in host.stubbed])
    stubs = choice.stubs
    for header, stub in stubs.items():
        place = folder / _STUBS / header
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(forwarding_header(stub))
    if stubs:
        place = folder / _STUBS / LIBRARY_NAMES
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(library_names(each.text for each in hip.values()))
    real = _real_folders(choice, folder)
    searched_last = (*itertools.chain(*real.values()), *(((folder / _STUBS).resolve(),) if stubs else ()))
    after = [part for place in searched_last for part in (STUBS_AFTER, str(place))]
    behind = folder / BROUGHT
    lines = (*host.brought, *(f"#define {each.name} {counterpart(each.name)}" for each in host.pasted))
    if lines:
        behind.write_text("\n".join((*lines, "")))
    unit = Unit(
        main,
        tuple(folder / os.path.relpath(path, source.root) for path in source.folders)
        + ((folder / EMPTY,) if host.empty_headers else ()),
        (
            *(() if source.ported else (HIP_RUNTIME, *compat.headers)),
            *((STANDARD_HEADER,) if host.empty_headers or stubs else ()),
            *((behind.resolve(),) if lines else ()),
            *((ANYTHING_HEADER,) if any(ANYTHING in piece.instead for piece in host.left_out) else ()),
            *(library.first for library in choice.real if library.first),
            *(_forced(name, source, folder) for name in source.side.forced),
        ),
        (*source.side.flags, *choice.flags, *after),
        _paths(source),
    )
    return Staged(unit, _translation(source, hip, compat, host, choice), real)


def appended(source: Source, host: HostCode) -> str:
    """What is compiled behind the text of a source: files that nvcc links with it, and the kernels that are wanted."""
    others = (os.path.relpath(other, source.path.parent) for other in source.linked)
    return "".join(f'\n#include "{other}"' for other in others) + instantiations(host.instantiated)


def _foreign_headers(source: Source, hip: Mapping[Path, Hipified]) -> Iterator[str]:
    """Generate the headers that the source includes and no folder of the project has."""
    for path, each in hip.items():
        for bracket, header in included(each.text):
            if ".." not in header and not found_in(header, searched(bracket, path.parent, source.folders)):
                yield header


def _real_folders(choice: Choice, folder: Path) -> dict[str, tuple[Path, ...]]:
    """Return the folders to search for the headers of each real library."""
    place = (folder / _LIBRARIES).resolve()
    return {library.name: library.link_into(place / str(number)) for number, library in enumerate(choice.real)}


def _forced(name: str, source: Source, folder: Path) -> str | Path:
    path = found_in(name, source.folders)
    return (folder / os.path.relpath(path, source.root)).resolve() if path and path in source.files else name


def _compat(source: Source, hip: Mapping[Path, Hipified], headers: tuple[int, ...]) -> Compat:
    """The headers that the sources need beside AMD's; none if they are HIP already, for which AMD's are enough."""
    texts = {source.name(path): each.text for path, each in hip.items()}
    known = Compat() if source.ported or not headers else supplied(texts, headers)
    return replace(known, defects=defects(texts, headers)) if headers else known


def _translation(
    source: Source, hip: Mapping[Path, Hipified], compat: Compat, host: HostCode, choice: Choice
) -> Translation:
    replaced: Counter[str] = Counter()
    for each in hip.values():
        replaced.update(each.replaced)
    return Translation(
        source.ported,
        dict(replaced),
        tuple(compat.left([*(finding for each in hip.values() for finding in each.unmapped), *host.pasted])),
        tuple(finding for each in hip.values() for finding in each.hazards),
        tuple(finding for each in hip.values() for finding in each.branches),
        tuple(finding for each in hip.values() for finding in each.spelled_out),
        host.left_out,
        host.empty_headers,
        tuple(choice.stubs),
        tuple(map(source.name, source.around)),
        tuple(
            Finding(header, source.name(each.template), 1, 1, f"with {' '.join(each.on)}" if each.on else "")
            for header, each in source.made.items()
        ),
        compat.needs,
        compat.defects,
        host.brought,
        tuple(f"{library.name} ({path[0]})" for library, path in choice.real.items()),
        host.stubbed,
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

    def named(place: Place) -> Place:
        return (names.get(place[0], place[0]), *place[1:])

    return [
        replace(
            each,
            places=tuple(map(named, each.places)),
            previous=named(each.previous) if each.previous else None,
            candidates=tuple(map(named, each.candidates)),
        )
        for each in diagnostics(error.log)
    ]
