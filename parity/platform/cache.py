"""A content-addressed cache of build artifacts in the user's cache folder."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from parity.errors import ResourceExhausted
from parity.platform import subprocesses
from parity.platform.cache_eviction import SCRATCH, SEAL, mark_used, record_growth, register_process, remove, try_lock

log = logging.getLogger("parity.platform.cache")

BUILD_WAIT = 300.0
"""Longest wait, in seconds, for another process or thread that builds the same entry. It may be suspended."""

_FAST, _GZIP = 1, 31
"""Level of the compression of texts, and the format, which has a checksum."""

_FULL = (errno.ENOSPC, errno.EDQUOT)


def free_mebibytes(folder: Path) -> float:
    """Return how much space the disk of a folder, or of its nearest existing parent, has left."""
    existing = next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
    return shutil.disk_usage(existing).free / 2**20


def default_root() -> Path:
    """Return ``$PARITY_CACHE``, or the user's cache folder."""
    return Path(os.environ.get("PARITY_CACHE") or platformdirs.user_cache_dir("parity", appauthor=False))


def digest(*parts: str | bytes) -> str:
    """Return the SHA-256 of the parts. A length precedes each part, so that different lists do not collide."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(f"{len(data)}:".encode())
        sha.update(data)
    return sha.hexdigest()


def file_digest(path: Path) -> str:
    """Return the digest of a file; empty if it cannot be read."""
    try:
        return digest(path.read_bytes())
    except OSError:
        return ""


@dataclass(frozen=True)
class Cache:
    """A folder with one file or folder per key. An entry is complete and has checksums, or does not exist."""

    root: Path

    def folder(self, key: str) -> Path:
        """Return the path of an entry, whether it exists or not."""
        return self.root / key[:2] / key[2:]

    def existing(self, key: str) -> Path | None:
        """Return the folder of an entry, without verifying it. Return None if it does not exist or is unreadable."""
        folder = self.folder(key)
        return folder if os.access(folder, os.R_OK) else None

    def get(self, key: str, build: Callable[[Path], None]) -> tuple[Path, bool]:
        """Return the folder of an entry and whether it existed. If it did not, ``build`` fills it.

        A damaged entry is rebuilt, with a warning. Concurrent callers wait while the first builds. Callers whose wait
        ends early build as well; the first to finish wins.

        Raises:
            ResourceExhausted: the cache folder cannot be written.
        """
        if sound := self._sound(key):
            return sound, True
        folder, base = self.folder(key), self._base
        try:
            if base:
                register_process(base)
            folder.parent.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=folder.parent))
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            with _wait_for_builder(folder):
                if sound := self._sound(key):
                    return sound, True
                try:
                    build(scratch)
                except OSError as error:
                    elsewhere = error.filename is not None and not Path(error.filename).is_relative_to(self.root)
                    if elsewhere or error.errno not in _FULL:
                        raise
                    raise self._unwritable(error) from error
                try:
                    (scratch / SEAL).write_text(_name_line(folder) + _checksums(scratch))
                    scratch.rename(folder)
                except OSError as error:
                    # Another process built the same key first, or the damaged entry could not be removed.
                    if not _is_sound(folder):
                        raise self._unwritable(error) from error
                if base:
                    record_growth(base, folder)
                return folder, False
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def __contains__(self, key: str) -> bool:
        """Return True if the folder of an entry exists and is intact."""
        return self._sound(key) is not None

    def note(self, key: str, text: str) -> None:
        """Store a text as an entry: one compressed file with a checksum.

        Raises:
            ResourceExhausted: the cache folder cannot be written.
        """
        path, base = self.folder(key), self._base
        try:
            if base:
                register_process(base)
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=SCRATCH, dir=path.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(zlib.compress(text.encode(), _FAST, wbits=_GZIP))
                Path(name).replace(path)
            except BaseException:
                remove(Path(name))
                raise
        except OSError as error:
            raise self._unwritable(error) from error
        if base:
            record_growth(base, path)

    def noted(self, key: str) -> str | None:
        """Return the text of an entry, or None if it does not exist, is unreadable or damaged."""
        path = self.folder(key)
        try:
            text = zlib.decompress(path.read_bytes(), wbits=_GZIP).decode()
        except (FileNotFoundError, PermissionError):
            return None
        except (OSError, zlib.error, UnicodeDecodeError):
            log.warning("cache entry %s was damaged; it is made again", path)
            self.forget(key)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return text

    def forget(self, key: str) -> None:
        """Remove an entry."""
        remove(self.folder(key))

    def _sound(self, key: str) -> Path | None:
        """Return the folder of an intact entry, or None. Removes a damaged entry, with a warning."""
        folder = self.folder(key)
        try:
            if not folder.is_dir():
                return None
        except OSError as error:
            raise self._unwritable(error) from error
        if base := self._base:
            mark_used(base, folder)
            if not folder.is_dir():
                return None
        if _is_sound(folder):
            return folder
        log.warning("cache entry %s was damaged; it is built again", folder)
        remove(folder)
        return None

    @property
    def _base(self) -> Path | None:
        """The cache folder to which the size limit applies, if this cache is inside it."""
        base = default_root()
        return base if base in (self.root, *self.root.parents) else None

    def _unwritable(self, error: OSError) -> ResourceExhausted:
        if error.errno in _FULL:
            problem = f"{error.strerror} ({free_mebibytes(self.root):.1f} MiB free); free some space, or"
        else:
            problem = f"{error.strerror};"
        return ResourceExhausted(
            f"cannot write the cache folder {self.root}: {problem} set PARITY_CACHE to a writable folder"
        )


@contextlib.contextmanager
def _wait_for_builder(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread builds the entry, for at most ``BUILD_WAIT`` seconds.

    The first caller holds a lock. When it has finished, all waiting callers continue at once, because it may have
    failed. The system releases the lock of a process that ends. File systems without locks are not waited for.
    """
    path = folder.with_name(f".lock-{folder.name}")
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            file = stack.enter_context(path.open("w"))
            if try_lock(file.fileno()):
                stack.callback(path.unlink, missing_ok=True)
            else:
                end = time.monotonic() + BUILD_WAIT
                while not subprocesses.interrupted() and time.monotonic() < end and not try_lock(file.fileno()):
                    time.sleep(0.05)
                file.close()
        yield


def _is_sound(folder: Path) -> bool:
    try:
        sums = _checksums(folder)
        return (folder / SEAL).read_text() in (_name_line(folder) + sums, sums)  # older entries have no name
    except (OSError, UnicodeDecodeError):
        return False


def _name_line(folder: Path) -> str:
    """The first line of an entry's checksums, which show an entry in the place of another one."""
    return f"# {folder.parent.name}{folder.name}\n"


def _checksums(folder: Path) -> str:
    """The checksums of all files, except for bytecode next to case files, which Python checks itself."""
    with os.scandir(folder) as entries:
        found = {each.name: each.is_dir() for each in entries}
    if any(found.values()):
        files = sorted(
            p for p in folder.rglob("*") if p.is_file() and p.name != SEAL and p.parent.name != "__pycache__"
        )
    else:  # most entries consist of one file, and are checked most often
        files = [folder / name for name in sorted(found) if name != SEAL]
    return "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(folder).as_posix()}\n" for p in files)
