"""Compiles one source for one target into a folder of the cache."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from parity import porting  # imports the names that only a compilation needs on first use
from parity.build.cache_entries import write_record
from parity.compilers import assembler, binary_listing, cuda_toolkit, nvcc
from parity.compilers.clang import Clang
from parity.compilers.compile_options import named_files
from parity.compilers.dependencies import headers_outside
from parity.compilers.environment import compiler_settings
from parity.compilers.errors import CompileError
from parity.compilers.include import HEADERS
from parity.compilers.targets import Target
from parity.compilers.toolchain import chosen
from parity.compilers.unit import Unit
from parity.model.code_object import CodeObject, parse, source_name, unqualified
from parity.platform.cache import Cache, default_root, digest, file_digest
from parity.porting import (
    LITERAL,
    PortError,
    Source,
    Translation,
    TranslationError,
    hipifier_fingerprint,
    included,
    real_libraries,
)

TOOLS = (
    *("errors.py", "platform/*", "model/code_object.py", "model/finding.py"),
    *("compilers/*", "porting/*", "triton_kernels/*", "build/*"),
)
"""parity's own files that affect a build: this module and everything that it imports, with the tables."""

_MOST_COMPILATIONS = 32
"""Compilations of a module for a target after which no other variant is tried."""


@dataclass
class Attempts:
    """Counts the compilations of a module for a target. ``retrying`` is called with a text from the second one on."""

    module: str
    target: str
    retrying: Callable[[str], None] | None
    count: int = 0

    @property
    def exhausted(self) -> bool:
        """True if no more variants may be tried."""
        return self.count >= _MOST_COMPILATIONS

    def begin(self) -> None:
        """Count one more compilation."""
        self.count += 1
        if self.retrying and self.count > 1:
            self.retrying(f"{self.module} {self.target}, compilation {self.count}")


@dataclass(frozen=True)
class Job:
    """The target and the cache of a build. ``fingerprint`` is the digest of the compilers for the target."""

    target: Target
    fingerprint: str
    cache: Cache
    attempts: Attempts


def fingerprint(target: Target) -> str:
    """Return the digest of everything except the source that affects a build for a target.

    Raises:
        MissingTool: a compiler or the device libraries are not installed.
        UsageError: an environment variable has a flag that parity does not accept.
    """
    compiler = nvcc if target.vendor == "cuda" else chosen(target)
    return digest(tools_digest(), *compiler_settings(), compiler.fingerprint(target))


@functools.cache
def tools_digest() -> str:
    """Return the digest of parity's translation and build code, which affects results like a compiler's version."""
    root = Path(__file__).parents[1]
    files = (
        file for pattern in TOOLS for file in root.glob(pattern) if file.suffix in (".py", ".csv", ".toml", ".c", ".s")
    )
    return digest(*(file.read_bytes() for file in sorted(files)))


def key(source: Source, job: Job) -> str:
    """Return the cache key of a source: the digest of everything that affects the code."""
    parts = [part for path in sorted(source.files) for part in (source.name(path), source.files[path])]
    options = source.options
    settings = (
        "flags",
        *options.flags,
        *map(file_digest, named_files(options.flags)),
        "include",
        *map(source.name, source.folders),
        "forced",
        *options.forced,
    )
    settings = (*settings, "kernels", *source.kernels, "linked", *map(source.name, source.linked))
    settings = (*settings, "without") if source.without else settings
    settings = (*settings, "partial") if source.partial else settings
    settings = settings if source.chosen is None else (*settings, "chosen", *source.chosen)
    if job.target.vendor == "amd" and not source.ported:
        settings = (*settings, "hipify", hipifier_fingerprint(source.hipifier))
    if job.target.vendor == "amd":
        headers = (header for text in source.files.values() for _, header in included(text))
        settings = (*settings, *real_libraries(headers, chosen(job.target).libraries))
    names = (source.name(source.path), str(source.ported))
    return digest(job.fingerprint, *names, *settings, *(part.encode("utf-8", "surrogateescape") for part in parts))


def provenance(source: Source, target: Target) -> str:
    """Describe the sources, the compiler and the headers that code is built from."""
    if target.vendor == "cuda":
        return f"CUDA sources, {cuda_toolkit.described()}"
    translated = "hipified" if source.hipifier == LITERAL else f"hipified ({source.hipifier})"
    sources = "ported sources" if source.ported else translated
    switches = "".join(f", {source.module} with {each.flag} as {each.file.name} has it" for each in source.switches)
    return f"{sources}{switches}, {chosen(target).described}"


def compile_source(source: Source, job: Job, folder: Path) -> None:
    """Compile a source and write the code object, its listing and their record to ``folder``.

    Raises:
        PortError: the source does not compile.
    """
    (_compile_cuda if job.target.vendor == "cuda" else _compile_amd)(source.with_chosen_bodies(), job, folder)


def disassemble(source: Source, path: Path, content: bytes, folder: Path) -> None:
    """Write the code object of a given file, its listing and their record to ``folder``."""
    # Compiled code objects, whose listings need no disassembler, have a different suffix.
    listing, copy = folder / f"{source.path.stem}.s", folder / f"{source.path.stem}.co"
    copy.write_bytes(content)
    listing.write_text(binary_listing.disassembled_listing(copy, path.name))
    write_record(parse(listing.read_text(), source.module), listing, copy, sources=[source.name(path)])


def _compile_amd(source: Source, job: Job, folder: Path) -> None:
    target = job.target
    clang = Clang(target, chosen(target))
    listing, hsaco = folder / f"{source.path.stem}.s", folder / f"{source.path.stem}.hsaco"

    def compile_it(unit: Unit) -> None:
        job.attempts.begin()
        clang.compile_listing(unit, listing)
        try:
            clang.assemble(listing, hsaco)
        except CompileError as error:
            raise assembler.assembly_error(error, unit, listing, target) from None

    try:
        staged = porting.compile_as_hip(compile_it, source, clang, folder / "hip")
    except TranslationError as error:
        raise PortError(source.module, target.name, str(error)) from error
    code = parse(listing.read_text(), source.module)
    if not code.kernels and (unsupported := _unsupported_kernels(source, target, staged.translation)):
        raise unsupported
    write_record(
        code,
        listing,
        hsaco,
        # File 0 of the line table may be the hipified text itself, which no line refers to.
        sources=[path.as_posix() for path in code.sources if source.ported or path != Path(staged.unit.main.name)],
        hip=staged.unit.main.relative_to(folder).as_posix(),
        translation=replace(staged.translation, needs=porting.confirmed(staged.translation.needs, code.sources)),
        outside=headers_outside(listing, staged.unit.main.parent, (HEADERS, default_root(), *clang.toolchain.folders)),
    )


def _unsupported_kernels(source: Source, target: Target, translation: Translation) -> PortError | None:
    """Return the error for a module whose kernels were all removed, because no AMD GPU supports what they do."""
    removed = (piece for piece in translation.left_out if piece.function and not piece.is_call)
    pieces = sorted(removed, key=lambda piece: (piece.file, piece.line))
    if not pieces:
        return None
    paths = {name: str(path) for name, path in source.originals.items()}
    log = "\n".join(f"{paths[each.file]}:{each.line}:1: error: '{each.function}': {each.because}" for each in pieces)
    return PortError(source.module, target.name, log, frozenset(paths.values()), translation=translation)


def _compile_cuda(source: Source, job: Job, folder: Path) -> None:
    ptx, cubin = folder / f"{source.path.stem}.ptx", folder / f"{source.path.stem}.cubin"
    made: list[CodeObject] = []

    def compile_it(staged: porting.StagedCuda) -> bool:
        job.attempts.begin()
        outputs = nvcc.CudaOutputs(ptx, cubin, staged.named)
        made[:] = [porting.compile_with_templates(staged.unit, outputs, job.target, source.kernels)]
        return bool(made[0].kernels)

    staged = porting.compile_as_cuda(compile_it, source, job.target, folder / "cuda")
    names = [source.name(path) for path in source.files]
    outside = headers_outside(ptx, Path.cwd(), (*source.files, HEADERS, *cuda_toolkit.header_folders()))
    code = _with_argument_names(made[0], source)
    write_record(code, ptx, cubin, sources=names, translation=staged.translation, outside=outside)


def _with_argument_names(code: CodeObject, source: Source) -> CodeObject:
    """Add the names of kernel arguments from the source. PTX does not have them."""
    names: dict[str, tuple[str, ...]] = {}
    for text in source.files.values():
        if "__global__" in text:
            names |= porting.parameters(text)
    kernels = {}
    for symbol, kernel in code.kernels.items():
        own = names.get(unqualified(source_name(symbol)), ())
        pairs = zip(kernel.args, own, strict=True) if len(own) == len(kernel.args) else ()
        named = tuple(replace(argument, name=name) for argument, name in pairs)
        kernels[symbol] = replace(kernel, args=named or kernel.args)
    return replace(code, kernels=kernels)
