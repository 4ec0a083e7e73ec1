"""Extracts clang, AMD's HIP headers, clang's HIP wrappers and AMD's device libraries from wheels into parity's cache.

No wheel consists of these files alone. They are parts of larger wheels, which take 100 MB and more when installed or
could conflict with installed packages (``triton``). Therefore only these files are taken from the wheels, pinned by
SHA-256: with range requests (``wheel_part.py``) if the index supports them, otherwise pip downloads a whole wheel to a
scratch folder. The user's pip configuration (index, proxy, offline) applies.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parity.errors import NotAvailable, ResourceExhausted
from parity.platform.cache import Cache, default_root, digest
from parity.platform.files import read_rows

log = logging.getLogger("parity.headers")


@dataclass(frozen=True)
class Wheel:
    """A wheel that contains a compiler, headers or libraries for GPUs.

    ``python`` is the version of Python it is built for. ``places`` maps prefixes of file names in the wheel to prefixes
    below the folder of headers. ``holds`` describes the files. ``content`` is their ``content_digest``, or empty if
    most of the wheel is needed.
    """

    project: str
    version: str
    sha256: str
    mebibytes: int
    python: str
    places: Mapping[str, str] = field(hash=False)
    holds: str
    content: str = ""

    def __str__(self) -> str:
        return f"{self.project} {self.version}"


_WHEELS = read_rows(Path(__file__).with_name("wheels.csv"), Wheel)
WHEELS, CURAND, COMPILER = _WHEELS[:2], _WHEELS[2], _WHEELS[3]
"""The wheels with AMD's headers, the wheel with cuRAND's, whose device functions are all in its headers, and the wheel
with clang, without what it has for other systems.

HIP 6.2 is the newest version with complete headers in a wheel: triton 3.6 and later omit half, bfloat16 and fp8. In
November 2026, triton 3.9 did so too, and the newest wheels of cupy-rocm-7-0, flydsl, hip-quant, jax-rocm10-plugin,
mlx-rocm, onnxruntime-rocm, openmm-hip-7, rocm-bindings-hip, rocm-bindings-compiler and rocm-llvm-python had no headers
of HIP; rocm-sdk-devel had no wheel.
"""

DEVICE_LIBRARY = Wheel(
    "quadrants",
    "1.3.3",
    "bda4869c57818546f3a574318165a423ac2f01c90dda52e9cd948ea14ce1aaf4",
    39,
    "3.12",
    {f"quadrants/_lib/runtime_rocm70/{name}": name for name in ("ocml.bc", "ockl.bc")},
    "AMD's device libraries",
    "12e6fd0e8b6a518a436b5c151a1344dbf3f7f45f5400c2eee5dd1cf94f8f086a",
)

NEWER = "for newer ones: parity headers --install DEB_OR_FOLDER"
"""Advice for users of the headers of the wheels."""

EXTRACTED = {wheel.project: wheel.version for wheel in (COMPILER, DEVICE_LIBRARY)}
"""The versions of the packages that are used without being installed, unless another version is installed."""

_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64")
_PART_SECONDS = 120.0
"""Time limit for the download of a part of a wheel. The whole wheel has no limit."""
_VERSION = re.compile(r"#define HIP_VERSION_(MAJOR|MINOR|PATCH) (\d+)")
_PARTS = ("MAJOR", "MINOR", "PATCH")
_KEPT_LINES = 3
_MODE = 16
"""The first bit of a file's mode in the attributes of a member of a zip file."""

WRAPPERS = "clang"
"""The folder with clang's HIP wrappers, next to AMD's headers."""


@dataclass(frozen=True)
class HipHeaders:
    """A folder with AMD's ``hip/`` and ``hsa/``, and with clang's wrappers in ``clang/``."""

    folder: Path
    version: str

    def __str__(self) -> str:
        return f"HIP {self.version}"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers: ``6.2.41134`` is (6, 2, 41134)."""
        return tuple(map(int, self.version.split(".")))


@functools.cache
def available_headers() -> HipHeaders | None:
    """Return AMD's headers, downloaded if they are not in the cache. Cached headers are verified and need no network.

    If that fails, warns that parity's fallback replaces them, and returns None.
    """
    fallback = "%s; parity's own headers are used instead, with a part of HIP and without AMD's defects"
    folder = _extracted(WHEELS, fallback)
    return headers_in(folder) if folder else None


def clang_wrappers() -> Path | None:
    """Return a folder with clang's HIP wrappers in ``WRAPPERS``, downloaded if necessary. Warn and return None if that
    fails.
    """
    return headers.folder if (headers := cached_headers()) else optional_files(WHEELS[1])


def cached_headers() -> HipHeaders | None:
    """Return AMD's headers if they are in the cache, without downloading them."""
    folder = Cache(default_root() / "headers").existing(_key(WHEELS))
    return headers_in(folder) if folder else None


@functools.cache
def optional_files(wheel: Wheel) -> Path | None:
    """Return the folder of a wheel's files, downloaded if necessary. Warn and return None if that fails."""
    return _extracted((wheel,), "%s")


def cached_files(wheel: Wheel) -> Path | None:
    """Return the folder of a wheel's files if it is in the cache, without downloading them."""
    return Cache(default_root() / "headers").existing(_key((wheel,)))


def can_download(wheel: Wheel) -> bool:
    """Return True if pip is installed, with which a wheel can be downloaded."""
    try:
        return bool(_pip(wheel))
    except NotAvailable:
        return False


def kept_headers() -> tuple[HipHeaders, ...]:
    """Return all versions of AMD's headers in the cache, including entries of other versions of parity."""
    folders = sorted((default_root() / "headers").glob("*/*/"))
    return tuple(headers_in(folder) for folder in folders if (folder / "hip" / "hip_version.h").is_file())


def _extracted(wheels: Sequence[Wheel], warning: str) -> Path | None:
    """Return the folder with the headers of wheels; with a warning, None if they are not available."""
    try:
        return Cache(default_root() / "headers").get(_key(wheels), functools.partial(_fill, wheels))[0]
    except ResourceExhausted:
        raise  # parity's own headers would not fit either
    except NotAvailable as error:
        log.warning(warning, error)
        return None


def _key(wheels: Sequence[Wheel]) -> str:
    return digest("headers", *(f"{wheel} {wheel.sha256} {sorted(wheel.places.items())}" for wheel in wheels))


def headers_in(folder: Path) -> HipHeaders:
    """Return the headers in a folder."""
    return HipHeaders(folder, ".".join(map(str, hip_version(folder))))


def hip_version(folder: Path) -> tuple[int, ...]:
    """Return the version in a folder of AMD's headers."""
    numbers = dict(_VERSION.findall((folder / "hip" / "hip_version.h").read_text()))
    return tuple(int(numbers.get(part, 0)) for part in _PARTS)


def _fill(wheels: Sequence[Wheel], folder: Path) -> None:
    if wheels == WHEELS:
        log.info("compiling with the headers of HIP 6.2 from a wheel; %s", NEWER)
    for wheel in wheels:
        part = "a part of " if wheel.content else ""
        log.info("taking %s out of the wheel %s (%s%d MiB, once)", wheel.holds, wheel, part, wheel.mebibytes)
        with tempfile.TemporaryDirectory(prefix="parity-wheel-") as scratch:
            file = Path(scratch) / "part.zip"
            if not (wheel.content and _download_part(wheel, file)):
                _download(wheel, Path(scratch))
                (file,) = Path(scratch).glob("*.whl")
            _unpack(file, wheel, folder)


def _download_part(wheel: Wheel, file: Path) -> bool:
    """Download only the files of a wheel that are needed, as a zip file. Return False if that is not possible."""
    if not (python := _python_with_pip()):
        return False
    about = (wheel.project, wheel.version, wheel.sha256, ",".join(wheel.places))
    command = [*python, str(Path(__file__).with_name("wheel_part.py")), str(file), *about, *_options(wheel)]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_PART_SECONDS, env=_environment())
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0 and content_digest(file) == wheel.content


def content_digest(file: Path) -> str:
    """Return the SHA-256 of the names and contents of all files of a zip file."""
    with zipfile.ZipFile(file) as archive:
        names = sorted(name for name in archive.namelist() if not name.endswith("/"))
        return digest(*(part for name in names for part in (name, archive.read(name))))


def _download(wheel: Wheel, folder: Path) -> None:
    """Download a wheel for any version of Python with pip, and verify its digest.

    Raises:
        NotAvailable: pip is not installed, or the download failed.
    """
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{wheel.project}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    options = ("--require-hashes", "--dest", str(folder), "--requirement", str(requirement))
    command = [*_pip(wheel), "download", *_options(wheel), *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    if result.returncode:
        if "No space left on device" in result.stderr:
            raise ResourceExhausted(
                f"pip could not get {wheel}: no space left in {folder}; set TMPDIR to another folder"
            )
        errors = [line for line in result.stderr.splitlines() if line.startswith("ERROR")] or result.stderr.splitlines()
        raise NotAvailable(_missing(wheel, f"pip could not get {wheel}: {' '.join(errors[-_KEPT_LINES:]).strip()}"))


def _options(wheel: Wheel) -> list[str]:
    """Return the options of ``pip download`` that choose a wheel for any version of Python."""
    return [
        *("--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check"),
        *("--python-version", wheel.python, "--implementation", "cp"),
        *(f"--platform={name}" for name in _PLATFORMS),
    ]


def _environment() -> dict[str, str]:
    # Without a network, pip retries for a quarter of a minute by default. Users can set PIP_RETRIES themselves.
    return {"PIP_RETRIES": "1", **os.environ}


def _pip(wheel: Wheel) -> Sequence[str]:
    if python := _python_with_pip():
        return (*python, "-m", "pip")
    if found := shutil.which("pip") or shutil.which("pip3"):
        return (found,)
    raise NotAvailable(_missing(wheel, "pip is not installed; python -m ensurepip installs it"))


def _python_with_pip() -> Sequence[str]:
    """Return the command of a Python that has pip: this one, or one from uv. Empty if both lack it."""
    if importlib.util.find_spec("pip"):
        return (sys.executable,)
    if found := shutil.which("uv"):
        return (found, "run", "--quiet", "--no-project", "--python", sys.executable, "--with", "pip", "python")
    return ()


def _missing(wheel: Wheel, reason: str) -> str:
    return f"{wheel.holds} are not available: {reason}"


def _unpack(file: Path, wheel: Wheel, folder: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            for start, place in wheel.places.items():
                if name.startswith(start) and not name.endswith("/"):
                    path = folder / (place + name.removeprefix(start))
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.read(name))
                    if archive.getinfo(name).external_attr >> _MODE & 0o111:
                        path.chmod(0o755)
