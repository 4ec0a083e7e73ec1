"""Takes AMD's headers of any version from a folder or a Debian package, to compile with the wheels' clang.

The cache keeps a copy of ``hip/`` and ``hsa/`` with clang's wrappers, because the folder around them may be
``/usr/include`` with a C library, which would hide the library of the wheels.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from parity.compilers.headers import WRAPPERS, HipHeaders, clang_wrappers, headers_in
from parity.errors import MissingTool, NotAvailable, UsageError
from parity.platform.cache import Cache, default_root, digest

INSTALLED = "origin"
"""The file in a cache entry with headers that the user installed; it contains the path that they come from."""

_FOLDERS = ("", "include", "usr/include", "opt/rocm/include")
_VERSIONED = "opt/rocm-*/include"
_PARTS = ("hip", "hsa")
_AR = b"!<arch>\n"
_AR_HEAD = 60
"""The size of the head of a member of an ar archive: its name has 16 bytes, its size the ten bytes from 48 on."""


def headers_of(path: Path, *, install: bool = False) -> HipHeaders:
    """Return the headers in a folder or a ``.deb``, copied into the cache.

    With ``install``, the copy is never evicted, and ``installed_headers`` returns it.

    Raises:
        UsageError: the path has no HIP headers, or is not a Debian package.
        NotAvailable: clang's wrappers cannot be downloaded.
    """
    if path.is_dir():
        return _kept(include_folder(path), path, install)
    if not path.is_file():
        raise UsageError(f"{path} does not exist; name a folder with HIP headers, or a .deb such as libamdhip64-dev")
    with tempfile.TemporaryDirectory(prefix="parity-deb-") as scratch:
        _unpack(path, Path(scratch))
        return _kept(include_folder(Path(scratch), path), path, install)


def installed_headers() -> HipHeaders | None:
    """Return the newest headers that the user installed."""
    root = default_root() / "headers"
    origins = root.glob(f"*/*/{INSTALLED}") if os.access(root, os.R_OK) else ()
    return max((headers_in(each.parent) for each in origins), key=lambda each: each.numbers, default=None)


def remove_installed() -> tuple[HipHeaders, ...]:
    """Remove all headers that the user installed, and return them."""
    found = []
    while headers := installed_headers():
        shutil.rmtree(headers.folder)
        found.append(headers)
    return tuple(found)


def include_folder(root: Path, named: Path | None = None) -> Path:
    """Return the folder with ``hip/`` below a root; ``named`` is the path that an error mentions.

    Raises:
        UsageError: the root has no HIP headers.
    """
    places = [*(root / each for each in _FOLDERS), *sorted(root.glob(_VERSIONED), reverse=True)]
    for place in places:
        if (place / "hip" / "hip_version.h").is_file():
            return place
    looked = ", ".join((*filter(None, _FOLDERS), _VERSIONED))
    raise UsageError(f"{named or root} has no hip/hip_version.h, neither directly nor below {looked}")


def _kept(include: Path, origin: Path, install: bool) -> HipHeaders:
    files = sorted(_files(include))
    wrappers = clang_wrappers()
    if wrappers is None:
        raise NotAvailable(f"the headers of {origin} need clang's HIP wrappers, which could not be downloaded")

    def fill(folder: Path) -> None:
        for name in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(include / name, folder / name)
        shutil.copytree(wrappers / WRAPPERS, folder / WRAPPERS)
        if install:
            (folder / INSTALLED).write_text(f"{origin.absolute()}\n", encoding="utf-8")

    contents = (part for name in files for part in (str(name), (include / name).read_bytes()))
    key = digest("HIP headers", str(install), wrappers.name, *contents)
    return headers_in(Cache(default_root() / ("headers" if install else "hip")).get(key, fill)[0])


def _files(include: Path) -> Iterator[Path]:
    for part in _PARTS:
        yield from (path.relative_to(include) for path in (include / part).rglob("*") if path.is_file())


def _unpack(package: Path, folder: Path) -> None:
    """Unpack a Debian package: an ar archive with a compressed tar archive, whose name starts with ``data.tar``."""
    try:
        if program := shutil.which("dpkg-deb"):
            subprocess.run([program, "-x", package, folder], check=True, capture_output=True, text=True)
            return
        name, data = _member(package)
        if name.endswith(".zst"):
            raise MissingTool("dpkg-deb", "PATH", f"dpkg, or unpack {package} and name the folder")
        archive = folder / "data.tar"
        archive.write_bytes(data)
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
    except (tarfile.TarError, ValueError, subprocess.CalledProcessError) as error:
        text = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else str(error)
        raise UsageError(f"{package} is not a Debian package: {text}") from error


def _member(package: Path) -> tuple[str, bytes]:
    """Return the name and the content of the archive with the files of a package."""
    data, at = package.read_bytes(), len(_AR)
    if not data.startswith(_AR):
        raise ValueError("it is not an ar archive")
    while head := data[at : at + _AR_HEAD]:
        name, size = head[:16].decode().strip().rstrip("/"), int(head[48:58])
        if name.startswith("data.tar"):
            return name, data[at + _AR_HEAD :][:size]
        at += _AR_HEAD + size + size % 2
    raise ValueError("it has no data.tar")


@functools.cache
def headers_at(path: str) -> HipHeaders:
    """Return ``headers_of`` an absolute path, read once per process."""
    return headers_of(Path(path))
