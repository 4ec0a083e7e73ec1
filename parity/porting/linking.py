"""Finds the files of a project that must be compiled together: definitions for the device, and including files."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from parity.compilers.diagnostics import NOT_DEFINED, Diagnostic
from parity.compilers.errors import CompileError, undefined_names
from parity.compilers.lexing import code
from parity.model.code_object import unqualified
from parity.platform.files import CUDA_SUFFIXES
from parity.porting.host_code import RepairState
from parity.porting.include_closure import closure
from parity.porting.includes import found_in, included, project_of, read_source, searched
from parity.porting.sources import Source

_OTHER_SUFFIXES = (".cpp", ".cc", ".cxx", ".cuh", ".h", ".hpp")
"""Suffixes of files that are not CUDA sources, but may include one."""
_LEVELS = 4
"""How many folders, upwards, to search for a file that includes a source."""
_FAR = 1000
"""A distance in includes that exceeds every real distance."""
_DEFINITIONS = "parity-definitions.cu"
"""A file that does not exist, with definitions of variables."""
_VTABLE = "vtable for "
_BODY = r"\([^;{}]*\)\s*(?:const\b\s*|->[^;{}]*)?\{"
"""Matches the parameters of a function, up to its body."""
_EXTERN_BEFORE = re.compile(r"\bextern\b[^;{}]*$")

Place = tuple[Path, int]
"""A file and a line."""


def others_define(names: Iterable[str], source: Source) -> dict[Path, int]:
    """Return the files, with a line each, that define what a source declares for the device and does not define.

    If several files of the nearest folder define a name, the file that includes the declaring header through the
    fewest other headers is selected. If that is not unique, the file in a folder named like an include folder of the
    settings is (src/here, include/here). If no text defines a name, a macro may define it. Then the file that includes
    a header with the file's name that mentions it is selected. A name with several equally likely files is skipped.
    """
    if source.ported:
        return {}
    places = _Definitions(source)
    found: dict[Path, int] = {}
    for name in names:
        place = places.of(name)
        if place and place[0] not in source.linked:
            found.setdefault(*place)
    return found


def lacks_other_files(error: CompileError, errors: Sequence[Diagnostic], source: Source) -> bool:
    """Return True if the ``errors`` of a compilation are only about names that other files of the project define."""
    is_link_error = errors and all(NOT_DEFINED in each.text for each in errors)
    return bool(is_link_error and others_define(undefined_names(error), source))


def linked(source: Source, others: Iterable[Path]) -> Source:
    """Return the source with other files compiled after it."""
    closures = [closure(path, source.options, source.folder, {}) for path in others]
    files = dict(source.files)
    for each in closures:
        files |= each.files
    around = dict.fromkeys((*source.around, *(folder for each in closures for folder in each.around)))
    paths = dict.fromkeys((*source.linked, *others))
    # Code that is left out of the source remains left out.
    state = RepairState(source.repairs.host)
    return replace(source, files=files, around=tuple(around), linked=tuple(paths), repairs=state)


def with_definitions(names: Iterable[str], source: Source) -> Source | None:
    """Return the source with definitions of the variables that it declares for the device with ``extern``.

    They have no values: a host program fills them, and so does ``symbols=``. None if a name is something else, or if
    another file may define it with a value.
    """
    definitions, path = list[str](), source.folder / _DEFINITIONS
    if source.ported or path in source.linked:
        return None
    places = _Definitions(source)
    for name in names:
        found = next(filter(None, map(_extern_pattern(name).search, map(code, source.files.values()))), None)
        if found is None or places.has_value(name):
            return None
        definitions.append(f"{found['kind']}{name}{found['extent']};\n")
    if not definitions:
        return None
    files = {**source.files, path: "".join(definitions)}
    return replace(source, files=files, linked=(*source.linked, path), repairs=RepairState(source.repairs.host))


def includers(path: Path) -> Iterator[Path]:
    """Yield the files that include a source, in its folder, sibling folders and above; CUDA sources come first.

    Other files are C++ that a build passes to nvcc, and headers that declare what the source needs.
    """
    for suffixes in (CUDA_SUFFIXES, _OTHER_SUFFIXES):
        for folder in project_of(path.parent)[:_LEVELS]:
            for each in (*sorted(_files(suffixes, folder, "*")), *sorted(_files(suffixes, folder, "*/*"))):
                text = each.read_text(encoding="utf-8", errors="surrogateescape") if each != path else ""
                for bracket, header in included(text) if path.name in text else ():
                    if Path(header).name == path.name and found_in(header, searched(bracket, each.parent, ())) == path:
                        yield each
                        break


class _Definitions:
    """The places where a project defines what a source declares for the device."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._distances = self._include_distances()
        self._named = {folder.name for folder in source.options.include}
        self._code: Callable[[Path], str] = functools.cache(lambda path: code(read_source(path)))
        self._sources: Callable[[Path], list[Path]] = functools.cache(_sources_below)

    def of(self, name: str) -> Place | None:
        """Return the place of a definition in the nearest folder that has one; None if there is not exactly one."""
        owner = unqualified(name.removeprefix(_VTABLE))
        defines = _virtual_definition_pattern(owner) if name.startswith(_VTABLE) else _definition_pattern(name)
        word = re.compile(rf"\b{re.escape(owner)}")
        mentioning = {path: step for path, step in self._distances.items() if word.search(self._source.files[path])}
        likely: dict[Place, None] = {}
        for above in project_of(self._source.path.parent, self._source.folder):
            hits: list[Place] = []
            for path in self._sources(above):
                text = self._code(path) if path != self._source.path else ""
                places = (m for m in defines.finditer(text) if not _EXTERN_BEFORE.search(text[: m.start()][-40:]))
                hits += [(path, text.count("\n", 0, match.start()) + 1) for match in itertools.islice(places, 1)]
                if text and any(path.stem == each.stem for each in mentioning.keys() & set(self._includes(path))):
                    likely[path, 1] = None
            if hits := self._nearest(hits, mentioning):
                return hits[0] if len(hits) == 1 else None
        return next(iter(likely)) if len(likely) == 1 else None

    def has_value(self, name: str) -> bool:
        """Return True if a file near the source defines a variable with a value."""
        defines = re.compile(
            rf"__(?:device|constant)__[^;{{}}()]*\b{re.escape(unqualified(name))}\s*(?:\[[^;=]*\]\s*)?[={{]"
        )
        folders = project_of(self._source.path.parent, self._source.folder)
        paths = {path for above in folders for path in self._sources(above)}
        return any(defines.search(self._code(path)) for path in paths)

    def _nearest(self, hits: list[Place], mentioning: dict[Path, int]) -> list[Place]:
        if len(hits) <= 1:
            return hits
        ranks = [min((mentioning.get(each, _FAR) for each in self._includes(path)), default=_FAR) for path, _ in hits]
        hits = [hit for hit, rank in zip(hits, ranks, strict=True) if rank == min(ranks) < _FAR]
        return [hit for hit in hits if hit[0].parent.name in self._named] or hits

    def _include_distances(self) -> dict[Path, int]:
        """Return the headers of the source, with the number of includes that lead to each."""
        found: dict[Path, int] = {}
        now, step = [self._source.path], 0
        while now:
            step += 1
            files = self._source.files
            now = [each for path in now for each in self._includes(path) if each in files and each not in found]
            found |= dict.fromkeys(now, step)
        return found

    def _includes(self, path: Path) -> list[Path]:
        """Return the headers that a file includes, if they are found."""
        text = self._source.files.get(path)
        headers = included(read_source(path) if text is None else text)
        places = (found_in(header, searched(bracket, path.parent, self._source.folders)) for bracket, header in headers)
        return [each for each in places if each]


def _definition_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern for the definition of a device function or variable."""
    variable = r"(?:\[[^;]*\]\s*)?[;={]"
    # A member function need not repeat __device__ where it is defined.
    words = [unqualified(name), "::".join(part.partition("<")[0] for part in name.split("::")[-2:])]
    words = [re.escape(word) for word in words]  # operators
    return re.compile(
        rf"__(?:device|constant)__[^;{{}}()]*(?<!::)\b{words[0]}\s*(?:{_BODY}|{variable})"
        + ("" if words[0] == words[1] else rf"|\b{words[1]}\s*{_BODY}")
    )


def _virtual_definition_pattern(class_name: str) -> re.Pattern[str]:
    """Return a pattern for the definition of a member function of a class, whose virtual table is in the same file."""
    return re.compile(rf"\b{re.escape(class_name)}::\w+\s*{_BODY}")


def _extern_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern for the declaration of a device variable that another file defines."""
    word = re.escape(unqualified(name))
    return re.compile(
        r"\bextern\b(?P<kind>[^;{}()]*\b__(?:device|constant)__[^;{}()]*?)"
        rf"\b{word}\s*(?P<extent>(?:\[[^;]*\])?)\s*;"
    )


def _sources_below(folder: Path) -> list[Path]:
    return sorted(_files(CUDA_SUFFIXES, folder, "**/*"))


def _files(suffixes: Iterable[str], folder: Path, pattern: str) -> Iterator[Path]:
    for suffix in suffixes:
        yield from folder.glob(pattern + suffix)
