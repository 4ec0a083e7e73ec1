"""Packs the files that workers need into bundles, which travel by digest.

There are three kinds of bundles: the suite (sources, case files, headers), the code object of a module, and a recording
to replay. The SHA-256 of a bundle's bytes is its name. A worker unpacks bundles into its cache, and fetches only those
that it lacks.
"""

from __future__ import annotations

import hashlib
import pickle
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from parity.engine.case_records import Column
from parity.engine.plan import Plan
from parity.errors import NotAvailable, UsageError
from parity.model.code_object import CodeObject
from parity.platform.cache import Cache, default_root
from parity.platform.files import HEADERS, find_below
from parity.platform.serialization import packed, unpacked
from parity.suite.corpus import SUFFIX

SOURCES = (*HEADERS, ".cu", ".cc", ".cpp", ".hip", ".hsaco", ".co", ".ptx", ".csv", ".json", ".toml")

LARGEST = 2**28
"""Maximum total size of the sources and headers of a suite in bytes."""

CODE, BUNDLE, RECORDING = "code.pickle", "plan.pickle", "recording.zip"


@dataclass(frozen=True)
class Manifest:
    """A plan and the digests of its bundles: the suite, code objects by (module, column), and recordings by runner
    spec.

    ``moved`` maps each folder of the suite to its path in the bundle.
    """

    plan: Plan
    suite: str
    code: Mapping[tuple[str, Column], str]
    recordings: Mapping[str, str]
    moved: Mapping[Path, str] = field(default_factory=dict)

    def bundles(self, module: str, columns: tuple[Column, ...]) -> tuple[str, ...]:
        """Return the digests of the bundles that a call about a module on these columns needs."""
        code = (self.code.get((module, column)) for column in columns)
        recordings = (self.recordings.get(column.spec) for column in columns)
        return tuple(dict.fromkeys(each for each in (self.suite, *code, *recordings) if each))


def pack_plan(plan: Plan) -> tuple[Manifest, str, dict[str, bytes]]:
    """Return the manifest of a plan, the digest of the packed manifest, and all bundles by digest.

    Raises:
        UsageError: A file is unreadable, or the suite is too large.
    """
    contents: dict[str, bytes] = {}

    def add(files: Mapping[str, bytes]) -> str:
        data = zlib.compress(packed(dict(sorted(files.items()))), 1)
        key = bundle_digest(data)
        contents[key] = data
        return key

    moved = dict(_folders(plan))
    try:
        suite = add(dict(_sources(moved)))
        code: dict[tuple[str, Column], str] = {}
        same: dict[int, str] = {}
        for key, each in plan.code.items():
            if id(each) not in same:  # columns of one target share it
                binary = {each.binary.name: each.binary.read_bytes()} if each.binary else {}
                same[id(each)] = add({CODE: pickle.dumps(each), **binary})
            code[key] = same[id(each)]
        files = {c.spec: Path(c.spec.partition("=")[2]) for c in plan.columns if not c.live}
        recordings = {spec: add({RECORDING: path.read_bytes()}) for spec, path in files.items()}
    except OSError as error:
        raise UsageError(f"cannot read {error.filename}, which the workers need: {error.strerror}") from error
    bundle = Manifest(replace(plan, tasks=(), code={}), suite, code, recordings, moved)
    return bundle, add({BUNDLE: pickle.dumps(bundle)}), contents


def bundle_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def cached_bundle(digest: str, fetch: Callable[[str], bytes]) -> Path:
    """Return the folder of an unpacked bundle, which is fetched if the cache lacks it.

    Raises:
        NotAvailable: The fetched bytes do not match the digest, or a file lies outside of the folder.
    """

    def build(folder: Path) -> None:
        data = fetch(digest)
        if (found := bundle_digest(data)) != digest:
            raise NotAvailable(f"the bundle {digest} was requested, but {found} arrived and was discarded")
        for name, content in unpacked(zlib.decompress(data), dict[str, bytes], f"the bundle {digest}").items():
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise NotAvailable(f"the bundle {digest} has a file {name!r}, which lies outside of its folder")
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    return Cache(default_root()).get(digest, build)[0]


def load_plan(bundle: str) -> Plan:
    """Load the plan of a manifest in the cache. Code objects are read on first use."""
    cache = Cache(default_root())
    found: Manifest = pickle.loads((cache.folder(bundle) / BUNDLE).read_bytes())
    suite = cache.folder(found.suite)
    plan, moved = found.plan, {before: suite / after for before, after in found.moved.items()}
    sides = plan.sides
    cuda, amd = (
        replace(side, include=tuple(moved.get(folder, folder) for folder in side.include))
        for side in (sides.cuda, sides.amd)
    )
    return replace(
        plan,
        kernels=moved[plan.kernels],
        cases=moved[plan.cases],
        code=_Codes(found.code),
        specs={spec: f"recorded={cache.folder(key) / RECORDING}" for spec, key in found.recordings.items()},
        sides=replace(sides, cuda=cuda, amd=amd, ported=moved[sides.ported] if sides.ported else None),
    )


@dataclass(frozen=True)
class _Codes(Mapping[tuple[str, Column], CodeObject]):
    """Code objects by (module, column), read from the cache."""

    digests: Mapping[tuple[str, Column], str]
    read: dict[str, CodeObject] = field(default_factory=dict)

    def __getitem__(self, key: tuple[str, Column]) -> CodeObject:
        digest = self.digests[key]
        if digest not in self.read:
            folder = Cache(default_root()).folder(digest)
            code: CodeObject = pickle.loads((folder / CODE).read_bytes())
            self.read[digest] = replace(code, binary=folder / code.binary.name) if code.binary else code
        return self.read[digest]

    def __iter__(self) -> Iterator[tuple[str, Column]]:
        return iter(self.digests)

    def __len__(self) -> int:
        return len(self.digests)


def _folders(plan: Plan) -> Iterator[tuple[Path, str]]:
    """Yield the folders of the suite, with their paths in the bundle."""
    yield plan.kernels, "kernels"
    yield plan.cases, "cases"
    if plan.sides.ported:
        yield plan.sides.ported, "hip"
    for number, folder in enumerate(dict.fromkeys((*plan.sides.cuda.include, *plan.sides.amd.include))):
        if folder not in (plan.kernels, plan.cases, plan.sides.ported):
            yield folder, f"include/{number}"


def _sources(moved: Mapping[Path, str]) -> Iterator[tuple[str, bytes]]:
    size = 0
    for folder, name in moved.items():
        suffixes = HEADERS if name.startswith("include/") else (*SOURCES, ".py", SUFFIX)
        for path in find_below(folder, *suffixes):
            inside = path.relative_to(folder)
            if any(part.startswith(".") or part == "__pycache__" for part in inside.parts):
                continue
            content = path.read_bytes()
            size += len(content)
            if size > LARGEST:
                raise UsageError(f"the sources of the suite exceed {LARGEST >> 20} MiB (at {folder})")
            yield f"{name}/{inside.as_posix()}", content
