"""Builds one module: as its source stands or, where that fails, as the first variant of it that works."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parity import porting  # imports the names that only a search needs on first use
from parity.build.cache_entries import current_entry, read_code, read_record
from parity.build.compilation import Job, compile_source, disassemble, key, provenance, tools_digest
from parity.build.result import Built
from parity.compilers import disassembler
from parity.compilers.diagnostics import diagnostics
from parity.compilers.errors import UnusableCodeObject
from parity.compilers.offload_bundle import code_object_for
from parity.compilers.targets import Target
from parity.errors import UsageError
from parity.model.code_object import idle, source_name, unqualified
from parity.model.finding import Finding
from parity.platform.cache import Cache, digest
from parity.platform.serialization import json_text, read_json
from parity.porting import HELPFUL, PortError, Source, Translation

_VARIANT = "variant.json"
"""The cache entry that remembers which variant of a source worked."""
_PARTIAL = porting.Variant("partial", ())
_SHOWN_LINES = 3
"""Lines of the helpful translation that a message shows."""


@dataclass(frozen=True)
class _Attempt:
    """The build of a source without changes, and the variants to try next.

    ``empty_kernels`` are kernels without code although the source has a body for them.
    """

    built: Built
    variants: Iterable[porting.Variant] = ()
    empty_kernels: frozenset[str] = frozenset()


def build_source(source: Source, job: Job) -> Built:
    """Build a source or a variant of it.

    An error advises the helpful hipify style if that compiles. If nothing compiles as a whole, the kernels without
    errors are built, and ``Built.changes`` has the errors of the others.
    """
    built = _build(source, job)
    if not isinstance(built.error, PortError):
        return built
    if advice := _helpful_advice(source, job, built):
        return replace(built, error=built.error.preceded_by(advice))
    partial = None if job.attempts.exhausted else _build_variant(_PARTIAL, source, job)
    if partial is None or not partial.entries:
        return built
    job.cache.note(_memory_key(source, job), json_text(_PARTIAL).decode())
    return partial


def chosen_variant(source: Source, job: Job) -> Source:
    """Return the variant that ``build_source`` chose for a source, or the source itself."""
    while (variant := _remembered(source, job)) and (other := variant.of(source)):
        source = other
    return source


def read_code_object(source: Source, target: Target, cache: Cache) -> Built:
    """Return the result for a module that is given as code objects."""
    start = time.perf_counter()
    path = source.prebuilt.get(target.name) or source.prebuilt.get("")
    try:
        if path is None or target.vendor == "cuda":
            given = ", ".join(path.name for path in source.prebuilt.values())
            raise UsageError(f"{source.path.name} is not there, in its place {given}")
        tools = disassembler.find_disassembler()
        content = code_object_for(path.read_bytes(), target.name, path.name)
        entry = digest(tools_digest(), source.module, str(tools), content)
        folder, cached = cache.get(entry, functools.partial(disassemble, source, path, content))
        found = read_record(folder).target
        if found != target.name:
            raise UsageError(f"{path.name} is for {found}, not for {target}")
    except UsageError as problem:
        error = UnusableCodeObject(source.module, target.name, str(problem))
        return Built(source.module, target.name, time.perf_counter() - start, error=error)
    built = _read(source, target.name, folder, f"code object {path.name}")
    return replace(built, seconds=time.perf_counter() - start, cached=cached)


def describe_helpful(spelled_out: Sequence[Finding]) -> str:
    """Describe the helpful translation of a source by the first of the lines that differ from the literal one."""
    first, *others = (f"{each.file}:{each.line} as: {each.advice}" for each in spelled_out)
    lines = [f"with --hipify {HELPFUL}, which reads {first}", *(f"  and {each}" for each in others[: _SHOWN_LINES - 1])]
    more = f" (and {len(spelled_out) - _SHOWN_LINES} more lines)" if len(spelled_out) > _SHOWN_LINES else ""
    return "\n".join(lines) + more


def _build(source: Source, job: Job, known_errors: Sequence[Finding] = ()) -> Built:
    """Build a source, or the first variant that compiles and has kernels.

    A variant with the same ``known_errors`` as its origin changed nothing, so no variants of it are tried.
    """
    if (
        (remembered := _remembered(source, job))
        and (built := _build_variant(remembered, source, job))
        and built.entries
    ):
        return built
    variant, built = _best(_attempt(source, job, known_errors), source, job)
    if variant:
        job.cache.note(_memory_key(source, job), json_text(variant).decode())
    return built


def _build_variant(
    variant: porting.Variant, source: Source, job: Job, known_errors: Sequence[Finding] = ()
) -> Built | None:
    """Build a variant of a source. Return None if the source has no such variant."""
    other = variant.of(source)
    return _build(other, job, known_errors) if other else None


def _attempt(source: Source, job: Job, known_errors: Sequence[Finding]) -> _Attempt:
    start, vendor = time.perf_counter(), job.target.vendor
    try:
        compile_it = functools.partial(compile_source, source, job)
        folder, cached = current_entry(job.cache, key(source, job), compile_it)
    except PortError as error:
        built = Built(
            source.module,
            job.target.name,
            time.perf_counter() - start,
            error=error,
            translation=error.translation or Translation(source.ported),
            switches=source.switches,
            part_of=source.part_of,
        )
        return _Attempt(
            built, porting.after_errors(source, vendor, error) if error.findings != tuple(known_errors) else ()
        )
    built = _read(source, job.target.name, folder, provenance(source, job.target))
    built = replace(built, seconds=time.perf_counter() - start, cached=cached)
    empty = frozenset[str]() if cached else _empty_kernels(built, source)  # a cached source was examined before
    if not (built.entries or source.guessed):
        return _Attempt(built, porting.with_kernels(source, vendor), empty)
    return _Attempt(built, porting.with_cuda_version(vendor) if empty else (), empty)


def _best(attempt: _Attempt, source: Source, job: Job) -> tuple[porting.Variant | None, Built]:
    """Return the best result of a source and its variants, and the variant to remember for the next build."""
    built, flags_matter = attempt.built, False
    reserve: tuple[porting.Variant, Built] | None = None
    without_macro: Built | None = None
    with_linked: Built | None = None
    for variant in attempt.variants:
        if job.attempts.exhausted:
            break
        # A variant that changed something has tried the remaining ones itself. All combinations would take too long.
        if flags_matter and variant.kind in porting.COMBINABLE:
            continue
        # A crash is a single error at every optimization level.
        other = _build_variant(variant, source, job, () if variant.kind == "optimized" else built.findings)
        if other is None:
            continue
        flags_matter = flags_matter or (variant.kind in porting.COMBINABLE and other.findings != built.findings)
        if other.error and not built.error and variant.kind in ("switches", "cuda", "newest"):
            without_macro = without_macro or other  # the errors of the kernels that exist with a macro
        if not other.entries and (variant.kind == "without" or not _is_better(other, built)):
            continue
        if not other.entries and variant.kind == "linked":  # the same without these files may compile
            with_linked = other
            continue
        if empty := _empty_kernels(other, source):
            if len(empty) < (len(other.entries) if built.error else len(attempt.empty_kernels)):
                reserve = reserve or (variant, other)
            continue
        return (variant if other.entries else None), other
    if reserve:
        return reserve
    if not built.error and not built.entries:
        return None, without_macro or replace(built, behind=porting.switches_of_kernels(source))
    return None, with_linked or built


def _is_better(other: Built, built: Built) -> bool:
    """Return True if a variant without kernels has fewer errors than the source itself."""
    if built.error is None or other.part_of:
        return False
    return other.error is None or len(other.findings) < len(built.findings)


def _empty_kernels(built: Built, source: Source) -> frozenset[str]:
    """Return the kernels that do nothing although the source has a body for them: a condition excludes it."""
    nothing = idle(built.code_object) if built.code_object and source.chosen is None else ()
    texts = (text for text in source.files.values() if nothing and "__global__" in text)
    written = {name for text in texts for name in porting.kernels_of(text, with_bodies=True)}
    return frozenset(each for each in nothing if unqualified(source_name(each)) in written)


def _memory_key(source: Source, job: Job) -> str:
    return digest(key(source, job), _VARIANT)


def _remembered(source: Source, job: Job) -> porting.Variant | None:
    """Return the variant that worked when the source itself failed, so that the failure is not repeated."""
    text = job.cache.noted(_memory_key(source, job))
    return None if text is None else read_json(text, porting.Variant, _VARIANT)


def _helpful_advice(source: Source, job: Job, failed: Built) -> str:
    """Return advice for a port that compiles only if it is translated in the helpful style."""
    translation = failed.translation
    if source.hipifier == HELPFUL or translation is None or not translation.spelled_out:
        return ""
    if job.attempts.exhausted or (failed.error and any(e.missing_header for e in diagnostics(failed.error.log))):
        return ""  # no translation supplies a header
    built = _build(replace(source.unrepaired(), hipifier=HELPFUL), job)
    complete = built.translation and not any(piece.function for piece in built.translation.left_out)
    return "" if built.error or not complete else f"it compiles {describe_helpful(translation.spelled_out)}"


def _read(source: Source, target: str, folder: Path, made_of: str) -> Built:
    """Return the result that a cache entry describes."""
    record = read_record(folder)
    return Built(
        source.module,
        target,
        0.0,
        code_object=read_code(folder, record, source, target, made_of),
        hip=folder / record.hip if record.hip else None,
        translation=record.translation,
        switches=source.switches,
        part_of=source.part_of,
        guessed=source.guessed,
    )
