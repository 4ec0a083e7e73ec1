"""From a folder of CUDA sources to code objects: every module for every target, in parallel.

For AMD targets the sources are hipified and compiled; for CUDA targets they are compiled as they are. Code objects that
stand in place of a source are disassembled.
"""

from __future__ import annotations

import functools
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from parity.cache import Cache, default_root, digest
from parity.codeobject import CodeObject, kernel_from_dict, kernel_to_dict, parse, prebuilt, source_of
from parity.errors import UsageError, nearest
from parity.suite import Suite
from parity.toolchain import compiler, cuda, disassembler, rocm
from parity.toolchain.coordinates import with_plain_coordinates
from parity.toolchain.hipify import Finding, defined_macros, hipify
from parity.toolchain.targets import TARGETS, Target, target

__all__ = ["Built", "build", "build_suite", "find_modules"]

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_RECORD = "build.json"


@dataclass(frozen=True)
class Built:
    """What became of one module for one target: a code object, or the error that prevented it.

    ``hip`` is the hipified source beside the code object, ``replaced`` how often each CUDA name was translated,
    ``unmapped`` and ``hazards`` what hipify left to a person; a CUDA target has none of these. ``seconds`` is the time
    this took now, ``cached`` whether that was only to find it in the cache.
    """

    module: str
    target: str
    seconds: float
    cached: bool = False
    code_object: CodeObject | None = None
    error: compiler.CompileError | None = None
    hip: Path | None = None
    replaced: Mapping[str, int] | None = None
    unmapped: tuple[Finding, ...] = ()
    hazards: tuple[Finding, ...] = ()

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the kernels."""
        return tuple(self.code_object.kernels) if self.code_object else ()

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


@dataclass(frozen=True)
class _Source:
    """One module: its ``.cu`` file and all files it may include, as path and text; or code objects in its place."""

    module: str
    folder: Path
    path: Path
    include: tuple[Path, ...]
    files: Mapping[Path, str]
    flags: tuple[str, ...] = ()
    prebuilt: Mapping[str, Path] = field(default_factory=dict)

    @functools.cached_property
    def root(self) -> str:
        """The folder below which the hipified files keep their places relative to each other."""
        return os.path.commonpath([self.folder, *self.include, *(p.parent for p in self.files)])

    def name(self, path: Path) -> str:
        """What ``#line`` calls a file: independent of where the folder is, so that cached listings are too."""
        return Path(os.path.relpath(path, self.folder)).as_posix()


def find_modules(folder: Path, modules: Iterable[str] | None = None) -> dict[str, Path]:
    """The ``.cu`` file of each module in ``folder`` in alphabetical order; all, or those asked for.

    A module is called like its file, with the folders below ``folder`` that it is in, without ``.cu``. The file of one
    that is given as code objects is not there.

    Raises:
        UsageError: the folder does not exist or holds no ``.cu`` file, or a module is not in it.
    """
    if not folder.is_dir():
        raise UsageError(f"no kernels folder {folder}; set 'kernels' in [tool.parity] of pyproject.toml")
    files = sorted({source_of(path) for pattern in ("*.cu", "*.hsaco", "*.co") for path in folder.rglob(pattern)})
    found = {path.relative_to(folder).as_posix().removesuffix(".cu"): path for path in files}
    if not found:
        raise UsageError(f"the kernels folder {folder} holds no .cu file, and no code object; a module is one .cu file")
    if modules is None:
        return found
    wanted = tuple(modules)
    for module in wanted:
        if module not in found:
            raise UsageError(f"no module {module!r} in {folder}; it has {' '.join(found)}{nearest(module, found)}")
    return {module: found[module] for module in wanted}


def build(
    folder: Path,
    modules: Iterable[str] | Mapping[str, Path] | None = None,
    targets: Iterable[str] | None = None,
    *,
    cache: Cache | None = None,
    jobs: int | None = None,
    include: Sequence[Path] = (),
    flags: Sequence[str] = (),
    done: Callable[[Built], None] | None = None,
) -> list[Built]:
    """Hipify and compile modules of ``folder`` (all by default) for targets (all AMD targets by default).

    ``modules`` may map names to files. ``include`` are further folders with headers, ``flags`` further options of the
    compiler; ``jobs`` limits how many compilers run at once (one per processor by default); ``done`` is called with
    every result as it arrives, from the thread that made it. The result is ordered by module, then target. A module
    that does not compile is a result with an error; the others go on.

    Raises:
        UsageError: no such folder, module or target, or the cache folder cannot be written.
        MissingTool: the compiler or the device libraries are not installed.
    """
    folder = folder.absolute()
    include = tuple(path.absolute() for path in include)
    paths = modules if isinstance(modules, Mapping) else find_modules(folder, modules)
    chosen = [target(name) for name in (TARGETS if targets is None else targets)]
    store = cache or Cache(default_root() / "build")
    tools = {"amd": _amd_fingerprint, "cuda": cuda.fingerprint}
    texts: dict[Path, str] = {}
    sources = []
    for module, path in ((m, path.absolute()) for m, path in paths.items()):
        given = prebuilt(path)
        files = {} if given else _closure(path, (folder, *include), texts)
        sources.append(_Source(module, folder, path, include, files, tuple(flags), given))
    compiled = not all(source.prebuilt for source in sources)
    fingerprints = {t.name: digest(_own_digest(), tools[t.vendor](t)) for t in chosen if compiled}

    def one(task: tuple[_Source, Target]) -> Built:
        source, t = task
        built = _read_one(*task, store) if source.prebuilt else _build_one(*task, fingerprints[t.name], store)
        if done:
            done(built)
        return built

    with ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(one, [(source, t) for source in sources for t in chosen]))


def build_suite(
    suite: Suite,
    modules: Iterable[str],
    targets: Iterable[str],
    *,
    jobs: int | None = None,
    done: Callable[[Built], None] | None = None,
) -> list[Built]:
    """Build these modules of a suite in the way that its project says; those whose file is missing are left out.

    Raises:
        UsageError, MissingTool: as ``build``.
    """
    paths = {module: suite.files[module] for module in modules if module not in suite.missing}
    return build(suite.kernels, paths, targets, jobs=jobs, include=suite.include, flags=suite.flags, done=done)


def _build_one(source: _Source, target: Target, fingerprint: str, cache: Cache) -> Built:
    start = time.perf_counter()
    parts = [part for path in sorted(source.files) for part in (source.name(path), source.files[path])]
    key = digest(fingerprint, source.module, *source.flags, *map(source.name, source.include), *map(_encode, parts))
    try:
        fill = _compile_cuda if target.vendor == "cuda" else _compile_amd
        folder, cached = cache.get(key, functools.partial(fill, source, target))
    except compiler.CompileError as error:
        seconds = time.perf_counter() - start
        return Built(source.module, target.name, seconds, error=error, unmapped=error.unmapped, hazards=error.hazards)
    return _built(source, target, folder, time.perf_counter() - start, cached)


def _read_one(source: _Source, target: Target, cache: Cache) -> Built:
    """What became of a module that is given as code objects."""
    start = time.perf_counter()
    path = source.prebuilt.get(target.name) or source.prebuilt.get("")
    try:
        if path is None or target.vendor == "cuda":
            raise UsageError(f"{source.path.name} is not there, in its place {_names(source.prebuilt.values())}")
        tools = disassembler.find_disassembler()
        key = digest(_own_digest(), source.module, str(tools), path.read_bytes())
        folder, cached = cache.get(key, functools.partial(_disassemble, source, path))
        found = json.loads((folder / _RECORD).read_text())["target"]
        if found != target.name:
            raise UsageError(f"{path.name} is for {found}, not for {target}")
    except UsageError as problem:
        error = compiler.UnusableCodeObject(source.module, target.name, str(problem))
        return Built(source.module, target.name, time.perf_counter() - start, error=error)
    return _built(source, target, folder, time.perf_counter() - start, cached)


def _disassemble(source: _Source, path: Path, folder: Path) -> None:
    # Not called .hsaco as those that parity compiled, whose listing is known and not read back.
    listing, copy = folder / f"{source.path.stem}.s", folder / f"{source.path.stem}.co"
    copy.write_bytes(path.read_bytes())
    listing.write_text(disassembler.listing_of(copy, path.name))
    _write_record(folder, parse(listing.read_text(), source.module), listing, copy, sources=[source.name(path)])


def _names(paths: Iterable[Path]) -> str:
    return ", ".join(path.name for path in paths)


def _built(source: _Source, target: Target, folder: Path, seconds: float, cached: bool) -> Built:
    """What is in a folder of the cache."""
    record = json.loads((folder / _RECORD).read_text())
    code = CodeObject(
        source.module,
        target.name,
        (folder / record["listing"]).read_text(),
        {k["name"]: kernel_from_dict(k) for k in record["kernels"]},
        record["digest"],
        tuple(_original(Path(name), source.folder) for name in record["sources"]),
        folder / record["binary"],
    )
    return Built(
        source.module,
        target.name,
        seconds,
        cached,
        code,
        hip=folder / record["hip"] if record["hip"] else None,
        replaced=record["replaced"],
        unmapped=tuple(Finding(**f) for f in record["unmapped"]),
        hazards=tuple(Finding(**f) for f in record["hazards"]),
    )


def _amd_fingerprint(target: Target) -> str:
    installed = rocm.chosen(target)
    return installed.fingerprint(target) if installed else compiler.fingerprint(target)


def _compile_amd(source: _Source, target: Target, folder: Path) -> None:
    own = frozenset().union(*(defined_macros(text) for text in source.files.values()))
    replaced: dict[str, int] = {}
    unmapped: list[Finding] = []
    hazards: list[Finding] = []
    installed = rocm.chosen(target)
    hosted = False
    staged = folder / "hip"
    main = staged
    for path, text in source.files.items():
        hip = _hipified(text, source.name(path), own)
        place = staged / os.path.relpath(path, source.root)
        head = f"#line 1 {json.dumps(source.name(path), ensure_ascii=False)}\n"
        if path == source.path:
            place = main = place.with_suffix(".hip")
            head = "#include <hip/hip_runtime.h>\n" + head
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(_encode(head + (with_plain_coordinates(hip.text) if installed else hip.text)))
        for name, count in hip.replaced.items():
            replaced[name] = replaced.get(name, 0) + count
        hosted = hosted or _is_hosted(hip.text, path, source)
        unmapped += hip.unmapped
        hazards += hip.hazards
    listing, hsaco = folder / f"{source.path.stem}.s", folder / f"{source.path.stem}.hsaco"
    compile_it = installed.compile if installed else functools.partial(compiler.compile_listing, hosted=hosted)
    try:
        compile_it(
            main,
            listing,
            target,
            include=[staged / os.path.relpath(path, source.root) for path in (source.folder, *source.include)],
            flags=source.flags,
            originals={source.name(path): str(path) for path in source.files},
        )
    except compiler.CompileError as error:
        error.unmapped, error.hazards = tuple(unmapped), tuple(hazards)
        raise
    (installed.assemble if installed else compiler.assemble)(listing, hsaco, target)
    code = parse(listing.read_text(), source.module)
    _write_record(
        folder,
        code,
        listing,
        hsaco,
        # The line table's file 0 is the hipified text itself, which no line refers to.
        sources=[path.as_posix() for path in code.sources if path != Path(main.name)],
        hip=main.relative_to(folder).as_posix(),
        replaced=replaced,
        unmapped=[asdict(f) for f in unmapped],
        hazards=[asdict(f) for f in hazards],
    )


def _compile_cuda(source: _Source, target: Target, folder: Path) -> None:
    ptx, cubin = folder / f"{source.path.stem}.ptx", folder / f"{source.path.stem}.cubin"
    include = (source.folder, *source.include)
    code = cuda.compile_module(source.path, ptx, cubin, target, include=include, flags=source.flags)
    _write_record(folder, code, ptx, cubin, sources=[source.name(path) for path in source.files])


def _write_record(
    folder: Path,
    code: CodeObject,
    listing: Path,
    binary: Path,
    *,
    sources: Sequence[str],
    hip: str = "",
    replaced: Mapping[str, int] | None = None,
    unmapped: Sequence[object] = (),
    hazards: Sequence[object] = (),
) -> None:
    record = {
        "target": code.target,
        "digest": code.digest,
        "listing": listing.name,
        "binary": binary.name,
        "sources": sources,
        "hip": hip,
        "replaced": replaced or {},
        "unmapped": unmapped,
        "hazards": hazards,
        "kernels": [kernel_to_dict(k) for k in code.kernels.values()],
    }
    (folder / _RECORD).write_text(json.dumps(record))


# The same headers are translated for every module and target.
_hipified = functools.lru_cache(maxsize=256)(lambda text, file, own: hipify(text, file, own=own))


def _closure(path: Path, folders: Sequence[Path], texts: dict[Path, str]) -> dict[Path, str]:
    """The file and all it may include, conditionals ignored; headers that are found nowhere are the compiler's."""
    found: dict[Path, str] = {}
    open_paths = [path]
    while open_paths:
        path = open_paths.pop()
        if path in found:
            continue
        if path not in texts:
            # A comment in some other encoding is no reason to refuse a source: its bytes go through unchanged.
            texts[path] = path.read_text(encoding="utf-8", errors="surrogateescape")
        found[path] = texts[path]
        for header in _INCLUDE.findall(found[path]):
            candidates = (Path(os.path.normpath(place / header)) for place in (path.parent, *folders))
            open_paths += [c for c in candidates if c.is_file()][:1]
    return found


def _is_hosted(hip: str, path: Path, source: _Source) -> bool:
    """Whether a hipified file includes headers of the host's C++ library beyond what device code needs."""
    places = [path.parent, source.folder, *source.include, compiler.FREESTANDING, compiler.FALLBACK]
    return not all(any((place / header).is_file() for place in places) for header in _INCLUDE.findall(hip))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _original(name: Path, folder: Path) -> Path:
    head, rest = name.parts[0], name.parts[1:]
    if head == compiler.HEADERS_ALIAS:
        return compiler.HEADERS.joinpath(*rest)
    if head == compiler.HIP_ALIAS and (found := compiler.headers()):
        return found.folder.joinpath(*rest)
    if head == compiler.LIBRARY_ALIAS:  # asked for here only: who compiles for CUDA need not have that library
        return compiler.host_library().joinpath(*rest)
    return Path(os.path.normpath(folder / name))


@functools.cache
def _own_digest() -> str:
    """Digest of the translator itself: what it would now make of a source may differ from what is cached."""
    here = Path(__file__).parent
    files = sorted([*here.glob("*.py"), *here.glob("*.csv"), here.parent / "codeobject.py"])
    return digest(*(file.read_bytes() for file in files))
