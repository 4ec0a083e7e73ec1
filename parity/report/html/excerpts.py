"""The lines of a source that a message names, with their neighbours."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from parity.platform.files import find_below
from parity.suite.loading import Suite

__all__ = ["Excerpt", "SourceFolders"]

NEIGHBOURS = 4
"""Lines that are shown before and after the one that is named."""
MOST = 3
"""Places of a message that are shown; a race has two."""
LONGEST = 400
"""Characters of a line that are shown."""

_ENDINGS = (".cu", ".cuh", ".cu.cc", ".h", ".hpp", ".hip")
_Files = Mapping[str, list[Path]]
_PLACE = re.compile(r"([\w./+-]+\.(?:cu|cuh|cu\.cc|h|hpp|hip)):(\d+)")


@dataclass(frozen=True)
class Excerpt:
    """Lines of a file, the first of which has the number ``first``; ``line`` is the one that is meant."""

    file: str
    line: int
    first: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class SourceFolders:
    """The folders with the sources of kernels, and what their files were when the kernels were run.

    ``ported`` are those of AMD's side, where that has sources of its own. ``digests`` are SHA-256 by the path below its
    folder; a file that is not as it was then is not shown.
    """

    folders: tuple[Path, ...] = ()
    ported: tuple[Path, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, suite: Suite, digests: Mapping[str, str] | None = None) -> SourceFolders:
        """The sources of a suite."""
        sides = suite.sides
        ported = (sides.ported, *sides.amd.include) if sides.ported else ()
        return cls((suite.kernels, *sides.cuda.include), ported, digests or {})

    def named(self, message: str, vendor: str = "cuda") -> list[Excerpt]:
        """The lines that a message names, in its order, each once: of files that are in the folders of this side."""
        names = dict.fromkeys(_PLACE.findall(message))
        found = (self._excerpt(name, int(line), vendor) for name, line in names)
        return [each for each in found if each][:MOST]

    def places(self, message: str, vendor: str = "cuda") -> list[tuple[Path, int]]:
        """The files and lines that a message names, of those that are in the folders of this side."""
        names = dict.fromkeys(_PLACE.findall(message))
        return [(path, int(line)) for name, line in names if (path := self._path(name, vendor))]

    def _excerpt(self, name: str, line: int, vendor: str) -> Excerpt | None:
        path = self._path(name, vendor)
        lines = self._lines(path) if path else []
        if not 0 < line <= len(lines):
            return None
        first = max(1, line - NEIGHBOURS)
        shown = lines[first - 1 : line + NEIGHBOURS]
        return Excerpt(name, line, first, tuple(text.expandtabs(4)[:LONGEST] for text in shown))

    def _path(self, name: str, vendor: str) -> Path | None:
        """The one file with this name, or whose path ends so; None if there is none, or several."""
        files = self._ported if vendor == "amd" and self.ported else self._files
        wanted = Path(name).parts
        paths = [path for path in files.get(wanted[-1], ()) if path.parts[-len(wanted) :] == wanted]
        return paths[0] if len(paths) == 1 else None

    def _lines(self, path: Path) -> list[str]:
        """The lines of a file; none if it is not as it was, or cannot be read."""
        try:
            content = path.read_bytes()
        except OSError:
            return []
        return content.decode(errors="replace").splitlines() if self._as_it_was(path, content) else []

    def _as_it_was(self, path: Path, content: bytes) -> bool:
        names = (path.relative_to(folder.resolve()) for folder in self.folders if path.is_relative_to(folder.resolve()))
        digest = next((self.digests[name.as_posix()] for name in names if name.as_posix() in self.digests), None)
        return digest is None or digest == hashlib.sha256(content).hexdigest()

    @cached_property
    def _files(self) -> _Files:
        return _by_name(self.folders)

    @cached_property
    def _ported(self) -> _Files:
        return _by_name(self.ported)


def _by_name(folders: Iterable[Path]) -> _Files:
    """The files below these folders by their names, each once."""
    paths = (path.resolve() for folder in folders if folder.is_dir() for path in find_below(folder, *_ENDINGS))
    found: dict[str, list[Path]] = {}
    for path in dict.fromkeys(paths):
        found.setdefault(path.name, []).append(path)
    return found
