"""Builds a module whose kernels are Triton functions."""

from __future__ import annotations

import functools
import time
from pathlib import Path

from parity.build.cache_entries import current_entry, read_code, read_record, write_record
from parity.build.compilation import tools_digest
from parity.build.result import Built
from parity.compilers.errors import CompileError
from parity.compilers.targets import Target
from parity.platform.cache import Cache, digest
from parity.platform.serialization import read_json
from parity.porting import Source
from parity.triton_kernels.compilation import compile_module, triton_version
from parity.triton_kernels.kernel import Specialization


def build_triton(source: Source, target: Target, cache: Cache) -> Built:
    """Build the Triton kernels of a module. The result is cached until one of the imported files changes.

    Raises:
        MissingTool: Triton is not installed.
    """
    start = time.perf_counter()
    made_by = triton_version()
    text = next(iter(source.files.values()))
    entry = digest(tools_digest(), made_by, target.name, source.module, source.name(source.path), *source.kernels, text)
    try:
        folder, cached = current_entry(cache, entry, functools.partial(_compile, source, target))
    except CompileError as error:
        return Built(source.module, target.name, time.perf_counter() - start, error=error)
    code = read_code(folder, read_record(folder), source, target.name, f"Triton source, {made_by}")
    return Built(source.module, target.name, time.perf_counter() - start, cached=cached, code_object=code)


def _compile(source: Source, target: Target, folder: Path) -> None:
    kernels = [read_json(text, Specialization, "a specialization") for text in source.kernels]
    made = compile_module(source.module, source.folder, kernels, target, folder)
    names = [path.as_posix() for path in made.code.sources]
    write_record(made.code, made.listing, made.binary, sources=names, outside=made.files)
