"""The sources of a module: the file of each side, and every file that it may include."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parity.codeobject import source_of
from parity.errors import UsageError, nearest
from parity.side import Side
from parity.toolchain.hipify import LITERAL
from parity.toolchain.host_code import Repairs

__all__ = ["PORTED_SUFFIXES", "Source", "closure", "find_modules", "find_ported", "found_in", "included"]

PORTED_SUFFIXES = (".hip", ".cu.hip", ".hip.cpp", ".cu", ".cpp", ".cc", ".cxx")
"""What the source of a port may be called, the likeliest first."""

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """What one side of a module is built from: its file and all files it may include, as path and text.

    ``ported`` sources are HIP already and compiled as they are; ``hipifier`` is what translates others. ``kernels`` are
    templates with their arguments, which are to be there whether host code launches them or not. Code objects in place
    of a source are in ``prebuilt``, by target.
    """

    module: str
    folder: Path
    path: Path
    side: Side
    files: Mapping[Path, str]
    ported: bool = False
    hipifier: str = LITERAL
    kernels: tuple[str, ...] = ()
    prebuilt: Mapping[str, Path] = field(default_factory=dict)
    repairs: Repairs = field(default_factory=Repairs, repr=False, compare=False)

    @functools.cached_property
    def root(self) -> str:
        """The folder below which the staged files keep their places relative to each other."""
        return os.path.commonpath([self.folder, *self.side.include, *(p.parent for p in self.files)])

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where its headers are looked for."""
        return (self.folder, *self.side.include)

    @functools.cached_property
    def originals(self) -> Mapping[str, Path]:
        """The files by the names that ``#line`` gives them."""
        return {self.name(path): path for path in self.files}

    def name(self, path: Path) -> str:
        """What ``#line`` calls a file: independent of where the folder is, so that cached listings are too."""
        return Path(os.path.relpath(path, self.folder)).as_posix()


def find_modules(folder: Path, modules: Iterable[str] | None = None, *, ported: Path | None = None) -> dict[str, Path]:
    """The source of each module in ``folder`` in alphabetical order; all, or those asked for.

    A module is one ``.cu`` file, or a ``.hip`` file beside which there is no ``.cu``. It is called like its file, with
    the folders below ``folder`` that it is in, without the suffix. The file of one that is given as code objects is not
    there. What lies in the folder ``ported`` is the other side of a module and none itself.

    Raises:
        UsageError: the folder does not exist or holds no source, or a module is not in it.
    """
    if not folder.is_dir():
        raise UsageError(f"no kernels folder {folder}; set 'kernels' in [tool.parity] of pyproject.toml")
    apart = ported if ported and ported != folder and ported.is_relative_to(folder) else None
    found: dict[str, Path] = {}
    for pattern in ("*.cu", "*.hip", "*.hsaco", "*.co"):
        for path in folder.rglob(pattern):
            if apart and path.is_relative_to(apart):
                continue
            source = source_of(path)
            name = source.relative_to(folder).as_posix().removesuffix(".cu").removesuffix(".hip").removesuffix(".cu")
            found.setdefault(name, source)
    found = dict(sorted(found.items()))
    if not found:
        raise UsageError(
            f"the kernels folder {folder} holds no .cu or .hip file, and no code object; a module is one .cu file"
        )
    if modules is None:
        return found
    wanted = tuple(modules)
    for module in wanted:
        if module not in found:
            raise UsageError(f"no module {module!r} in {folder}; it has {' '.join(found)}{nearest(module, found)}")
    return {module: found[module] for module in wanted}


def find_ported(path: Path, folder: Path, ported: Path) -> Path | None:
    """The HIP source of the CUDA source ``path`` of ``folder`` in the folder ``ported``.

    It has the same name below its folder, but for the suffix (``PORTED_SUFFIXES``), and ``cuda`` may have become
    ``hip`` in it, which is how torch's hipify names what it writes.
    """
    wanted = _ported_name(path.relative_to(folder), (".cu",))
    candidates = sorted(each for each in ported.rglob("*") if each.name.endswith(PORTED_SUFFIXES) and each != path)
    for suffix in PORTED_SUFFIXES:
        for each in candidates:
            if each.name.endswith(suffix) and _ported_name(each.relative_to(ported), (suffix,)) == wanted:
                return each
    return None


def _ported_name(path: Path, suffixes: Sequence[str]) -> str:
    name = path.as_posix()
    for suffix in suffixes:
        name = name.removesuffix(suffix)
    return re.sub(r"cuda", "hip", name.lower()).removesuffix("_hip")


def closure(path: Path, side: Side, folder: Path, texts: dict[Path, str]) -> dict[Path, str]:
    """The file and all it may include, conditionals ignored; headers that are found nowhere are the compiler's.

    ``texts`` remembers what was read.
    """
    found: dict[Path, str] = {}
    folders = (folder, *side.include)
    forced = (found_in(name, folders) for name in side.forced)
    open_paths = [path, *(each for each in forced if each)]
    while open_paths:
        path = open_paths.pop()
        if path in found:
            continue
        if path not in texts:
            # A comment in some other encoding is no reason to refuse a source: its bytes go through unchanged. A byte
            # order mark is none of its text.
            texts[path] = path.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("\ufeff")
        found[path] = texts[path]
        near = (found_in(header, (path.parent, *folders)) for header in included(found[path]))
        open_paths += [each for each in near if each]
    return found


def included(text: str) -> list[str]:
    """The names in the ``#include`` lines of a source, in order, whatever conditionals surround them."""
    return _INCLUDE.findall(text)


def found_in(header: str, folders: Iterable[Path]) -> Path | None:
    """The file that a header is, in the first folder that has it."""
    candidates = (Path(os.path.normpath(folder / header)) for folder in folders)
    return next((path for path in candidates if path.is_file()), None)
