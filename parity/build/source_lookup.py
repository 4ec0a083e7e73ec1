"""Finds the source that each vendor compiles for a module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from parity.build.settings import BuildSettings
from parity.compilers.compile_options import CompileOptions, Sides
from parity.compilers.errors import NoSource
from parity.compilers.targets import Target
from parity.model.code_object import prebuilt
from parity.platform.files import read_text
from parity.porting import ARCH, PORTED_SUFFIXES, Source, chosen_hipifier, closure, find_ported


def find_sources(
    folder: Path, paths: Mapping[str, Path], targets: Iterable[Target], settings: BuildSettings
) -> dict[tuple[str, str], Source | None]:
    """Return the source of each module for each vendor, by module and vendor. None if the vendor has no source.

    ``folder`` and ``paths`` are absolute.
    """
    texts: dict[Path, str] = {}
    return {
        (module, vendor): _source(module, path, folder, vendor, settings, texts)
        for vendor in dict.fromkeys(target.vendor for target in targets)
        for module, path in paths.items()
    }


def missing_source(module: str, target: Target, path: Path, sides: Sides) -> NoSource:
    """Return the error for a module without a source for the vendor of a target."""
    if target.vendor == "cuda":
        return NoSource(module, target.name, f"{path.name} is a HIP source, and there is no CUDA source next to it")
    names = ", ".join(f"{path.stem}{suffix}" for suffix in PORTED_SUFFIXES[:3])
    reason = f"{path.name} has no port in {sides.ported}; expected a file such as {names}"
    return NoSource(module, target.name, reason)


def _source(
    module: str, path: Path, folder: Path, vendor: str, settings: BuildSettings, texts: dict[Path, str]
) -> Source | None:
    sides = settings.sides
    options = sides.cuda if vendor == "cuda" else sides.amd
    if given := prebuilt(path):
        return Source(module, folder, path, options, {}, prebuilt=given)
    if path.suffix == ".py":
        texts = {path: read_text(path)}
        return Source(module, folder, path, CompileOptions(), texts, kernels=tuple(settings.kernels.get(module, ())))
    root, source, ported = folder, path, path.suffix == ".hip"
    if vendor == "amd" and sides.ported and not ported:
        root, ported = sides.ported.absolute(), True
        source = find_ported(path, folder, root) or path
    if ported and (vendor == "cuda" or source == path != path.with_suffix(".hip")):
        return None
    found = closure(source, options, root, texts)
    if not ported and vendor == "amd":
        options = _with_arch(options, sides.cuda_arch, found.files.values())
    return Source(
        module,
        root,
        source,
        options,
        found.files,
        ported,
        chosen_hipifier(settings.hipifier),
        tuple(settings.kernels.get(module, ())),
        around=found.around,
        ambiguous=found.ambiguous,
        made=found.made,
    )


def _with_arch(options: CompileOptions, arch: int | None, texts: Iterable[str]) -> CompileOptions:
    """Define ``__CUDA_ARCH__`` if a source uses it and the project has a value for it."""
    if arch is None or not any(ARCH in text for text in texts):
        return options
    return replace(options, flags=(f"-D{ARCH}={arch}", *options.flags))
