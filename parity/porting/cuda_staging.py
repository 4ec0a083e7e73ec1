"""The CUDA side of a module whose host code wants what is not here: without it, as AMD's side has it (``staging.py``).

A source is compiled as it is first. What it uses of former versions of CUDA comes from headers of parity's
(``former.py``). Only where that does not do it is written elsewhere, with an empty header for each that is not here
(one of cuBLAS and the like has the names that are used) and without the host code that then does not compile; device
code is never touched.
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
from parity.compilers.headers import curand_headers
from parity.compilers.include import HEADERS, STUBS
from parity.compilers.targets import Target
from parity.compilers.unit import Unit
from parity.model.finding import Finding
from parity.porting.errors import PortError
from parity.porting.hints import hints, remedies
from parity.porting.host_code import HostCode
from parity.porting.host_pieces import ANYTHING
from parity.porting.library_names import LIBRARY_NAMES, library_names
from parity.porting.removed_apis import missed
from parity.porting.repair import repair
from parity.porting.sources import Source
from parity.porting.staging import ANYTHING_HEADER, EMPTY, FINE_ROUNDS, ROUNDS, STANDARD_HEADER, appended, not_found
from parity.porting.stubs import cuda_library, cuda_stub, forwarding_header

__all__ = ["StagedCuda", "compiled"]

HIP_ON_CUDA = HEADERS / "cuda"
"""Headers by HIP's names that stubs include, for CUDA's compiler."""


@dataclass(frozen=True)
class StagedCuda:
    """A module as it is compiled, and what was done.

    ``originals`` are the names of the source's files, by the paths that nvcc knows them by; ``stubs`` are those of the
    headers that are not here that small ones of parity's answer, ``former`` those that supply what nvcc has no more,
    and ``needs`` what that is.
    """

    unit: Unit
    originals: dict[Path, str]
    host: HostCode = field(default_factory=HostCode)
    stubs: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    needs: tuple[Finding, ...] = ()

    def named(self, path: Path) -> str:
        """The name of a file that is the same wherever the source is."""
        return self.originals.get(path, str(path))


def compiled(compile_it: Callable[[StagedCuda], bool], source: Source, target: Target, folder: Path) -> StagedCuda:
    """Compile a module as it is, or without host code that does not compile here, below ``folder``; what compiled.

    ``compile_it`` says whether kernels came out of it.

    Raises:
        PortError: device code does not compile.
    """
    try:
        return _compiled(compile_it, source, target, folder, cuda_stub)
    except CompileError as error:
        # A stub is not the library. Kernels that need nothing of it compile without, which is tried where it was used.
        if not any(
            cuda_stub(each.missing_header) != cuda_library(each.missing_header) for each in diagnostics(error.log)
        ):
            raise
        kernels: list[bool] = []
        plain = folder.with_name(f"{folder.name}-plain")
        try:
            staged = _compiled(
                lambda each: kernels.append(compile_it(each)), source, target, plain, cuda_library, patient=False
            )
        except CompileError:
            raise error from None
        if not kernels[-1]:  # they need it
            raise
        return staged


def _compiled(
    compile_it: Callable[[StagedCuda], object],
    source: Source,
    target: Target,
    folder: Path,
    stub_for: Callable[[str], str],
    *,
    patient: bool = True,
) -> StagedCuda:
    """What compiled with these stubs; who is not ``patient`` ends where device code is in the way."""
    staged = _prepared(source, HostCode(), folder, stub_for)
    rounds = 0
    while True:
        try:
            compile_it(staged)
            return staged
        except CompileError as error:
            names = staged.originals
            texts = {source.name(path): text for path, text in source.files.items()}
            errors = [_named(each, names, texts) for each in diagnostics(error.log)]
            if any(each.missing_header for each in errors):
                errors += not_found(nvcc.headers_missed(staged.unit, target, folder.parent), texts)
            refused = [_named(each, names, texts) for each in warnings(error.log)]
            supplied = [each for each in missed((*errors, *refused)) if each[0] not in staged.former]
            host = staged.host if supplied else repair(staged.host, texts, errors, coarse=rounds >= FINE_ROUNDS)
            if host is None or rounds == ROUNDS or (host.stuck and not patient):
                raise _explained(error, staged, source) from None
            # A header that is not there is found before anything else, and no error of host code.
            rounds += not supplied and len(host.empty_headers) == len(staged.host.empty_headers)
            former = tuple(dict.fromkeys((*staged.former, *(header for header, _ in supplied))))
            needs = {each.name: each for each in staged.needs}
            for _, each in supplied:
                needs.setdefault(each.name, each)
            staged = _with_former(_prepared(source, host, folder, stub_for), former, tuple(needs.values()))


def _prepared(source: Source, host: HostCode, folder: Path, stub_for: Callable[[str], str]) -> StagedCuda:
    """The source as it is, if nothing is left out and no other file is compiled with it."""
    if host != HostCode() or source.linked:
        return _staged(source, host, folder, stub_for)
    unit = Unit(source.path, source.folders, tuple(map(_forced, source.side.forced)), source.side.flags)
    return StagedCuda(unit, {path: source.name(path) for path in source.files})


def _with_former(staged: StagedCuda, former: tuple[str, ...], needs: tuple[Finding, ...]) -> StagedCuda:
    if not former:
        return staged
    forced = (*(str(HIP_ON_CUDA / header) for header in former), *staged.unit.forced)
    return replace(staged, unit=replace(staged.unit, forced=forced), former=former, needs=needs)


def _staged(source: Source, host: HostCode, folder: Path, stub_for: Callable[[str], str]) -> StagedCuda:
    def place_of(path: Path) -> Path:
        return folder / os.path.relpath(path, source.root)

    originals = {}
    for path, text in source.files.items():
        place = Path(os.path.normpath(place_of(path)))
        place.parent.mkdir(parents=True, exist_ok=True)
        text = host.blanked(source.name(path), text)
        if path == source.path:
            text += appended(source, host)
        place.write_bytes(text.encode("utf-8", "surrogateescape"))
        originals[place] = source.name(path)
    curand = curand_headers() if any(header.startswith("curand") for header in host.empty_headers) else None
    ready = (*((curand,) if curand else ()), HIP_ON_CUDA)
    for header in host.empty_headers:
        if any((place / header).is_file() for place in ready):
            continue
        stub = stub_for(header)
        (folder / EMPTY / header).parent.mkdir(parents=True, exist_ok=True)
        (folder / EMPTY / header).write_text(forwarding_header(stub) if stub else "")
    stubs = tuple(each for each in host.empty_headers if stub_for(each) or (HIP_ON_CUDA / each).is_file())
    if stubs:
        (folder / EMPTY / LIBRARY_NAMES).parent.mkdir(parents=True, exist_ok=True)
        (folder / EMPTY / LIBRARY_NAMES).write_text(library_names(source.files.values(), cuda=cuda_toolkit.headers()))
    forced = {path: str(place_of(Path(path))) for path in source.side.forced if Path(path) in source.files}
    anything = any(ANYTHING in piece.instead for piece in host.left_out)
    unit = Unit(
        Path(os.path.normpath(place_of(source.path))),
        (
            *map(place_of, source.folders),
            folder / EMPTY,
            *((curand,) if curand else ()),
            *((STUBS, HIP_ON_CUDA) if stubs else ()),
        ),
        (
            *((str(STANDARD_HEADER),) if host.empty_headers else ()),
            *((str(ANYTHING_HEADER),) if anything else ()),
            *(forced.get(name, _forced(name)) for name in source.side.forced),
        ),
        source.side.flags,
    )
    return StagedCuda(unit, originals, host, stubs)


def _forced(name: str | Path) -> str:
    """The header that a setting or a variant forces in: one of parity's own by its path."""
    return str(STUBS / name) if (STUBS / name).is_file() else str(name)


def _named(error: Diagnostic, names: dict[Path, str], texts: dict[str, str]) -> Diagnostic:
    """The error at the names that the source has for its files. nvcc says no column: it is where the line begins."""

    def named(place: Place) -> Place:
        file, line, column = place
        name = names.get(Path(os.path.normpath(file)), file)
        lines = texts.get(name, "").split("\n", line)
        if column == 1 and len(lines) >= line:
            column += len(lines[line - 1]) - len(lines[line - 1].lstrip())
        return name, line, column

    return replace(error, places=tuple(map(named, error.places)), included=tuple(map(named, error.included)))


def _explained(error: CompileError, staged: StagedCuda, source: Source) -> PortError:
    """The error in terms of the source's files, behind what led to it."""
    paths = {str(place): str(source.originals[name]) for place, name in staged.originals.items()}
    known = re.compile(rf"(?:{'|'.join(map(re.escape, paths))})(?=[:(,\"' ])")
    log = known.sub(lambda match: paths[match[0]], error.log)
    first = (*staged.host.missing, *staged.host.reasons_of(each.text for each in diagnostics(log)))
    found = hints(source, source.files, diagnostics(log))
    log = "\n".join((*_placed(first, source), log))
    return PortError(error.module, error.target, log, error.files, remedies=remedies(found))


def _placed(lines: Sequence[str], source: Source) -> list[str]:
    """Errors at the paths of the files that they name."""
    parts = (line.partition(":") for line in lines)
    return [f"{source.originals.get(name, name)}{colon}{rest}" for name, colon, rest in parts]
