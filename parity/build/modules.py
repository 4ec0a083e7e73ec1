"""Builds modules for targets in parallel.

For AMD targets, sources are hipified and compiled. For CUDA targets, they are compiled unchanged, or without the host
code that does not compile here. Code objects that are given instead of a source are disassembled.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from parity.build.compilation import Attempts, Job, fingerprint
from parity.build.result import Built
from parity.build.settings import BuildCallbacks, BuildSettings
from parity.build.triton_modules import build_triton
from parity.build.variant_search import build_source, chosen_variant, describe_helpful, read_code_object
from parity.compilers.compile_options import CompileOptions, Sides
from parity.compilers.errors import NoSource
from parity.compilers.targets import TARGETS, Target, target
from parity.emulator.amdgpu.listing import source_lines
from parity.model.code_object import CodeObject, prebuilt
from parity.model.finding import Finding
from parity.op import Entry
from parity.platform import subprocesses
from parity.platform.cache import Cache, default_root
from parity.platform.files import is_file, read_text
from parity.porting import (
    ARCH,
    HELPFUL,
    PORTED_SUFFIXES,
    Source,
    chosen_hipifier,
    closure,
    embeds_cuda,
    find_modules,
    find_ported,
)
from parity.suite.loading import Suite


@dataclass(frozen=True)
class HelpfulPort:
    """A module in the helpful hipify style. ``lines`` are those that differ from the literal port."""

    code: CodeObject
    lines: tuple[Finding, ...]

    def describe(self, literal: CodeObject, kernels: Iterable[str]) -> str:
        """Describe the difference by the lines of the kernels, or by all lines if no line of the kernels differs."""
        symbols = [symbol for symbol in map(literal.symbol, kernels) if symbol in literal.kernels]
        compiled = {place for symbol in symbols for place in source_lines(literal.listing, symbol)}
        own = [each for each in self.lines if (each.file, each.line) in compiled]
        return describe_helpful(own or self.lines)


def build(
    folder: Path,
    modules: Iterable[str] | Mapping[str, Path] | None = None,
    targets: Iterable[str] | None = None,
    *,
    settings: BuildSettings | None = None,
    cache: Cache | None = None,
    jobs: int | None = None,
    progress: BuildCallbacks | None = None,
) -> list[Built]:
    """Build modules of a folder for targets, by default all modules for all AMD targets.

    The results are ordered by module, then by target. A module that does not compile yields a result with an error and
    does not stop the build.

    Args:
        folder: The folder of the sources.
        modules: Names of modules, or a mapping from names to files.
        targets: Names of targets.
        settings: How the modules are built.
        cache: Where results are stored.
        jobs: The number of compilers that run in parallel, by default one per processor.
        progress: Callbacks.

    Raises:
        UsageError: a folder, module or target does not exist, or the cache cannot be written.
        MissingTool: a compiler or the device libraries are not installed.
    """
    folder, settings, progress = folder.absolute(), settings or BuildSettings(), progress or BuildCallbacks()
    chosen_hipifier(settings.hipifier)
    paths = modules if isinstance(modules, Mapping) else find_modules(folder, modules, ported=settings.sides.ported)
    chosen = [target(name) for name in (TARGETS if targets is None else targets)]
    store = cache or Cache(default_root() / "build")
    sources = find_sources(folder, {module: path.absolute() for module, path in paths.items()}, chosen, settings)
    compiled = {each: source for each, source in sources.items() if source and not source.is_triton}
    vendors = {vendor for (_, vendor), source in compiled.items() if not source.prebuilt}
    fingerprints = {each: fingerprint(each) for each in chosen if each.vendor in vendors}

    interrupted = threading.Event()

    def build_one(task: tuple[str, Target]) -> Built:
        module, to = task
        source = sources[module, to.vendor]
        if source is None:
            built = Built(module, to.name, 0.0, error=missing_source(module, to, paths[module], settings.sides))
        elif source.is_triton:
            built = build_triton(source, to, store)
        elif source.prebuilt:
            built = read_code_object(source, to, store)
        else:
            built = build_source(source, Job(to, fingerprints[to], store, Attempts(module, to.name, progress.retrying)))
        if source:
            built = replace(built, files=tuple(path for path in source.files if is_file(path)))
        if progress.done and not interrupted.is_set():  # a killed compiler is not a result
            progress.done(built)
        return built

    return _in_parallel(build_one, [(module, each) for module in paths for each in chosen], jobs, interrupted)


def _in_parallel(
    build_one: Callable[[tuple[str, Target]], Built],
    tasks: Iterable[tuple[str, Target]],
    jobs: int | None,
    interrupted: threading.Event,
) -> list[Built]:
    """Call ``build_one`` in threads. After Ctrl-C, set ``interrupted`` and kill the compilers."""
    pool = ThreadPoolExecutor(jobs or subprocesses.processors())
    try:
        return list(pool.map(build_one, tasks))
    except KeyboardInterrupt:
        interrupted.set()
        with subprocesses.killed():
            pool.shutdown(cancel_futures=True)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def build_suite(
    suite: Suite,
    modules: Iterable[str],
    targets: Iterable[str],
    *,
    jobs: int | None = None,
    hipifier: str | None = None,
    progress: BuildCallbacks | None = None,
) -> list[Built]:
    """Build modules of a suite with the settings of its project. Modules whose file is missing are skipped.

    Raises:
        UsageError, MissingTool: as ``build``.
    """
    paths, settings = _suite_settings(suite, modules, hipifier)
    return build(suite.kernels, paths, targets, settings=settings, jobs=jobs, progress=progress)


def source_as_built(suite: Suite, module: str, name: str) -> Source | None:
    """Return the source, or the variant of it, that ``build_suite`` compiled for a target.

    Returns None if the module has no source for the target, or is given as a code object.

    Raises:
        UsageError, MissingTool: as ``build``.
    """
    paths, settings = _suite_settings(suite, [module])
    one, store = target(name), Cache(default_root() / "build")
    absolute = {module: path.absolute() for module, path in paths.items()}
    source = find_sources(suite.kernels.absolute(), absolute, [one], settings).get((module, one.vendor))
    if source is None or source.prebuilt or source.is_triton:
        return None
    return chosen_variant(source, Job(one, fingerprint(one), store, Attempts(module, name, None)))


def helpful_port(suite: Suite, module: str, target: str) -> HelpfulPort | None:
    """Build a module in the helpful hipify style. Return None if that is not different from what is built anyway.

    Raises:
        UsageError, MissingTool: as ``build``.
    """
    if chosen_hipifier() == HELPFUL or module in suite.missing:
        return None
    (built,) = build_suite(suite, [module], [target], jobs=1)
    if built.translation is None or not built.translation.spelled_out:
        return None
    (helpful,) = build_suite(suite, [module], [target], jobs=1, hipifier=HELPFUL)
    return HelpfulPort(helpful.code_object, built.translation.spelled_out) if helpful.code_object else None


def with_other_warps(suite: Suite, entry: Entry, name: str, symbol: str) -> Iterator[CodeObject]:
    """Build the Triton kernel of a symbol for the target ``name`` with other numbers of warps and alignments.

    This changes the order of its reductions and nothing else, unless the kernel itself uses the number of warps: then
    it is not built. Numbers of warps that do not compile are left out.
    """
    kernel = next((each for each in entry.specializations if each.symbol == symbol), None)
    path = suite.files[entry.op.module].absolute()
    source = _triton_source(entry.op.module, path, suite.kernels.absolute())
    if kernel is None or _USES_WARPS.search(source.files[path]):
        return
    to, store, warps = target(name), Cache(default_root() / "build"), int(kernel.options.get("num_warps") or 4)
    for each, is_aligned in _LAYOUTS:
        if each != warps or not is_aligned:
            options, aligned = {**kernel.options, "num_warps": each}, kernel.aligned if is_aligned else ()
            kernels = (replace(kernel, options=options, aligned=aligned).text,)
            built = build_triton(replace(source, kernels=kernels), to, store)
            if built.code_object and symbol in built.code_object.kernels:
                yield built.code_object


_USES_WARPS = re.compile(r"\bnum_(?:warps|threads)\(|\bnum_warps\s*:|%tid|%ntid|\bgl\.|gluon")
"""Matches sources whose kernels use the number of warps or of threads."""
_LAYOUTS = ((1, False), (1, True), (16, True), (4, False), (2, True), (8, True))
"""Numbers of warps, and whether pointers are aligned, the most useful ones first.

With few warps, a thread has several elements: neighbors if pointers are aligned, and otherwise elements as far apart as
there are threads, which AMD's wavefronts of 64 lanes add first.
"""


def _suite_settings(
    suite: Suite, modules: Iterable[str], hipifier: str | None = None
) -> tuple[dict[str, Path], BuildSettings]:
    """Return the files of those modules that exist, and how to build them."""
    paths = {module: suite.files[module] for module in modules if module not in suite.missing}
    kernels = {**kernels_to_instantiate(suite), **suite.instantiated}
    return paths, BuildSettings(suite.sides, hipifier, kernels, suite.chosen)


def kernels_to_instantiate(suite: Suite) -> dict[str, tuple[str, ...]]:
    """Return the templates with arguments, and the specializations of Triton functions, that ops of a suite name."""
    kernels: dict[str, dict[str, None]] = {}
    for entry in suite.kernel_entries:
        if entry.op.triton_kernel:
            kernels.setdefault(entry.op.module, {}).update(dict.fromkeys(each.text for each in entry.specializations))
        elif "<" in entry.kernel:
            kernels.setdefault(entry.op.module, {})[entry.kernel] = None
    return {module: tuple(names) for module, names in kernels.items()}


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
    kernels = tuple(settings.kernels.get(module, ()))
    has_triton = any(each.startswith("{") for each in kernels)  # a specialization of a Triton function, as JSON
    if path.suffix == ".py":
        triton = _triton_source(module, path, folder, kernels)
        if has_triton or not embeds_cuda(triton.files[path]):
            return triton
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
        kernels,
        tuple(settings.chosen[module]) if module in settings.chosen else None,
        around=found.around,
        ambiguous=found.ambiguous,
        made=found.made,
    )


def _triton_source(module: str, path: Path, folder: Path, kernels: tuple[str, ...] = ()) -> Source:
    return Source(module, folder, path, CompileOptions(), {path: read_text(path)}, kernels=kernels, is_triton=True)


def _with_arch(options: CompileOptions, arch: int | None, texts: Iterable[str]) -> CompileOptions:
    """Define ``__CUDA_ARCH__`` if a source uses it and the project has a value for it."""
    if arch is None or not any(ARCH in text for text in texts):
        return options
    return replace(options, flags=(f"-D{ARCH}={arch}", *options.flags))
