"""Compiling the AMD side of a module again and again, each time with another edit of a file, for a few kernels alone.

What ``build`` does once is done once here, too: translation, and leaving out host code that does not compile. Then
kernels are compiled from an edited file in a second or two, because the others are left out before the compiler
optimizes (``compiler.compile_kernels``). The compiler of an installed ROCm compiles the whole module.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parity.build.builder import source_as_built
from parity.compilers import clang, rocm
from parity.compilers.errors import CompileError
from parity.compilers.targets import target
from parity.compilers.unit import Unit
from parity.porting.errors import PortError
from parity.porting.staging import compiled
from parity.suite.loading import Suite

__all__ = ["Stage", "recompiled", "stage"]

_LINE = "#line 1 "


@dataclass(frozen=True)
class Stage:
    """The AMD side of a module as it is compiled: files below ``folder``.

    ``unit`` is what is compiled, with paths below ``folder`` relative to it. ``files`` are those of the user by the
    names that line tables have, as paths below ``folder``; the first line of each is not the user's. ``scratch`` is a
    folder on the same file system.
    """

    module: str
    target: str
    folder: Path
    unit: Unit
    files: Mapping[str, Path]
    scratch: Path

    def text(self, name: str) -> str:
        """The text of a file as it is compiled, without its first line, which is not the user's."""
        return _read(self.folder / self.files[name]).partition("\n")[2]


def stage(suite: Suite, module: str, name: str, folder: Path) -> Stage | None:
    """Write the files of a module for a target below ``folder``; None if the module has no source.

    Raises:
        CompileError: it does not compile.
        UsageError, MissingTool: as ``build``.
    """
    source, t = source_as_built(suite, module, name), target(name)
    if source is None:
        return None
    installed = rocm.chosen(t)
    compile_ = installed.compile if installed else clang.compile_intermediate
    scratch, root = folder / "whole", folder / "hip"
    unit = compiled(lambda unit: compile_(unit, scratch, t), source, t, root).unit
    scratch.unlink(missing_ok=True)
    files = {json.loads(first.removeprefix(_LINE)): path for path, first in _staged_files(root)}

    def below(path: Path) -> Path:
        place = Path(os.path.normpath(path))
        return place.relative_to(root) if place.is_relative_to(root) else place

    forced = tuple(below(Path(each)) if Path(each).is_absolute() else each for each in unit.forced)
    unit = replace(unit, main=below(unit.main), include=tuple(map(below, unit.include)), forced=forced)
    return Stage(module, name, root, unit, {file: path.relative_to(root) for file, path in files.items()}, folder)


def recompiled(
    stage: Stage, kernels: Collection[str], edit: tuple[str, str] | None = None, *, precompiled: bool = True
) -> str:
    """The listing of kernels, by symbol (with ROCm's compiler: of all), with the text of a file, by its name, replaced.

    Headers that are not ``precompiled`` take a second more, and leave nothing in the cache.

    Raises:
        CompileError: it does not compile.
    """
    t = target(stage.target)
    with tempfile.TemporaryDirectory(prefix="edited-", dir=stage.scratch) as name:
        root, listing = Path(name, "hip"), Path(name, "kernel.s")
        shutil.copytree(stage.folder, root, copy_function=os.link)
        if edit:
            place = root / stage.files[edit[0]]
            head = _read(place).partition("\n")[0]
            place.unlink()  # a link to the file of the stage
            place.write_bytes(f"{head}\n{edit[1]}".encode("utf-8", "surrogateescape"))
        unit = replace(
            stage.unit,
            main=root / stage.unit.main,
            include=tuple(root / folder for folder in stage.unit.include),
            forced=tuple(each if isinstance(each, str) else root / each for each in stage.unit.forced),
        )
        try:
            if installed := rocm.chosen(t):
                installed.compile(unit, listing, t)
            else:
                whole = Path(name, "module.ll")
                clang.compile_intermediate(unit, whole, t, precompiled=precompiled)
                clang.compile_kernels(whole.read_text(), kernels, listing, t, unit.flags)
        except CompileError as error:
            raise PortError.of(error) from None
        return listing.read_text()


def _staged_files(root: Path) -> Sequence[tuple[Path, str]]:
    """The user's files and their first lines."""
    found = []
    for path in sorted(each for each in root.rglob("*") if each.is_file()):
        first = _read(path).partition("\n")[0]
        if first.startswith(_LINE):
            found.append((path, first))
    return found


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")
