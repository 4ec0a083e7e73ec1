"""Collects the source of one side of a module as standalone files, with the options for its compiler.

The files are what parity compiles: ported to AMD, without host code that does not compile here, and with the headers of
the project that they include. The headers of parity that they need are added.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.build.incremental import stage
from parity.build.modules import source_as_built
from parity.build.result import Built
from parity.compilers.include import COMPAT, HEADERS, STUBS, SUPPLEMENT
from parity.compilers.nvcc import FLAGS as CUDA_FLAGS
from parity.compilers.nvcc import CudaOutputs, compile_module
from parity.compilers.targets import target
from parity.errors import UsageError
from parity.hip.hipcc import FLAGS as HIP_FLAGS
from parity.hip.hipcc import OWN
from parity.porting import (
    HIP_ON_CUDA,
    Instantiation,
    StagedCuda,
    as_in_cuda,
    compile_as_cuda,
    found_in,
    included,
    instantiations,
)
from parity.suite.loading import Suite


@dataclass(frozen=True)
class Sources:
    """Files by path, the file to compile, and the compiler options that do not depend on the target.

    ``given`` is True for compiled code, of a module without a CUDA or HIP source: nothing is compiled.
    """

    main: str
    options: tuple[str, ...]
    files: Mapping[str, bytes]
    given: bool = False


def hip_sources(suite: Suite, built: Built) -> Sources:
    """Return the source of a built module's AMD side, below ``hip``, or else its code."""
    with tempfile.TemporaryDirectory(prefix="parity-reproducer-") as scratch:
        staged = stage(suite, built.module, built.target, Path(scratch).resolve())
        if staged is None:
            return _compiled("hip", suite, built)
        unit, tree = staged.unit, _Tree("hip", staged.folder, (COMPAT, SUPPLEMENT, STUBS))
        forced = [str(staged.folder / each) if isinstance(each, Path) else each for each in unit.forced]
        files = _files(staged.folder)
        own = tree.own_headers(files.values(), forced)
        used = [folder for folder in tree.own if any(folder in path.parents for path in own)]
        options = (
            *HIP_FLAGS,
            *map(tree.option, unit.flags),
            *_each("-I", (tree.place(staged.folder / folder) for folder in unit.include)),
            *_each("-isystem", (tree.place(folder) for folder in used if folder == COMPAT)),
            *_each("-include", map(tree.place, forced)),
            *_each("-idirafter", (tree.place(folder) for folder in used if folder != COMPAT)),
        )
        return Sources(tree.place(staged.folder / unit.main), options, tree.moved(files | own))


def cuda_sources(suite: Suite, built: Built, kernels: Sequence[str]) -> Sources:
    """Return the source of a built module's CUDA side, below ``cuda``, or else its code.

    ``kernels`` are the launched kernels.
    """
    source = source_as_built(suite, built.module, built.target)
    if source is None:
        return _compiled("cuda", suite, built)
    cuda = target(built.target)
    with tempfile.TemporaryDirectory(prefix="parity-reproducer-") as scratch:
        place = Path(scratch).resolve()

        def compile_it(staged: StagedCuda) -> bool:
            if built.translation is None:
                return True
            # The unmodified source does not compile, so the offending host code is determined again.
            outputs = CudaOutputs(place / "kernel.ptx", place / "kernel.cubin")
            return bool(compile_module(staged.unit, outputs, cuda).kernels)

        unit = compile_as_cuda(compile_it, source, cuda, place / "staged" / "cuda").unit
        if unit.main == source.path:
            tree = _Tree("cuda", Path(source.root), (STUBS, HIP_ON_CUDA))
            files = {path: text.encode("utf-8", "surrogateescape") for path, text in source.files.items()}
        else:
            root = next(each for each in (place / "staged").iterdir() if each in unit.main.parents)
            tree, files = _Tree("cuda", root, (STUBS, HIP_ON_CUDA)), _files(root)
        forced = [*map(str, unit.forced)]
        own = tree.own_headers(files.values(), forced)
        options = (
            *CUDA_FLAGS,
            *map(tree.option, unit.flags),
            *_each("-I", dict.fromkeys(tree.place(folder) for folder in unit.include if folder.is_dir())),
            *_each("-include", map(tree.place, forced)),
        )
        main, found = tree.place(unit.main), tree.moved(files | own)
    if templates := [Instantiation((), as_in_cuda(name)) for name in kernels if "<" in name]:
        text = f'#include "{os.path.relpath(main, "cuda")}"\n{instantiations(templates)}'
        main = f"cuda/{Path(main).stem}-kernels.cu"
        found[main] = text.encode()
    return Sources(main, options, found)


def _compiled(side: str, suite: Suite, built: Built) -> Sources:
    """Return the code of a code object without a source, or of a Triton function, and the function's Python file.

    Raises:
        UsageError: The module has no file with compiled code.
    """
    code = built.code_object
    if code is None or code.binary is None:
        raise UsageError(f"module {built.module!r} has no source and no code object for {built.target}")
    binary, listing = ("kernel.cubin", "kernel.ptx") if side == "cuda" else ("kernel.hsaco", "kernel.s")
    files = {f"{side}/{binary}": code.binary.read_bytes(), f"{side}/{listing}": code.listing.encode()}
    if (path := suite.files[built.module]).is_file():
        files[f"{side}/{path.name}"] = path.read_bytes()
    return Sources(f"{side}/{binary}", (), files, given=True)


def _files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _each(option: str, values: Iterable[str]) -> Iterator[str]:
    return (part for value in values for part in (option, value))


@dataclass(frozen=True)
class _Tree:
    """The layout of a side's files: files below ``root`` go to its folder, and parity's headers to a folder next to
    them.
    """

    side: str
    root: Path
    own: tuple[Path, ...]

    def place(self, path: Path | str) -> str:
        """Return the path of a file or folder in the reproducer. Other names are returned unchanged."""
        normal = Path(os.path.normpath(path))
        for start, place in ((self.root, Path(self.side)), (HEADERS, Path(self.side, OWN))):
            if normal.is_relative_to(start):
                return (place / normal.relative_to(start)).as_posix()
        return str(path)

    def option(self, flag: str) -> str:
        """Return a compiler option with a changed path, if it is a path."""
        return self.place(flag) if flag.startswith("/") else flag

    def moved(self, files: Mapping[Path, bytes]) -> dict[str, bytes]:
        """Return the files by their new paths."""
        return {self.place(path): content for path, content in files.items()}

    def own_headers(self, texts: Iterable[bytes], forced: Iterable[str]) -> dict[Path, bytes]:
        """Return parity's headers that these texts include, directly or indirectly, regardless of preprocessor
        conditions.
        """
        found: dict[Path, bytes] = {}
        wanted = [(header, self.own) for text in texts for _, header in included(text.decode("utf-8", "replace"))]
        wanted += [(header, self.own) for header in forced]
        while wanted:
            header, folders = wanted.pop()
            path = found_in(header, folders)
            if path and path.is_relative_to(HEADERS) and path not in found:
                found[path] = path.read_bytes()
                folders = (path.parent, *self.own)
                wanted += [(name, folders) for _, name in included(found[path].decode())]
        return found
