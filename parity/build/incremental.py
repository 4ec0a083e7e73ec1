"""Recompiles a few kernels of a module's AMD source, each time with a different edit of a file.

Translation and the removal of host code happen once. A recompilation takes a second or two, because all other kernels
are removed before clang optimizes the code (``Clang.compile_kernels``).
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from parity.build.modules import source_as_built
from parity.compilers.clang import Clang
from parity.compilers.errors import CompileError
from parity.compilers.targets import target
from parity.compilers.toolchain import chosen
from parity.compilers.unit import Unit
from parity.porting import PortError, compile_as_hip
from parity.suite.loading import Suite

_LINE = "#line 1 "


@dataclass(frozen=True)
class Stage:
    """The files of a module's AMD source as they are compiled.

    Attributes:
        module: Name of the module.
        target: Name of the target.
        folder: The root of the files.
        unit: The source to compile. Paths below ``folder`` are relative to it.
        files: Paths below ``folder`` of the user's files, by their names in line tables. The first line of each file
            is not the user's.
        scratch: A folder for temporary files on the same file system.
    """

    module: str
    target: str
    folder: Path
    unit: Unit
    files: Mapping[str, Path]
    scratch: Path

    def text(self, name: str) -> str:
        """Return the text of a user's file that the compiler reads."""
        return _read(self.folder / self.files[name]).partition("\n")[2]


def stage(suite: Suite, module: str, name: str, folder: Path) -> Stage | None:
    """Write the files of a module for a target below ``folder``. Return None if the module has no source.

    Raises:
        CompileError: the module does not compile.
        UsageError, MissingTool: as ``build``.
    """
    source, t = source_as_built(suite, module, name), target(name)
    if source is None:
        return None
    clang = Clang(t, chosen(t))
    output, root = folder / "whole", folder / "hip"
    unit = compile_as_hip(lambda unit: clang.compile_intermediate(unit, output), source, clang, root).unit
    output.unlink(missing_ok=True)

    def relative(path: Path) -> Path:
        place = Path(os.path.normpath(path))
        return place.relative_to(root) if place.is_relative_to(root) else place

    forced = tuple(relative(Path(each)) if Path(each).is_absolute() else each for each in unit.forced)
    unit = replace(unit, main=relative(unit.main), include=tuple(map(relative, unit.include)), forced=forced)
    return Stage(module, name, root, unit, dict(_user_files(root)), folder)


def recompiled(
    stage: Stage, kernels: Collection[str], edit: tuple[str, str] | None = None, *, precompiled: bool = True
) -> str:
    """Return the listing of kernels after an edit.

    Args:
        stage: The module.
        kernels: Symbols of the kernels.
        edit: The name of a user's file, and the text that replaces its content.
        precompiled: Whether headers are precompiled. Otherwise compilation takes a second longer, and the cache does
            not grow.

    Raises:
        CompileError: the edited module does not compile.
    """
    t = target(stage.target)
    with tempfile.TemporaryDirectory(prefix="edited-", dir=stage.scratch) as name:
        root, listing = Path(name, "hip"), Path(name, "kernel.s")
        shutil.copytree(stage.folder, root, copy_function=os.link)
        if edit:
            place = root / stage.files[edit[0]]
            first = _read(place).partition("\n")[0]
            place.unlink()  # a hard link to the file of the stage
            place.write_bytes(f"{first}\n{edit[1]}".encode("utf-8", "surrogateescape"))
        unit = replace(
            stage.unit,
            main=root / stage.unit.main,
            include=tuple(root / folder for folder in stage.unit.include),
            forced=tuple(each if isinstance(each, str) else root / each for each in stage.unit.forced),
        )
        try:
            whole, clang = Path(name, "module.ll"), Clang(t, chosen(t))
            clang.compile_intermediate(unit, whole, precompiled=precompiled)
            clang.compile_kernels(whole.read_text(), kernels, listing, unit.flags)
        except CompileError as error:
            raise PortError(error.module, error.target, error.log, error.files) from None
        return listing.read_text()


def _user_files(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and the relative path of each file that is derived from a user's file."""
    for path in sorted(each for each in root.rglob("*") if each.is_file()):
        first = _read(path).partition("\n")[0]
        if first.startswith(_LINE):
            yield json.loads(first.removeprefix(_LINE)), path.relative_to(root)


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")
