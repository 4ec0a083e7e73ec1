"""From a folder of CUDA sources to code objects: every module for every target, in parallel.

For AMD targets the sources are hipified and compiled; for CUDA targets they are compiled as they are, or without host
code for which something is not here. Code objects that
stand in place of a source are disassembled.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from parity.compilers import assembler, clang, clang_version, cuda_toolkit, disassembler, nvcc, rocm
from parity.compilers.clang_flags import host_library
from parity.compilers.compile_options import CompileOptions, Sides
from parity.compilers.diagnostics import diagnostics
from parity.compilers.errors import CompileError, NoSource, UnusableCodeObject
from parity.compilers.headers import available_headers
from parity.compilers.include import HEADERS, HEADERS_ALIAS, HIP_ALIAS, LIBRARY_ALIAS
from parity.compilers.targets import TARGETS, Target, target
from parity.compilers.unit import Unit
from parity.errors import UsageError
from parity.model.code_object import CodeObject, Kernel, idle, name_of, parse, prebuilt, unqualified
from parity.model.finding import Finding
from parity.platform import subprocesses
from parity.platform.cache import Cache, default_root, digest
from parity.platform.serialization import json_text, read_json
from parity.porting.build_files import Switch
from parity.porting.compat import confirmed
from parity.porting.cuda_staging import StagedCuda
from parity.porting.cuda_staging import compiled as without_host_code
from parity.porting.cuda_templates import compile_with_templates
from parity.porting.errors import PortError
from parity.porting.hints import switches_of_kernels
from parity.porting.hipify import HELPFUL, LITERAL
from parity.porting.host_code import HostCode, RepairState
from parity.porting.kernel_templates import kernels_of, parameters
from parity.porting.sources import PORTED_SUFFIXES, Source, closure, find_modules, find_ported
from parity.porting.staging import compiled
from parity.porting.translation import Translation
from parity.porting.translators import TranslationError, chosen_hipifier
from parity.porting.translators import fingerprint as hipifier_fingerprint
from parity.porting.variants import ARCH, OF_FLAGS, Variant, after_errors, of_version, with_kernels
from parity.suite.loading import Suite

__all__ = [
    "Built",
    "HelpfulPort",
    "build",
    "build_suite",
    "find_modules",
    "helpful_port",
    "source_as_built",
]

_RECORD = "build.json"
_VARIANT = "variant.json"
"""The file in a folder of the cache that names the variant a source is built as."""
_SHOWN = 3
"""Lines of the helpful style that are shown."""
_MOST_COMPILATIONS = 32
"""Compilations of a module for a target after which no other way to build it is tried."""


@dataclass(frozen=True)
class _Record:
    """The record in a folder of the cache: names of files in it, and the facts about the code object."""

    target: str
    digest: str
    listing: str
    binary: str
    sources: tuple[str, ...]
    hip: str
    translation: Translation | None
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True)
class Built:
    """The result of building one module for one target: a code object, or the error that prevented it.

    ``hip`` is the HIP source beside the code object, ``translation`` the report of its translation; a CUDA target has
    no HIP source, and a translation only if its source was not compiled as it is. ``seconds`` is the time this took
    now; ``cached`` is true if the result was in the cache. ``switches`` are macros that only the project's build files
    define, and without which the module does not compile. ``part_of`` is the source that was built in its place: one
    that includes it, because it does not compile on its own. ``guessed`` says that its kernels are templates whose
    arguments no source names; ``behind`` are the macros that a build has to define so that it has kernels at all.
    """

    module: str
    target: str
    seconds: float
    cached: bool = False
    code_object: CodeObject | None = None
    error: CompileError | None = None
    hip: Path | None = None
    translation: Translation | None = None
    switches: tuple[Switch, ...] = ()
    part_of: Path | None = None
    guessed: bool = False
    behind: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the kernels."""
        return tuple(self.code_object.kernels) if self.code_object else ()

    @property
    def replaced(self) -> Mapping[str, int]:
        """The number of times that hipify replaced each CUDA name."""
        return (self.translation.replaced if self.translation else None) or {}

    @property
    def unmapped(self) -> tuple[Finding, ...]:
        """Names that have no counterpart in HIP."""
        return self.translation.unmapped if self.translation else ()

    @property
    def hazards(self) -> tuple[Finding, ...]:
        """Code that means something different on AMD GPUs."""
        return self.translation.hazards if self.translation else ()

    @property
    def needs(self) -> tuple[Finding, ...]:
        """Names that AMD's headers lack and parity's compatibility headers supply."""
        return self.translation.needs if self.translation else ()

    @property
    def defects(self) -> tuple[Finding, ...]:
        """Names whose function in AMD's headers is known to be wrong."""
        return self.translation.defects if self.translation else ()

    @property
    def branches(self) -> tuple[Finding, ...]:
        """The conditions on CUDA's macros, and their meaning for AMD."""
        return self.translation.branches if self.translation else ()

    @property
    def sgprs(self) -> int:
        """Most SGPRs of any kernel."""
        return self._most("sgprs")

    @property
    def vgprs(self) -> int:
        """Most VGPRs of any kernel."""
        return self._most("vgprs")

    @property
    def lds_bytes(self) -> int:
        """Most static LDS of any kernel."""
        return self._most("lds_bytes")

    @property
    def scratch_bytes(self) -> int:
        """Most scratch memory per work-item of any kernel."""
        return self._most("scratch_bytes")

    @property
    def spills(self) -> int:
        """Most spilled registers of any kernel."""
        return self._most("spills")

    def _most(self, what: str) -> int:
        kernels = self.code_object.kernels.values() if self.code_object else ()
        return max((int(getattr(k, what)) for k in kernels), default=0)


@dataclass
class _Attempts:
    """The compilations of a module for a target so far; ``told`` is called with each that follows the first."""

    module: str
    target: str
    told: Callable[[str], None] | None
    count: int = 0

    @property
    def is_enough(self) -> bool:
        return self.count >= _MOST_COMPILATIONS

    def begin(self) -> None:
        self.count += 1
        if self.told and self.count > 1:
            self.told(f"{self.module} {self.target}, compilation {self.count}")


@dataclass(frozen=True)
class HelpfulPort:
    """A module as the helpful style translates it, and ``how`` that differs from the literal port."""

    code: CodeObject
    how: str


def build(
    folder: Path,
    modules: Iterable[str] | Mapping[str, Path] | None = None,
    targets: Iterable[str] | None = None,
    *,
    cache: Cache | None = None,
    jobs: int | None = None,
    sides: Sides | None = None,
    hipifier: str | None = None,
    kernels: Mapping[str, Sequence[str]] | None = None,
    done: Callable[[Built], None] | None = None,
    trying: Callable[[str], None] | None = None,
) -> list[Built]:
    """Compile modules of ``folder`` (all by default) for targets (all AMD targets by default), hipified for AMD's.

    ``modules`` may map names to files. ``sides`` says how each side is compiled, and where AMD's sources are if they
    are not to be made of CUDA's by ``hipifier`` (default: what ``$PARITY_HIPIFY`` says); ``kernels`` are templates with
    their arguments, by module, that are there whether host code launches them or not; ``jobs`` limits how many
    compilers run at once (one per processor by default); ``done`` is called with every result as it arrives, and
    ``trying`` with what is compiled again because it does not compile as it stands, from the thread that does it. The
    result is ordered by module, then target. A module that does not compile is a result with an error; the others go
    on.

    Raises:
        UsageError: no such folder, module or target, or the cache folder cannot be written.
        MissingTool: the compiler or the device libraries are not installed.
    """
    folder, sides, hipifier = folder.absolute(), sides or Sides(), chosen_hipifier(hipifier)
    paths = modules if isinstance(modules, Mapping) else find_modules(folder, modules, ported=sides.ported)
    chosen = [target(name) for name in (TARGETS if targets is None else targets)]
    store = cache or Cache(default_root() / "build")
    absolute = {module: path.absolute() for module, path in paths.items()}
    sources = _sources(folder, absolute, sides, chosen, hipifier, kernels or {})
    tools = {"amd": _amd_fingerprint, "cuda": nvcc.fingerprint}
    vendors = {vendor for (_, vendor), source in sources.items() if source and not source.prebuilt}
    fingerprints = {t.name: digest(_own_digest(), tools[t.vendor](t)) for t in chosen if t.vendor in vendors}

    def one(task: tuple[str, Target]) -> Built:
        module, t = task
        source = sources[module, t.vendor]
        if source is None:
            built = Built(module, t.name, 0.0, error=_without_source(module, t, paths[module], sides))
        elif source.prebuilt:
            built = _read_one(source, t, store)
        else:
            attempts = _Attempts(module, t.name, trying)
            built = _build_one(source, t, fingerprints[t.name], store, attempts)
            if isinstance(built.error, PortError) and (
                hint := _helpful(source, t, fingerprints[t.name], store, attempts, built)
            ):
                built = replace(built, error=built.error.preceded_by(hint))
        if done:
            done(built)
        return built

    pool = ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0)))
    try:
        return list(pool.map(one, [(module, t) for module in paths for t in chosen]))
    except KeyboardInterrupt:
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
    done: Callable[[Built], None] | None = None,
) -> list[Built]:
    """Build these modules of a suite in the way that its project says; those whose file is missing are left out.

    Raises:
        UsageError, MissingTool: as ``build``.
    """
    paths, kernels = _of_suite(suite, modules)
    return build(
        suite.kernels,
        paths,
        targets,
        jobs=jobs,
        sides=suite.sides,
        hipifier=hipifier,
        kernels=kernels,
        done=done,
    )


def source_as_built(suite: Suite, module: str, name: str, *, cache: Cache | None = None) -> Source | None:
    """The source of a module of a suite for a target, as ``build_suite`` compiled it: it may be a variant.

    None if a code object stands in its place, or nothing does.

    Raises:
        UsageError, MissingTool: as ``build``.
    """
    paths, kernels = _of_suite(suite, [module])
    t, store = target(name), cache or Cache(default_root() / "build")
    absolute = {module: path.absolute() for module, path in paths.items()}
    found = _sources(suite.kernels.absolute(), absolute, suite.sides, [t], chosen_hipifier(), kernels)
    source = found.get((module, t.vendor))
    if source is None or source.prebuilt:
        return None
    fingerprint = digest(_own_digest(), _amd_fingerprint(t) if t.vendor == "amd" else nvcc.fingerprint(t))
    while (known := store.noted(digest(_key(source, t, fingerprint), _VARIANT), _VARIANT)) is not None:
        variant = read_json(known, Variant, _VARIANT).of(source)
        if variant is None:
            break
        source = variant
    return source


def _of_suite(suite: Suite, modules: Iterable[str]) -> tuple[dict[str, Path], dict[str, tuple[str, ...]]]:
    """The files of modules of a suite that are there, and the templates with arguments that are to be in them."""
    paths = {module: suite.files[module] for module in modules if module not in suite.missing}
    kernels: dict[str, dict[str, None]] = {}
    for entry in suite.kernel_entries:
        if "<" in entry.kernel:
            kernels.setdefault(entry.op.module, {})[entry.kernel] = None
    return paths, {module: tuple(names) for module, names in kernels.items()}


def _sources(
    folder: Path,
    paths: Mapping[str, Path],
    sides: Sides,
    targets: Iterable[Target],
    hipifier: str,
    kernels: Mapping[str, Sequence[str]],
) -> dict[tuple[str, str], Source | None]:
    """The source of each side of each module, by module and vendor; None where that side has none."""
    texts: dict[Path, str] = {}
    found: dict[tuple[str, str], Source | None] = {}
    for vendor in {t.vendor: None for t in targets}:
        side = sides.cuda if vendor == "cuda" else sides.amd
        for module, path in paths.items():
            place, source = folder, path
            ported = path.suffix == ".hip"
            if given := prebuilt(path):
                found[module, vendor] = Source(module, folder, path, side, {}, prebuilt=given)
                continue
            if vendor == "amd" and sides.ported and not ported:
                place, ported = sides.ported.absolute(), True
                source = find_ported(path, folder, place) or path
            if (ported and vendor == "cuda") or (ported and source == path != path.with_suffix(".hip")):
                found[module, vendor] = None
                continue
            every = closure(source, side, place, texts)
            own = side if ported or vendor == "cuda" else _with_arch(side, sides.cuda_arch, every.files.values())
            found[module, vendor] = Source(
                module,
                place,
                source,
                own,
                every.files,
                ported,
                hipifier,
                tuple(kernels.get(module, ())),
                around=every.around,
                doubtful=every.doubtful,
                made=every.made,
            )
    return found


def _with_arch(side: CompileOptions, arch: int | None, texts: Iterable[str]) -> CompileOptions:
    """The side with ``__CUDAARCH__`` defined, if a source asks for it and a project says what it is."""
    asked = arch is not None and any(ARCH in text for text in texts)
    return replace(side, flags=(f"-D{ARCH}={arch}", *side.flags)) if asked else side


def _without_source(module: str, target: Target, path: Path, sides: Sides) -> CompileError:
    if target.vendor == "cuda":
        return NoSource(module, target.name, f"{path.name} is a HIP source, and there is no CUDA source beside it")
    names = ", ".join(f"{path.stem}{suffix}" for suffix in PORTED_SUFFIXES[:3])
    return NoSource(
        module, target.name, f"{path.name} has no port in {sides.ported}; it would be called {names} or the like there"
    )


def _build_one(
    source: Source,
    target: Target,
    fingerprint: str,
    cache: Cache,
    attempts: _Attempts,
    known_errors: Sequence[Finding] = (),
) -> Built:
    """The module of a source, or of the first variant of it that compiles and has kernels where it does not.

    One that has the ``known_errors`` of what it is a variant of has no variants of its own: it has changed nothing.
    """
    start = time.perf_counter()
    others: Iterable[Variant] = ()
    hollow: frozenset[str] = frozenset()
    key = _key(source, target, fingerprint)
    chosen = digest(key, _VARIANT)  # what has failed once as it stands is not tried again
    known = cache.noted(chosen, _VARIANT)
    if known is not None:
        built = _build_as(read_json(known, Variant, _VARIANT), source, target, fingerprint, cache, attempts)
        if built and built.entries:
            return built
    try:
        fill = _compile_cuda if target.vendor == "cuda" else _compile_amd
        folder, cached = cache.get(key, functools.partial(fill, source, target, attempts))
        built = _built(source, target, folder, time.perf_counter() - start, cached, _made_by(source, target))
        hollow = frozenset() if cached else _hollow(built, source)  # else it was seen to at first
        if not (built.entries or source.kernels):
            others = with_kernels(source, target.vendor)
        elif hollow:
            others = of_version(target.vendor)
    except PortError as error:
        translation = error.translation or Translation(source.ported)
        seconds = time.perf_counter() - start
        built = Built(
            source.module,
            target.name,
            seconds,
            error=error,
            translation=translation,
            switches=source.switches,
            part_of=source.part_of,
        )
        others = after_errors(source, target.vendor, error) if error.findings != tuple(known_errors) else ()
    behind: Built | None = None
    reserve: tuple[Variant, Built] | None = None
    errors = _errors_of(built)
    is_done = False
    for variant in others:
        if attempts.is_enough:
            break
        if is_done and variant.kind in OF_FLAGS:
            continue
        known_errors = () if variant.kind == "optimized" else errors  # a crash has one, and other levels
        other = _build_as(variant, source, target, fingerprint, cache, attempts, known_errors)
        # One that changes something had the others as its own variants: all would be all of their combinations.
        is_done = is_done or (variant.kind in OF_FLAGS and other is not None and _errors_of(other) != errors)
        if other and other.error and not built.error and variant.kind in ("switches", "cuda", "newest"):
            behind = behind or other  # the errors of the kernels that are there with a switch
        if other and (other.entries or (variant.kind != "without" and _is_better(other, built))):
            if lost := _hollow(other, source):
                if len(lost) < (len(other.entries) if built.error else len(hollow)):
                    reserve = reserve or (variant, other)
                continue
            if other.entries:
                cache.note(chosen, _VARIANT, json_text(variant).decode())
            return other
    if reserve:
        cache.note(chosen, _VARIANT, json_text(reserve[0]).decode())
        return reserve[1]
    if not built.error and not built.entries:
        return behind or replace(built, behind=switches_of_kernels(source))
    return built


def _key(source: Source, target: Target, fingerprint: str) -> str:
    """The key of the cache: everything that decides what the code is."""
    parts = [part for path in sorted(source.files) for part in (source.name(path), source.files[path])]
    side = source.side
    settings = ("flags", *side.flags, "include", *map(source.name, source.folders), "forced", *side.forced)
    settings = (*settings, "kernels", *source.kernels, "linked", *map(source.name, source.linked))
    settings = (*settings, "without") if source.without else settings
    if target.vendor == "amd" and not source.ported:
        settings = (*settings, "hipify", hipifier_fingerprint(source.hipifier))
    names = (source.module, source.name(source.path), str(source.ported))
    return digest(fingerprint, *names, *settings, *map(_encode, parts))


def _build_as(
    variant: Variant,
    source: Source,
    target: Target,
    fingerprint: str,
    cache: Cache,
    attempts: _Attempts,
    known_errors: Sequence[Finding] = (),
) -> Built | None:
    """The module of a variant of the source; None if there is none."""
    other = variant.of(source)
    return _build_one(other, target, fingerprint, cache, attempts, known_errors) if other else None


def _hollow(built: Built, source: Source) -> frozenset[str]:
    """The kernels that do nothing although the source has a body for them: a condition leaves it out."""
    nothing = idle(built.code_object) if built.code_object else ()
    texts = (text for text in source.files.values() if nothing and "__global__" in text)
    written = {name for text in texts for name in kernels_of(text, with_bodies=True)}
    return frozenset(each for each in nothing if unqualified(name_of(each)) in written)


def _errors_of(built: Built) -> tuple[Finding, ...]:
    return built.error.findings if built.error else ()


def _is_better(other: Built, built: Built) -> bool:
    """True if a variant without kernels has fewer errors, and is of the same file."""
    if built.error is None or other.part_of:
        return False
    return other.error is None or len(other.error.findings) < len(built.error.findings)


def _helpful(source: Source, target: Target, fingerprint: str, cache: Cache, attempts: _Attempts, failed: Built) -> str:
    """The advice for a port that does not compile, and would if it were translated in the helpful style."""
    translation = failed.translation
    if source.hipifier == HELPFUL or translation is None or not translation.spelled_out:
        return ""
    if attempts.is_enough or (failed.error and any(each.missing_header for each in diagnostics(failed.error.log))):
        return ""  # which no translation brings
    helpful = replace(source, hipifier=HELPFUL, repairs=RepairState())
    built = _build_one(helpful, target, fingerprint, cache, attempts)
    whole = built.translation and not any(piece.function for piece in built.translation.left_out)
    return "" if built.error or not whole else f"it compiles {_how(translation.spelled_out)}"


def helpful_port(suite: Suite, module: str, target: str) -> HelpfulPort | None:
    """The port of a module in the helpful style; None if that is no other than the one that is built, or no port.

    Raises:
        UsageError, MissingTool: as ``build``.
    """
    if chosen_hipifier() == HELPFUL or module in suite.missing:
        return None
    (built,) = build_suite(suite, [module], [target], jobs=1)
    if built.translation is None or not built.translation.spelled_out:
        return None
    (helpful,) = build_suite(suite, [module], [target], jobs=1, hipifier=HELPFUL)
    return HelpfulPort(helpful.code_object, _how(built.translation.spelled_out)) if helpful.code_object else None


def _how(spelled_out: Sequence[Finding]) -> str:
    """The translation of a source in the helpful style, with the first lines that differ."""
    first, *others = (f"{each.file}:{each.line} as: {each.advice}" for each in spelled_out)
    lines = [f"with --hipify {HELPFUL}, which reads {first}", *(f"  and {each}" for each in others[: _SHOWN - 1])]
    more = f" (and {len(spelled_out) - _SHOWN} more lines)" if len(spelled_out) > _SHOWN else ""
    return "\n".join(lines) + more


def _made_by(source: Source, target: Target) -> str:
    """Of what sources code is made, by which compiler, and with whose headers."""
    if target.vendor == "cuda":
        return f"CUDA sources, {cuda_toolkit.described()}"
    installed = rocm.chosen(target)
    translated = "hipified" if source.hipifier == LITERAL else f"hipified ({source.hipifier})"
    sources = "ported sources" if source.ported else translated
    switches = "".join(f", {source.module} with {each.flag} as {each.file.name} has it" for each in source.switches)
    return f"{sources}{switches}, {installed.described if installed else clang_version.described()}"


def _read_one(source: Source, target: Target, cache: Cache) -> Built:
    """The result for a module that is given as code objects."""
    start = time.perf_counter()
    path = source.prebuilt.get(target.name) or source.prebuilt.get("")
    try:
        if path is None or target.vendor == "cuda":
            given = ", ".join(path.name for path in source.prebuilt.values())
            raise UsageError(f"{source.path.name} is not there, in its place {given}")
        tools = disassembler.find_disassembler()
        key = digest(_own_digest(), source.module, str(tools), path.read_bytes())
        folder, cached = cache.get(key, functools.partial(_disassemble, source, path))
        found = _record(folder).target
        if found != target.name:
            raise UsageError(f"{path.name} is for {found}, not for {target}")
    except UsageError as problem:
        error = UnusableCodeObject(source.module, target.name, str(problem))
        return Built(source.module, target.name, time.perf_counter() - start, error=error)
    return _built(source, target, folder, time.perf_counter() - start, cached, f"code object {path.name}")


def _disassemble(source: Source, path: Path, folder: Path) -> None:
    # Not called .hsaco as those that parity compiled, whose listing is known and not read back.
    listing, copy = folder / f"{source.path.stem}.s", folder / f"{source.path.stem}.co"
    copy.write_bytes(path.read_bytes())
    listing.write_text(disassembler.listing_of(copy, path.name))
    _write_record(folder, parse(listing.read_text(), source.module), listing, copy, sources=[source.name(path)])


def _built(source: Source, target: Target, folder: Path, seconds: float, cached: bool, made_by: str) -> Built:
    """The result that a folder of the cache has."""
    record = _record(folder)
    translation = record.translation
    left_out = translation.left_out if translation else ()
    code = CodeObject(
        source.module,
        target.name,
        (folder / record.listing).read_text(),
        {kernel.name: kernel for kernel in record.kernels},
        record.digest,
        tuple(_original(Path(name), source.folder) for name in record.sources),
        folder / record.binary,
        made_by,
        {
            each.function: f"{each.file}:{each.line}: {each.because}"
            for each in left_out
            if each.function and not each.is_call
        },
    )
    return Built(
        source.module,
        target.name,
        seconds,
        cached,
        code,
        hip=folder / record.hip if record.hip else None,
        translation=translation,
        switches=source.switches,
        part_of=source.part_of,
        guessed=source.guessed,
    )


def _amd_fingerprint(target: Target) -> str:
    installed = rocm.chosen(target)
    return installed.fingerprint(target) if installed else clang_version.fingerprint(target)


def _compile_amd(source: Source, target: Target, attempts: _Attempts, folder: Path) -> None:
    installed = rocm.chosen(target)
    listing, hsaco = folder / f"{source.path.stem}.s", folder / f"{source.path.stem}.hsaco"

    def compile_it(unit: Unit) -> None:
        attempts.begin()
        (installed.compile if installed else clang.compile_listing)(unit, listing, target)
        try:
            (installed.assemble if installed else assembler.assemble)(listing, hsaco, target)
        except CompileError as error:
            raise assembler.assembly_error(error, unit, listing, target) from None

    try:
        staged = compiled(compile_it, source, target, folder / "hip")
    except TranslationError as error:
        raise PortError(source.module, target.name, str(error)) from error
    code = parse(listing.read_text(), source.module)
    if not code.kernels and (nothing := _nothing_left(source, target, staged.translation)):
        raise nothing
    _write_record(
        folder,
        code,
        listing,
        hsaco,
        # The line table's file 0 is the hipified text itself, which no line refers to.
        sources=[path.as_posix() for path in code.sources if path != Path(staged.unit.main.name)],
        hip=staged.unit.main.relative_to(folder).as_posix(),
        translation=replace(staged.translation, needs=confirmed(staged.translation.needs, code.sources)),
    )


def _nothing_left(source: Source, target: Target, translation: Translation) -> PortError | None:
    """The error of a module all of whose kernels do what no AMD GPU can."""
    left_out = (piece for piece in translation.left_out if piece.function and not piece.is_call)
    gone = sorted(left_out, key=lambda piece: (piece.file, piece.line))
    if not gone:
        return None
    places = {name: str(path) for name, path in source.originals.items()}
    log = "\n".join(f"{places[each.file]}:{each.line}:1: error: '{each.function}': {each.because}" for each in gone)
    return PortError(source.module, target.name, log, frozenset(places.values()), translation=translation)


def _compile_cuda(source: Source, target: Target, attempts: _Attempts, folder: Path) -> None:
    ptx, cubin = folder / f"{source.path.stem}.ptx", folder / f"{source.path.stem}.cubin"
    made: list[CodeObject] = []

    def compile_it(staged: StagedCuda) -> bool:
        attempts.begin()
        outputs = nvcc.CudaOutputs(ptx, cubin, staged.named)
        made[:] = [compile_with_templates(staged.unit, outputs, target, source.kernels)]
        return bool(made[0].kernels)

    staged = without_host_code(compile_it, source, target, folder / "cuda")
    translation = None
    if (host := staged.host) != HostCode() or staged.needs:
        empty = tuple(header for header in host.empty_headers if header not in staged.stubs)
        translation = Translation(
            left_out=host.left_out, empty_headers=empty, stubs=staged.stubs, needs=staged.needs
        )  # fmt: skip
    names = [source.name(path) for path in source.files]
    _write_record(folder, _with_names(made[0], source), ptx, cubin, sources=names, translation=translation)


def _with_names(code: CodeObject, source: Source) -> CodeObject:
    """The code with the names that its kernels' arguments have in the source; PTX has none."""
    names: dict[str, tuple[str, ...]] = {}
    for text in source.files.values():
        if "__global__" in text:
            names |= parameters(text)
    kernels = {}
    for symbol, kernel in code.kernels.items():
        own = names.get(unqualified(name_of(symbol)), ())
        pairs = zip(kernel.args, own, strict=True) if len(own) == len(kernel.args) else ()
        named = tuple(replace(argument, name=name) for argument, name in pairs)
        kernels[symbol] = replace(kernel, args=named or kernel.args)
    return replace(code, kernels=kernels)


def _write_record(
    folder: Path,
    code: CodeObject,
    listing: Path,
    binary: Path,
    *,
    sources: Sequence[str],
    hip: str = "",
    translation: Translation | None = None,
) -> None:
    kernels = tuple(code.kernels.values())
    record = _Record(code.target, code.digest, listing.name, binary.name, tuple(sources), hip, translation, kernels)
    (folder / _RECORD).write_bytes(json_text(record))


def _record(folder: Path) -> _Record:
    file = folder / _RECORD
    return read_json(file.read_bytes(), _Record, str(file), "remove that folder")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _original(name: Path, folder: Path) -> Path:
    head, rest = name.parts[0], name.parts[1:]
    if head == HEADERS_ALIAS:
        return HEADERS.joinpath(*rest)
    if head == HIP_ALIAS and (found := available_headers()):
        return found.folder.joinpath(*rest)
    if head == LIBRARY_ALIAS:  # asked for here only: who compiles for CUDA need not have that library
        return host_library().joinpath(*rest)
    return Path(os.path.normpath(folder / name))


@functools.cache
def _own_digest() -> str:
    """Digest of the translator itself: what it would now make of a source may differ from what is cached."""
    root = Path(__file__).parents[1]
    packages = (root / name for name in ("compilers", "porting", "build"))
    sources = (file for folder in packages for file in folder.iterdir() if file.suffix in (".py", ".csv"))
    files = sorted([*sources, root / "model" / "code_object.py"])
    return digest(*(file.read_bytes() for file in files))
