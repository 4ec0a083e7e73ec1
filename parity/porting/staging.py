"""Compiles the AMD side of a module: translates CUDA, and leaves out host code that does not compile.

Every staged file keeps its lines, and ``#line`` names the user's file, so that errors and listings refer to it.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.compilers.clang import Clang
from parity.compilers.clang_flags import STUBS_AFTER
from parity.compilers.diagnostics import Diagnostic, Place, diagnostics
from parity.compilers.errors import CompileError
from parity.compilers.headers import CURAND, optional_files
from parity.compilers.include import HIP_RUNTIME
from parity.compilers.unit import Unit, with_user_paths
from parity.model.finding import Finding
from parity.porting import staged_files
from parity.porting.compat import Compat, supplied
from parity.porting.cuda_names import counterpart
from parity.porting.errors import PortError
from parity.porting.header_defects import defects
from parity.porting.hints import remedies
from parity.porting.hipify import Hipified, hipify
from parity.porting.host_code import HostCode, LeftOut, RepairState
from parity.porting.implicit_includes import implied_lines, pasted_names
from parity.porting.includes import found_in, included, searched
from parity.porting.kernel_templates import Instantiation
from parity.porting.library_probe import library_error
from parity.porting.linking import lacks_other_files
from parity.porting.redeclared_names import own_classes, redeclarations
from parity.porting.repair import repair
from parity.porting.source_tree import encode
from parity.porting.sources import Source
from parity.porting.stubs import (
    HIPRAND,
    HOST_LIBRARIES,
    LIBRARY_NAMES,
    Choice,
    choose,
    forwarding_header,
    library_names,
    library_of,
    needed_for,
)
from parity.porting.thread_coordinates import with_plain_coordinates
from parity.porting.translation import Translation
from parity.porting.translators import hipified
from parity.porting.vector_types import PLAIN, names_of_vectors, operators_of_hip, with_plain_bases
from parity.porting.wavefront_width import for_64_lanes

WIDE = 64
"""The lanes of a wavefront of which CUDA's warps are only a half."""

_STUBS, _HOST, _LIBRARIES = "stubs", "host", "libraries"
"""Folders for stubs. Those in ``_HOST`` precede an installed ROCm's headers, which are broken or conflict."""


@dataclass(frozen=True)
class Staged:
    """The files to compile, the changes to the source, and the folders of real libraries by their names."""

    unit: Unit
    translation: Translation
    real: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)


def compile_as_hip(compile_unit: Callable[[Unit], None], source: Source, clang: Clang, folder: Path) -> Staged:
    """Write the files of a module below ``folder`` and compile them with a compiler.

    While host code does not compile, it is left out, and ``compile_unit`` is called again. Code that is left out for
    one target is left out for all.

    Raises:
        PortError: Device code does not compile.
    """
    staging = _HipStaging(source, clang, folder)
    state = source.repairs
    with state.lock:
        initial = state.host = staging.initial(state.host)
    while True:
        host = state.host
        staged = staging.write(host)
        try:
            compile_unit(staged.unit)
            return staged
        except CompileError as error:
            with state.lock:
                if state.host is host:  # else another target has made progress
                    staging.repair(state, initial, staged, error)


class _HipStaging:
    """The translated files of a module, and how to write and repair them."""

    def __init__(self, source: Source, clang: Clang, folder: Path) -> None:
        self._source, self._clang, self._folder = source, clang, folder
        self._hip = _translated(source)
        self._texts = {name: self._hip[path].text for name, path in source.originals.items()}
        version = clang.toolchain.version
        texts = {source.name(path): each.text for path, each in self._hip.items()}
        compat = Compat() if source.ported or not version else supplied(texts, version)
        self._compat = replace(compat, defects=defects(texts, version)) if version else compat
        self._own = () if source.ported else own_classes(texts)
        originals = {source.name(path): text for path, text in source.files.items()}
        self._wide = for_64_lanes(originals) if clang.target.wavefront == WIDE else ()

    def initial(self, host: HostCode) -> HostCode:
        """Return the initial state: code left out, and templates instantiated, before the first compilation."""
        wanted = () if host.left_out or host.instantiated else tuple(_instantiated(self._source))
        twice = () if self._source.ported else tuple(_declared_twice(self._source, self._hip))
        left_out = (*host.left_out, *(each for each in twice if each not in host.left_out))
        broken = tuple(self._broken_libraries(host))
        stubbed = (*host.stubbed, *broken)
        return replace(host, left_out=left_out, instantiated=(*host.instantiated, *wanted), stubbed=stubbed)

    def _broken_libraries(self, host: HostCode) -> Iterator[Finding]:
        """Yield the real libraries whose main header does not compile on its own."""
        source = self._source
        for library, path in self._choice(host).real.items():
            if error := library_error(library, path, self._clang):
                reason = f"its headers do not compile for {self._clang.target}: {error}"
                yield Finding(library.name, source.name(source.path), 1, 1, reason)

    def repair(self, state: RepairState, initial: HostCode, staged: Staged, error: CompileError) -> None:
        """Leave out more code so that an error may disappear.

        Raises:
            PortError: The error is in device code.
        """
        source, host, texts = self._source, state.host, self._texts
        if stubbed := _failing_libraries(staged, error, source):
            state.host = replace(initial, stubbed=(*host.stubbed, *stubbed))
            return
        errors = _with_source_names(error, source)
        if lacks_other_files(error, errors, source):
            raise self._port_error(error, host, staged) from None
        if any(each.missing_header for each in errors):
            errors += staged_files.missing_headers(self._clang.headers_missed(staged.unit), texts)
        new = implied_lines(errors, texts, host.implied) if host.empty_headers else ()
        names = () if source.ported else pasted_names(errors, texts.values(), host.pasted)
        if new or names:
            state.host = replace(host, implied=(*host.implied, *new), pasted=(*host.pasted, *names))
            return
        lacks = self._lacks if source.without else None
        coarse = state.rounds >= staged_files.FINE_ROUNDS
        more = repair(host, texts, errors, coarse=coarse, lacks=lacks, guessed=source.guessed, partial=source.partial)
        if more is not None and state.rounds < staged_files.ROUNDS:
            state.rounds += len(more.empty_headers) == len(host.empty_headers)  # absent headers do not count
            state.host = more
        elif staged.real:  # a stub may have what the real library lacks
            rest = _failing_libraries(staged, error, source, anywhere=True)
            state.host, state.rounds = replace(initial, stubbed=(*host.stubbed, *rest)), 0
        else:
            raise self._port_error(error, host, staged) from None

    def write(self, host: HostCode) -> Staged:
        """Write all files without the code that is left out."""
        source, folder = self._source, self._folder
        for path, each in self._hip.items():
            head = f"#line 1 {json.dumps(source.name(path), ensure_ascii=False)}\n"
            staged_files.write(self._place(path), head + self._staged_text(path, each.text, host))
        for header in host.empty_headers:
            staged_files.write(folder / staged_files.EMPTY / header, "")
        choice = self._choice(host)
        broken = {each.name for each in host.stubbed}
        first = {name for name, stub in choice.stubs.items() if stub == HOST_LIBRARIES or library_of(stub) in broken}
        for header, stub in choice.stubs.items():
            place = _HOST if header in first else _STUBS
            staged_files.write(folder / place / header, forwarding_header(stub))
        if choice.stubs:
            staged_files.write(folder / _STUBS / LIBRARY_NAMES, library_names(each.text for each in self._hip.values()))
        lines = (
            *(f"#undef {each.name}" for each in self._own),
            *host.implied,
            *(f"#define {each.name} {counterpart(each.name)}" for each in host.pasted),
        )
        libraries = (folder / _LIBRARIES).resolve()
        real = {
            library.name: library.link_into(libraries / str(place), path)
            for place, (library, path) in enumerate(choice.real.items())
        }
        curand = optional_files(CURAND) if HIPRAND in choice.stubs.values() else None
        after = (
            *itertools.chain(*real.values()),
            *(((folder / _STUBS).resolve(),) if choice.stubs else ()),
            *((curand,) if curand else ()),
        )
        unit = Unit(
            self._place(source.path),
            (
                *(folder / os.path.relpath(path, source.root) for path in source.folders),
                *((folder / staged_files.EMPTY,) if host.empty_headers else ()),
                *((folder / _HOST,) if first else ()),
            ),
            (
                *(() if source.ported else (HIP_RUNTIME, *self._compat.headers)),
                *staged_files.repair_headers(folder, host, lines, stubs=bool(choice.stubs)),
                *(library.first for library in choice.real if library.first),
                *map(self._forced, source.options.forced),
            ),
            (
                *source.options.flags,
                *choice.flags,
                *(f"-D{each.name}=hip_{each.name}" for each in self._own),
                *(part for place in after for part in (STUBS_AFTER, str(place))),
            ),
            {name: str(path) for name, path in source.originals.items()},
        )
        return Staged(unit, self._translation(host, choice), real)

    def _place(self, path: Path) -> Path:
        place = self._folder / os.path.relpath(path, self._source.root)
        return place.with_suffix(".hip") if path == self._source.path else place

    def _staged_text(self, path: Path, text: str, host: HostCode) -> str:
        text = host.blanked(self._source.name(path), text)
        if path == self._source.path:
            text += staged_files.appended_code(self._source, host)
        if self._clang.toolchain.is_installed and not self._source.ported:
            text = with_plain_coordinates(text)
        return with_plain_bases(text) if PLAIN in self._source.options.forced else text

    def _choice(self, host: HostCode) -> Choice:
        """Return the real libraries and stubs to use."""
        stubbed = [each.name for each in host.stubbed]
        return choose(self._foreign_headers(), stubbed, self._clang.toolchain.libraries)

    def _foreign_headers(self) -> Iterator[str]:
        """Yield the headers that the source includes and no folder of the project has."""
        for path, each in self._hip.items():
            for bracket, header in included(each.text):
                folders = searched(bracket, path.parent, self._source.folders)
                if ".." not in header and not found_in(header, folders):
                    yield header

    def _forced(self, name: str) -> str | Path:
        path = found_in(name, self._source.folders)
        return self._place(path).resolve() if path and path in self._source.files else name

    def _lacks(self, name: str) -> bool:
        """Return whether HIP lacks a name, or an absent library has it."""
        return any(name == each.name for text in self._hip.values() for each in text.unmapped) or bool(needed_for(name))

    def _translation(self, host: HostCode, choice: Choice) -> Translation:
        source, files = self._source, list(self._hip.values())
        replaced: Counter[str] = Counter()
        for each in files:
            replaced.update(each.replaced)
        return Translation(
            ported=source.ported,
            replaced=dict(replaced),
            unmapped=tuple(self._compat.left([*(found for each in files for found in each.unmapped), *host.pasted])),
            hazards=(*(found for each in files for found in each.hazards), *self._wide),
            branches=tuple(found for each in files for found in each.branches),
            spelled_out=tuple(found for each in files for found in each.spelled_out),
            left_out=host.left_out,
            empty_headers=host.empty_headers,
            stubs=tuple(choice.stubs),
            around=tuple(map(source.name, source.around)),
            made=tuple(
                Finding(header, source.name(each.template), 1, 1, each.advice) for header, each in source.made.items()
            ),
            needs=(*self._compat.needs, *self._own),
            defects=self._compat.defects,
            implied=host.implied,
            libraries=tuple(f"{library.name} ({path[0]})" for library, path in choice.real.items()),
            stubbed=host.stubbed,
        )

    def _port_error(self, error: CompileError, host: HostCode, staged: Staged) -> PortError:
        """Return an error preceded by its possible causes: absent headers, and declarations that are left out."""
        source = self._source
        causes = (*host.missing, *host.reasons_of(diagnostics(error.log)))
        log = "\n".join((*(with_user_paths(each, staged.unit.originals) for each in causes), error.log))
        directives = (
            Diagnostic(each.because, ((str(source.originals[each.file]), each.line, 1),)) for each in host.errors
        )
        found = remedies(
            source, {path: each.text for path, each in self._hip.items()}, [*directives, *diagnostics(log)]
        )
        return PortError(error.module, error.target, log, error.files, translation=staged.translation, remedies=found)


def _failing_libraries(
    staged: Staged, error: CompileError, source: Source, *, anywhere: bool = False
) -> tuple[Finding, ...]:
    """Return the real libraries whose headers have errors; with ``anywhere``, all real libraries."""
    files: set[str] = set()
    for each in diagnostics(error.log):
        places = (*each.places, *((each.previous,) if each.previous else ()))
        files |= {*each.host_only, *(file for file, _, _ in places)}
    return tuple(
        Finding(name, source.name(source.path), 1, 1, f"its headers do not compile for {error.target}: {error.first}")
        for name, folders in staged.real.items()
        if anywhere or any(file.startswith(f"{folder}/") for folder in folders for file in files)
    )


def _translated(source: Source) -> dict[Path, Hipified]:
    if source.ported:
        return {path: Hipified(text, {}) for path, text in source.files.items()}
    return hipified(source.files, source.name, source.folders, source.options.flags, source.hipifier)


def _instantiated(source: Source) -> Iterator[Instantiation]:
    """Yield the kernel templates that the suite declares, or parity guesses, in HIP's spelling."""
    for name in source.kernels:
        text = name if source.ported else hipify(name, source.path.name).text
        yield Instantiation.of(text) if source.guessed else Instantiation((), text)


def _declared_twice(source: Source, hip: Mapping[Path, Hipified]) -> Iterator[LeftOut]:
    """Yield the operators and names of a source that HIP's headers also declare."""
    names = names_of_vectors(each.text for each in hip.values())
    ambiguous = "HIP's vector types have it, and two are ambiguous"
    for path, each in hip.items():
        found = [(*where, ambiguous) for where in operators_of_hip(each.text, names)]
        found += [(*where, "HIP's headers have it") for where in redeclarations(each.text)]
        for start, end, name, because in found:
            before, piece = encode(each.text[:start]), encode(each.text[start:end])
            line = before.count(b"\n") + 1
            yield LeftOut(source.name(path), line, name, because, len(before), len(before) + len(piece))


def _with_source_names(error: CompileError, source: Source) -> list[Diagnostic]:
    """Return the errors of a compilation with the source's file names."""
    names = {str(path): name for name, path in source.originals.items()}

    def named(place: Place) -> Place:
        return (names.get(place[0], place[0]), *place[1:])

    return [each.renamed(named) for each in diagnostics(error.log)]
