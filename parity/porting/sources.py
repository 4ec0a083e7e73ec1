"""Finds the modules of a kernels folder, and describes the sources of one side of a module."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.compilers.compile_options import CompileOptions
from parity.errors import UsageError, nearest
from parity.model.code_object import replaced_source
from parity.platform.files import CUDA_SUFFIXES, find_below
from parity.porting.build_files import Switch
from parity.porting.header_templates import GeneratedHeader
from parity.porting.hipify import LITERAL
from parity.porting.host_code import RepairState
from parity.porting.includes import included, searched
from parity.porting.kernel_templates import with_chosen_bodies
from parity.porting.python_sources import is_cuda_source

PORTED_SUFFIXES = (".hip", ".cu.hip", ".hip.cpp", ".cu", ".cpp", ".cc", ".cxx")
"""Suffixes of the source of a port, the most likely first."""

_MODULE_SUFFIXES = (*CUDA_SUFFIXES, ".hip", ".hsaco", ".co")
"""Suffixes of a module's file; the first one that exists counts."""
_UPWARDS = re.compile(r"(?:\.\./)+")


@dataclass(frozen=True)
class Source:
    """The sources of one side of a module.

    Attributes:
        module: The module's name.
        folder: The kernels folder.
        path: The file to compile.
        options: The compile options of the side.
        files: Texts of the file and of all files that it may include, by path.
        ported: The sources are HIP already, and compiled without translation.
        hipifier: The translator of other sources.
        kernels: Kernel templates with arguments to instantiate, even if host code does not launch them.
        chosen: The only instances of kernel templates that do something; None for all.
        prebuilt: Code objects that replace a source, by target.
        around, ambiguous, made: As in ``Closure``.
        switches: Flags that come from the project's build files, and not from a setting.
        linked: Other sources that nvcc links with this one, and that are compiled after it.
        parts: Sources that ``path`` includes, and that are built by building it.
        is_triton: The kernels are Triton functions of a Python file.
        guessed: parity guessed ``kernels``; the user did not request them.
        without: Device code is left out as well if its headers or libraries are absent.
        partial: Device code with errors is left out as well.
        repairs: The progress in leaving out code that does not compile.
    """

    module: str
    folder: Path
    path: Path
    options: CompileOptions
    files: Mapping[Path, str]
    ported: bool = False
    hipifier: str = LITERAL
    kernels: tuple[str, ...] = ()
    chosen: tuple[str, ...] | None = None
    prebuilt: Mapping[str, Path] = field(default_factory=dict)
    around: tuple[Path, ...] = ()
    ambiguous: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    made: Mapping[str, GeneratedHeader] = field(default_factory=dict)
    switches: tuple[Switch, ...] = ()
    linked: tuple[Path, ...] = ()
    parts: tuple[Path, ...] = ()
    is_triton: bool = False
    guessed: bool = False
    without: bool = False
    partial: bool = False
    repairs: RepairState = field(default_factory=RepairState, repr=False, compare=False)

    @property
    def part_of(self) -> Path | None:
        """The file to compile, if it includes the module's own source."""
        return self.path if self.parts else None

    @functools.cached_property
    def root(self) -> str:
        """The common parent of all files, whose relative places the staged files keep."""
        return os.path.commonpath([*self.folders, *(p.parent for p in self.files), *self._climbed()])

    def _climbed(self) -> Iterator[Path]:
        """Yield the folders that an include such as ``../here/name.h`` passes through."""
        for path, text in self.files.items():
            for bracket, header in included(text):
                if climbs := _UPWARDS.match(header):
                    for place in searched(bracket, path.parent, self.folders):
                        if Path(os.path.normpath(place / header)) in self.files:
                            yield Path(os.path.normpath(place / climbs[0]))

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders to search for headers."""
        return (self.folder, *self.options.include, *self.around)

    @functools.cached_property
    def originals(self) -> Mapping[str, Path]:
        """The files by their names in ``#line``."""
        return {self.name(path): path for path in self.files}

    def with_chosen_bodies(self) -> Source:
        """Return the source as it is compiled: without the bodies of kernel templates that are not chosen."""
        if self.chosen is None:
            return self
        return replace(self, files={path: with_chosen_bodies(text, self.chosen) for path, text in self.files.items()})

    def unrepaired(self) -> Source:
        """Return the source without its repair state."""
        return replace(self, repairs=RepairState())

    def name(self, path: Path) -> str:
        """Return the name of a file in ``#line``: relative to the folder, so that cached listings can move."""
        return Path(os.path.relpath(path, self.folder)).as_posix()


_LONGEST = 180
"""Bytes in the name of a source. File systems allow 255, and compilers add up to 60 in the names of their files."""


def find_modules(
    folder: Path, modules: Iterable[str] | None = None, *, ported: Path | None = None, declared: Iterable[Path] = ()
) -> dict[str, Path]:
    """Return the source of each module in ``folder``, or of the given modules, in alphabetical order.

    A module is a ``.cu`` or ``.cu.cc`` file, a ``.hip`` file without such a file next to it, or a Python file that
    embeds CUDA code. Its name is the path below ``folder`` without the suffix. The source of a module that is given as
    code objects does not exist. Files below ``ported`` belong to the other side. Other Python files are modules only if
    they are among ``declared``.

    Raises:
        UsageError: The folder does not exist or holds no source, a name is too long, or a module is not in it.
    """
    if not folder.is_dir():
        raise UsageError(f"no kernels folder {folder}; set 'kernels' in [tool.parity] of pyproject.toml")
    apart = ported if ported and ported != folder and ported.is_relative_to(folder) else None
    found: dict[str, Path] = {}
    python = [path for path in declared if path.suffix == ".py" and path.is_file()]
    files = sorted(find_below(folder, *_MODULE_SUFFIXES, ".py"))
    python += [path for path in files if path.suffix == ".py" and path not in python and is_cuda_source(path)]
    for path in (*sorted((each for each in files if each.suffix != ".py"), key=_rank), *python):
        if apart and path.is_relative_to(apart):
            continue
        source = replaced_source(path)
        name = source.relative_to(folder).as_posix()
        for suffix in (".hip", ".py", *reversed(CUDA_SUFFIXES)):
            name = name.removesuffix(suffix)
        found.setdefault(name, source)
    found = dict(sorted(found.items()))
    if not found:
        raise UsageError(
            f"the kernels folder {folder} holds no .cu or .hip file, and no code object; a module is one .cu file"
        )
    if long := next((path for path in found.values() if len(os.fsencode(path.name)) > _LONGEST), None):
        raise UsageError(f"rename {long}: compilers lengthen the names of sources, which may have {_LONGEST} bytes")
    if modules is None:
        return found
    wanted = tuple(modules)
    for module in wanted:
        if module not in found:
            raise UsageError(f"no module {module!r} in {folder}; it has {' '.join(found)}{nearest(module, found)}")
    return {module: found[module] for module in wanted}


def _rank(path: Path) -> int:
    return next(rank for rank, suffix in enumerate(_MODULE_SUFFIXES) if path.name.endswith(suffix))


def find_ported(path: Path, folder: Path, ported: Path) -> Path | None:
    """Return the HIP source in ``ported`` of the CUDA source ``path`` in ``folder``; None if it does not exist.

    Both have the same relative path, except for the suffix (``PORTED_SUFFIXES``) and for ``cuda`` in place of ``hip``,
    which torch's hipify replaces.
    """
    wanted = _ported_name(path.relative_to(folder), CUDA_SUFFIXES)
    candidates = sorted(each for each in find_below(ported, *PORTED_SUFFIXES) if each != path)
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
