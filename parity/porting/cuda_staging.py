"""Compiles the CUDA side of a module, without host code that needs absent headers.

A source is compiled unchanged first. Headers of parity supply what the installed CUDA has removed (``removed_apis``).
If that is not enough, the source is copied without the host code that does not compile. An empty header replaces each
absent header; for cuBLAS and similar libraries, the header declares the used names. Device code does not change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.compilers import cuda_toolkit, nvcc
from parity.compilers.diagnostics import Diagnostic, Place, diagnostics, warnings
from parity.compilers.errors import CompileError
from parity.compilers.headers import CURAND, optional_files
from parity.compilers.include import HEADERS, STUBS
from parity.compilers.nvcc import CudaOutputs, compile_module
from parity.compilers.targets import Target
from parity.compilers.unit import Unit
from parity.model.code_object import CodeObject, plain, unqualified
from parity.model.finding import Finding
from parity.porting import staged_files
from parity.porting.errors import PortError
from parity.porting.hints import remedies
from parity.porting.host_code import HostCode
from parity.porting.implicit_includes import implied_lines
from parity.porting.includes import is_plain
from parity.porting.kernel_templates import (
    INSTANTIATIONS,
    Instantiation,
    as_in_cuda,
    instantiations,
    template_arguments,
)
from parity.porting.linking import lacks_other_files
from parity.porting.removed_apis import headers_for
from parity.porting.repair import repair
from parity.porting.sources import Source
from parity.porting.stubs import (
    LIBRARY_NAMES,
    cuda_library,
    cuda_stub,
    forwarding_header,
    library_names,
    needed_for,
)
from parity.porting.translation import Translation

HIP_ON_CUDA = HEADERS / "cuda"
"""Headers with HIP's names for CUDA's compiler, which stubs include."""


_AFTER_PARSING = re.compile(r"^(?:ptxas|nvlink)(?: [^;\n]*;)? +(?:fatal|error) *: *(.*)", re.MULTILINE)
_SEPARATE = "requires separate compilation mode"
"""Words of nvcc's error for a kernel that launches kernels."""
_REFUSED = re.compile(rf"^{re.escape(INSTANTIATIONS)}\((\d+)\): error", re.MULTILINE)
_FAILED = re.compile(r'\binstantiation of "[^"\n]*?\b(\w+)<[^"\n]*\[with ([^"\n]*)\]"')
"""Matches the instance of a template with an error, such as a static assertion that fails."""


@dataclass(frozen=True)
class StagedCuda:
    """The files to compile, and the changes to the source.

    Attributes:
        unit: The translation unit.
        originals: The names of the source's files, by the paths that nvcc reads.
        host: The host code that is left out.
        stubs: Absent headers that stubs replace.
        removed_apis: Headers that supply what CUDA has removed.
        needs: The names that these supply.
    """

    unit: Unit
    originals: dict[Path, str]
    host: HostCode = field(default_factory=HostCode)
    stubs: tuple[str, ...] = ()
    removed_apis: tuple[str, ...] = ()
    needs: tuple[Finding, ...] = ()

    @property
    def translation(self) -> Translation | None:
        """The changes to the source; None if it is unchanged."""
        if self.host == HostCode() and not self.needs:
            return None
        empty = tuple(header for header in self.host.empty_headers if header not in self.stubs)
        return Translation(
            left_out=self.host.left_out,
            empty_headers=empty,
            stubs=self.stubs,
            needs=self.needs,
            implied=self.host.implied,
        )

    def named(self, path: Path) -> str:
        """Return the name of a file, which does not depend on the place of the source."""
        return self.originals.get(path, str(path))


def compile_as_cuda(
    compile_staged: Callable[[StagedCuda], bool], source: Source, target: Target, folder: Path
) -> StagedCuda:
    """Compile a module for an NVIDIA target, without host code that does not compile; copies are below ``folder``.

    Args:
        compile_staged: Compiles the module, and returns whether it has kernels.
        source: The source.
        target: The target.
        folder: The folder for changed files.

    Raises:
        PortError: Device code does not compile.
    """
    try:
        return _CudaStaging(source, target, folder, cuda_stub).compile(compile_staged)
    except CompileError as error:
        # A stub lacks parts of its library. Kernels that do not need the library may compile without it.
        missing = {each.missing_header for each in diagnostics(error.log)}
        if all(cuda_stub(header) == cuda_library(header) for header in missing):
            raise
        kernels: list[bool] = []
        plain = _CudaStaging(source, target, folder.with_name(f"{folder.name}-plain"), cuda_library)
        try:
            staged = plain.compile(lambda each: kernels.append(compile_staged(each)), tolerate_device_errors=False)
        except CompileError:
            raise error from None
        if not kernels[-1]:
            raise
        return staged


class _CudaStaging:
    """The files of a module, and how to write and repair them. ``stub_for`` returns the stub of an absent header."""

    def __init__(self, source: Source, target: Target, folder: Path, stub_for: Callable[[str], str]) -> None:
        self._source, self._target, self._folder, self._stub_for = source, target, folder, stub_for
        self._texts = {source.name(path): text for path, text in source.files.items()}

    def compile(
        self, compile_staged: Callable[[StagedCuda], object], *, tolerate_device_errors: bool = True
    ) -> StagedCuda:
        """Compile until host code has no errors. Errors in device code end the loop, immediately if not tolerated."""
        staged = self._staged(HostCode())
        rounds = 0
        while True:
            try:
                compile_staged(staged)
                return staged
            except CompileError as error:
                errors = [self._with_source_names(each, staged) for each in diagnostics(error.log)]
                if lacks_other_files(error, errors, self._source):
                    raise self._port_error(error, staged) from None
                if any(each.missing_header for each in errors):
                    missed = nvcc.headers_missed(staged.unit, self._target, self._folder.parent)
                    errors += staged_files.missing_headers(missed, self._texts)
                implied = implied_lines(errors, self._texts, staged.host.implied)
                if new := sorted(line for line in implied if line.startswith("typedef ")):
                    host = replace(staged.host, implied=(*staged.host.implied, *new))
                    staged = _with_removed_apis(self._staged(host), staged.removed_apis, staged.needs)
                    continue
                refused = [self._with_source_names(each, staged) for each in warnings(error.log)]
                supplied = [each for each in headers_for((*errors, *refused)) if each[0] not in staged.removed_apis]
                more: HostCode | None = staged.host
                if not supplied:
                    lacks = (lambda name: bool(needed_for(name))) if self._source.without else None
                    coarse = rounds >= staged_files.FINE_ROUNDS
                    partial = self._source.partial
                    more = repair(staged.host, self._texts, errors, coarse=coarse, lacks=lacks, partial=partial)
                if more is None or rounds == staged_files.ROUNDS or (more.stuck and not tolerate_device_errors):
                    raise self._port_error(error, staged) from None
                # Supplying absent headers and removed APIs does not count as a round.
                rounds += not supplied and len(more.empty_headers) == len(staged.host.empty_headers)
                removed_apis = tuple(dict.fromkeys((*staged.removed_apis, *(header for header, _ in supplied))))
                needs = {each.name: each for each in staged.needs}
                for _, each in supplied:
                    needs.setdefault(each.name, each)
                staged = _with_removed_apis(self._staged(more), removed_apis, tuple(needs.values()))

    def _staged(self, host: HostCode) -> StagedCuda:
        source = self._source
        is_whole = is_plain(source.path) and source.chosen is None and not (source.linked or source.made)
        if host != HostCode() or not is_whole:
            return self._write(host)
        unit = Unit(source.path, source.folders, tuple(map(_forced, source.options.forced)), source.options.flags)
        return StagedCuda(unit, {path: source.name(path) for path in source.files})

    def _write(self, host: HostCode) -> StagedCuda:
        source, empty = self._source, self._folder / staged_files.EMPTY
        originals = {}
        for path, text in source.files.items():
            text = host.blanked(source.name(path), text)
            staged_files.write(
                self._place(path), text + staged_files.appended_code(source, host) if path == source.path else text
            )
            originals[self._place(path)] = source.name(path)
        curand = optional_files(CURAND) if any(header.startswith("curand") for header in host.empty_headers) else None
        real = (*((curand,) if curand else ()), HIP_ON_CUDA)
        for header in host.empty_headers:
            if not any((place / header).is_file() for place in real):
                stub = self._stub_for(header)
                staged_files.write(empty / header, forwarding_header(stub) if stub else "")
        stubs = tuple(each for each in host.empty_headers if self._stub_for(each) or (HIP_ON_CUDA / each).is_file())
        if stubs:
            staged_files.write(empty / LIBRARY_NAMES, library_names(source.files.values(), cuda=cuda_toolkit.headers()))
        forced = {path: str(self._place(Path(path))) for path in source.options.forced if Path(path) in source.files}
        unit = Unit(
            self._place(source.path),
            (
                *map(self._place, source.folders),
                empty,
                *((curand,) if curand else ()),
                *((STUBS, HIP_ON_CUDA) if stubs else ()),
            ),
            (
                *map(str, staged_files.repair_headers(self._folder, host, host.implied, stubs=False)),
                *(forced.get(name, _forced(name)) for name in source.options.forced),
            ),
            source.options.flags,
        )
        return StagedCuda(unit, originals, host, stubs)

    def _place(self, path: Path) -> Path:
        return Path(os.path.normpath(self._folder / os.path.relpath(path, self._source.root)))

    def _with_source_names(self, error: Diagnostic, staged: StagedCuda) -> Diagnostic:
        """Return an error with the source's file names. nvcc omits columns, so the first column with code is used."""

        def named(place: Place) -> Place:
            file, line, column = place
            name = staged.originals.get(Path(os.path.normpath(file)), file)
            lines = self._texts.get(name, "").split("\n", line)
            if column == 1 and len(lines) >= line:
                column += len(lines[line - 1]) - len(lines[line - 1].lstrip())
            return name, line, column

        return error.renamed(named)

    def _port_error(self, error: CompileError, staged: StagedCuda) -> PortError:
        """Return an error in terms of the source's files, preceded by its possible causes."""
        source = self._source
        paths = {str(place): str(source.originals[name]) for place, name in staged.originals.items()}
        known = re.compile(rf"(?:{'|'.join(map(re.escape, paths))})(?=[:(,\"' ])")
        log = known.sub(lambda match: paths[match[0]], error.log)
        log = _AFTER_PARSING.sub(lambda match: f"{source.path}:1:1: error: {match[1]}", log)
        is_parsed = _SEPARATE in log or not diagnostics(error.log)  # so that absent headers are not the cause
        # A header with a stub is not absent.
        absent = zip(staged.host.empty_headers, staged.host.missing, strict=True)
        missing = [] if is_parsed else [text for header, text in absent if header not in staged.stubs]
        causes = (*missing, *staged.host.reasons_of(diagnostics(log)))
        log = "\n".join((*_with_paths(causes, source), log))
        found = remedies(source, source.files, diagnostics(log))
        return PortError(error.module, error.target, log, error.files, remedies=found)


def _with_removed_apis(staged: StagedCuda, removed_apis: tuple[str, ...], needs: tuple[Finding, ...]) -> StagedCuda:
    if not removed_apis:
        return staged
    forced = (*(str(HIP_ON_CUDA / header) for header in removed_apis), *staged.unit.forced)
    return replace(staged, unit=replace(staged.unit, forced=forced), removed_apis=removed_apis, needs=needs)


def _forced(name: str | Path) -> str:
    """Return the path of a header that is included first, if it is one of parity's."""
    return str(STUBS / name) if (STUBS / name).is_file() else str(name)


def _with_paths(lines: Sequence[str], source: Source) -> list[str]:
    parts = (line.partition(":") for line in lines)
    return [f"{source.originals.get(name, name)}{colon}{rest}" for name, colon, rest in parts]


def compile_with_templates(unit: Unit, outputs: CudaOutputs, target: Target, kernels: Sequence[str]) -> CodeObject:
    """Compile a source, and instantiate templates with arguments in ``kernels``.

    A second file includes the source and names them, whether or not the source does. Templates that the source does not
    have are omitted.

    Raises:
        CompileError, MissingTool: as ``compile_module``.
    """
    wanted = [Instantiation((), as_in_cuda(name)) for name in kernels]
    main = outputs.ptx.with_name(f"{unit.main.stem}-kernels.cu")
    while wanted:
        main.write_text(f'#include "{unit.main.absolute()}"\n{instantiations(wanted)}')
        try:
            return compile_module(unit, outputs, target, main=main)
        except CompileError as error:
            lines = {int(line) - 1 for line in _REFUSED.findall(error.log)}
            failed = {_instance(name, values) for name, values in _FAILED.findall(error.log)}
            accepted = [each for i, each in enumerate(wanted) if i not in lines and _plain(each.name) not in failed]
            if accepted == wanted:
                raise
            wanted = accepted
        finally:
            main.unlink()
    return compile_module(unit, outputs, target)


def _instance(name: str, values: str) -> str:
    """Return the plain name of an instance whose parameters have these values in nvcc's list (``N=32U, B=true``)."""
    return plain(f"{name}<{','.join(each.partition('=')[2] for each in template_arguments(f'<{values}>'))}>")


def _plain(name: str) -> str:
    return plain(f"{unqualified(name)}<{name.partition('<')[2]}")
