"""Finds the source lines of failures, with their neighbours."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from parity.engine.case_records import CaseRecord
from parity.errors import display_path
from parity.platform.files import find_below
from parity.porting import find_ported
from parity.suite.loading import Suite

NEIGHBOURS = 4
"""Lines to show before and after the named line."""
MOST = 3
"""Locations to show for a message; a race has two."""
LONGEST = 400
"""Characters to show of a line."""
SHORT = 88
"""Characters to show of a line in a text."""

_ENDINGS = (".cu", ".cuh", ".cu.cc", ".h", ".hpp", ".hip", ".py")
_Files = Mapping[str, list[Path]]
_PLACE = re.compile(r"([\w./+-]+\.(?:cu|cuh|cu\.cc|h|hpp|hip|py)):(\d+)")


@dataclass(frozen=True)
class Excerpt:
    """Lines of a file. ``first`` is the number of the first line, ``line`` the number of the named line."""

    file: str
    line: int
    first: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class SourceFolders:
    """The folders with the sources of kernels, and digests of their files at the time of the run.

    ``ported`` are the folders of the HIP port, if there is one. ``digests`` maps paths from the first of ``folders`` to
    SHA-256 digests; files that have changed since the run are not shown. ``suite`` has the files of kernels.
    """

    folders: tuple[Path, ...] = ()
    ported: tuple[Path, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    suite: Suite | None = None

    @classmethod
    def of(cls, suite: Suite, digests: Mapping[str, str] | None = None) -> SourceFolders:
        """Return the source folders of a suite."""
        sides = suite.sides
        ported = (sides.ported, *sides.amd.include) if sides.ported else ()
        return cls((suite.kernels, *sides.cuda.include), ported, digests or {}, suite)

    def named(self, message: str, vendor: str = "cuda") -> list[Excerpt]:
        """Return excerpts for the locations that a message names, in order and without duplicates.

        Only files in the folders of this vendor's side count.
        """
        found = (self._lines_around(*place) for place in self._places(message, vendor))
        return [each for each in found if each][:MOST]

    def _places(self, message: str, vendor: str) -> Iterator[tuple[str, Path, int]]:
        """Yield what a message names in the folders of this vendor's side: the name of a file, the file, and a line."""
        for name, line in dict.fromkeys(_PLACE.findall(message)):
            if path := self._path(name, vendor):
                yield name, path, int(line)

    def kernel_file(self, record: CaseRecord) -> Path | None:
        """Return the file of a record's kernel; for AMD, the file of the HIP port if there is one."""
        suite, side = self.suite, record.where.side
        path = suite.files.get(record.module) if suite and side else None
        if suite and path and side == "amd" and suite.sides.ported:
            return find_ported(path, suite.kernels, suite.sides.ported) or path
        return path

    def place(self, record: CaseRecord) -> tuple[Path, int] | None:
        """Return the file and line at which to look first: the first one that the failure names, else the kernel's.

        The line is 0 if the file does not contain the kernel's name. None: a library, or no file.
        """
        if record.where.side and (named := next(self._places(_detail(record), record.where.side), None)):
            return named[1:]
        path = self.kernel_file(record)
        if not (path and path.is_file()):
            return None
        name = record.kernel.partition("<")[0].rpartition("::")[2]
        word = re.compile(rf"(?!\s*(?://|\*)).*\b{re.escape(name)}\b")
        return path, next((n for n, text in enumerate(self._lines(path), 1) if word.match(text)), 0)

    def where(self, record: CaseRecord) -> str:
        """Return the place of a failure as text: the file with the number of the line, and the line."""
        if not (found := self.place(record)):
            return ""
        path, line = found
        lines = self._lines(path) if line else []
        if len(lines) < line or not lines:
            return display_path(path)
        place, text = f"{display_path(path)}:{line}", " ".join(lines[line - 1].split())
        text = text if len(text) <= SHORT else f"{text[: SHORT - 3]}..."
        return place + ("   " if len(place + text) < SHORT - 2 else "\n") + text

    def excerpts(self, record: CaseRecord) -> list[Excerpt]:
        """Return the excerpts that the failure names, else the line that names the kernel."""
        named = self.named(_detail(record), record.where.side or "cuda")
        if named or not (place := self.place(record)):
            return named
        found = self._lines_around(place[0].name, *place)
        return [found] if found else []

    def _lines_around(self, name: str, path: Path, line: int) -> Excerpt | None:
        lines = self._lines(path)
        if not 0 < line <= len(lines):
            return None
        first = max(1, line - NEIGHBOURS)
        shown = lines[first - 1 : line + NEIGHBOURS]
        return Excerpt(name, line, first, tuple(text.expandtabs(4)[:LONGEST] for text in shown))

    def _path(self, name: str, vendor: str) -> Path | None:
        """The file whose path ends with this name; None if there is no such file, or more than one."""
        files = self._ported if vendor == "amd" and self.ported else self._files
        wanted = Path(name).parts
        paths = [path for path in files.get(wanted[-1], ()) if path.parts[-len(wanted) :] == wanted]
        return paths[0] if len(paths) == 1 else None

    def _lines(self, path: Path) -> list[str]:
        """The lines of a file; empty if it has changed since the run or is not readable."""
        try:
            content = path.read_bytes()
        except OSError:
            return []
        return content.decode(errors="replace").splitlines() if self._is_unchanged(path, content) else []

    def _is_unchanged(self, path: Path, content: bytes) -> bool:
        name = Path(os.path.relpath(path, self.folders[0].resolve())).as_posix() if self.folders else ""
        digest = self.digests.get(name)
        return digest is None or digest == hashlib.sha256(content).hexdigest()

    @cached_property
    def _files(self) -> _Files:
        return _by_name(self.folders)

    @cached_property
    def _ported(self) -> _Files:
        return _by_name(self.ported)


NO_SOURCES = SourceFolders()


def _detail(record: CaseRecord) -> str:
    return (record.minimal or record).verdict.detail


def _by_name(folders: Iterable[Path]) -> _Files:
    """All source files below these folders, by file name."""
    paths = (path.resolve() for folder in folders if folder.is_dir() for path in find_below(folder, *_ENDINGS))
    found: dict[str, list[Path]] = {}
    for path in dict.fromkeys(paths):
        found.setdefault(path.name, []).append(path)
    return found
