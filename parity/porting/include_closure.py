"""Finds all files that a source may include."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from parity.compilers import zig
from parity.compilers.compile_options import CompileOptions
from parity.platform.files import is_file
from parity.porting.build_files import folders_of, named_folder
from parity.porting.cuda_names import header_rules
from parity.porting.header_templates import GeneratedHeader, made_header
from parity.porting.includes import (
    found_in,
    found_on_windows,
    header_folders,
    header_folders_anywhere,
    included,
    project_of,
    read_source,
    searched,
)
from parity.porting.stubs import stub_for

_C_NAMES = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool
stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
"""
_C_HEADERS = frozenset(f"{name}.h" for name in _C_NAMES.split())
"""Headers of the C standard (ISO/IEC 9899, clause 7)."""
_SYSTEM_FOLDERS = frozenset(("arpa", "asm", "bits", "linux", "net", "netinet", "sys"))
_SPLIT_LIBRARIES = frozenset(("OpenCV",))
"""Libraries of several projects, each with its own headers in folders of the same name."""


@dataclass(frozen=True)
class Closure:
    """A source and all files that it may include.

    Attributes:
        files: Texts by path.
        around: Folders of the project that have included headers although no setting names these folders.
        ambiguous: Headers that several folders have, with these folders.
        made: Headers that the project's build generates from templates.
    """

    files: Mapping[Path, str]
    around: tuple[Path, ...] = ()
    ambiguous: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    made: Mapping[str, GeneratedHeader] = field(default_factory=dict)


def closure(path: Path, options: CompileOptions, folder: Path, texts: dict[Path, str]) -> Closure:
    """Return a source and all files that it may include, ignoring conditionals.

    The compiler reports headers that are not found. ``texts`` caches the files that were read.
    """
    return _HeaderSearch(path, options, folder, texts).run()


class _HeaderSearch:
    """A search for the headers of one source."""

    def __init__(self, source: Path, options: CompileOptions, folder: Path, texts: dict[Path, str]) -> None:
        self._source, self._texts = source, texts
        self._kernels, self._project = folder, project_of(source.parent, folder)
        self._folders = [folder, *options.include]
        self._named = len(self._folders)
        self._files: dict[Path, str] = {}
        self._missing: dict[tuple[str, str], Path] = {}
        """Brackets and names of headers that were not found, with the folder of an including file."""
        self._ambiguous: dict[str, tuple[Path, ...]] = {}
        self._made: dict[str, GeneratedHeader] = {}
        self._open = [source, *(each for name in options.forced if (each := found_in(name, self._folders)))]

    def run(self) -> Closure:
        # Folders that settings name have priority over folders around the source, and these over templates.
        while self._open:
            self._read(self._open.pop())
            if not self._open:
                self._open += [each for each in self._headers_around() if each not in self._files]
            if not self._open:
                self._open += [*self._misspelled_headers(), *self._generated_headers()]
        ambiguous = {header: places for header, places in self._ambiguous.items() if len(places) > 1}
        return Closure(self._files, tuple(self._folders[self._named :]), ambiguous, self._made)

    def _read(self, path: Path) -> None:
        if path in self._files:
            return
        if path not in self._texts:
            self._texts[path] = read_source(path)
        self._files[path] = self._texts[path]
        for bracket, header in included(self._files[path]):
            if found := found_in(header, searched(bracket, path.parent, self._folders)):
                self._open.append(found)
            else:
                self._missing.setdefault((bracket, header), path.parent)

    def _headers_around(self) -> list[Path]:
        """Find missing headers in folders of the project that no setting names, and search these from now on."""
        found: list[Path] = []
        for (bracket, header), folder in self._missing.items():
            here = found_in(header, self._folders)
            if not here and (place := self._folder_of(header, bracket, folder)):
                self._folders.append(place)
                here = found_in(header, (place,))
            found += [here] if here else []
        return found

    def _folder_of(self, header: str, bracket: str, folder: Path) -> Path | None:
        if bracket == '"' and ".." in Path(header).parts:  # relative to a folder above the file that includes it
            return next((above for above in project_of(folder, self._kernels) if found_in(header, (above,))), None)
        if header not in self._ambiguous and _is_of_a_project(header, bracket):
            places = header_folders(header, project_of(folder, self._kernels))
            if not places and (named := self._folder_in_build_files(header)):
                places = (named,)
            if len(places) > 1 and (named := named_folder(places, self._source, self._project)):
                places = (named,)
            self._ambiguous[header] = places
            return places[0] if len(places) == 1 else None
        stub = stub_for(header)
        is_split = stub is not None and stub.library in _SPLIT_LIBRARIES
        if is_split and (own := header_folders_anywhere(header, self._project)):
            return own[0]
        if bracket == "<" and not (header in _C_HEADERS or _is_known(header)):
            return self._folder_in_build_files(header)
        return None

    def _folder_in_build_files(self, header: str) -> Path | None:
        folders = folders_of(self._source, self._project)
        return next((folder for folder in folders if is_file(folder / header)), None)

    def _misspelled_headers(self) -> list[Path]:
        """Find missing headers as Windows does, and include each from a header with the name in the source."""
        found: list[Path] = []
        for (bracket, header), folder in self._missing.items():
            name = header.rpartition("../")[2]
            if header in self._made or not _is_of_a_project(name, bracket) or found_in(header, self._folders):
                continue
            folders = searched(bracket, folder, self._folders)
            if real := found_on_windows(header, folders, project_of(folder, self._kernels)):
                path = folder / header
                text = f'#include "{os.path.relpath(real, path.parent)}"\n'
                self._made[header] = GeneratedHeader(real, text, "Windows ignores case; correct the #include")
                self._texts[path] = text
                self._folders.append(folder)
                found.append(path)
        return found

    def _generated_headers(self) -> list[Path]:
        """Generate missing headers from the project's templates, as if they were in the templates' folders."""
        found: list[Path] = []
        for bracket, header in self._missing:
            if header in self._made or not _is_of_a_project(header, bracket) or found_in(header, self._folders):
                continue
            if made := made_header(header, self._source, self._project):
                path = made.template.parent / header
                self._texts[path] = made.text
                self._made[header] = made
                self._folders.append(made.template.parent)
                found.append(path)
        return found


def _is_of_a_project(header: str, bracket: str) -> bool:
    """True if a missing header may be the project's own, and not a library's or the compiler's."""
    name = Path(header)
    if _is_known(header):
        return False
    if len(name.parts) > 1:
        return bracket == '"' or name.parts[0] not in _SYSTEM_FOLDERS
    return bracket == '"' or name.suffix != ".h" or not (header in _C_HEADERS or header in _system_headers())


@functools.cache
def _system_headers() -> frozenset[str]:
    """Return the names of the headers of the C library and of the compilers."""
    folders = [Path("/usr/include")]
    if compiler := zig.present():
        library = compiler.parent / "lib"
        folders += [library / "include", *(library / "libc" / "include").iterdir()]
    return frozenset(path.name for folder in folders for path in folder.glob("*.h"))


def _is_known(header: str) -> bool:
    """True if a header is CUDA's or a library's, or a project's file cannot have its name."""
    name = Path(header)
    is_odd = name.is_absolute() or ".." in name.parts or not name.suffix
    return is_odd or header in header_rules() or stub_for(header) is not None
