"""A content-addressed cache of built artefacts in the user's cache folder."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from parity.errors import ResourceExhausted
from parity.platform import subprocesses
from parity.platform.cache_eviction import SCRATCH, SEAL, begun, grown, locked, used

__all__ = ["Cache", "default_root", "digest"]

log = logging.getLogger("parity.platform.cache")

PATIENCE = 300.0
"""Seconds for which one waits at most while another process or thread builds the same entry: it may be suspended."""


def default_root() -> Path:
    """``$PARITY_CACHE``, or the user's cache folder."""
    return Path(os.environ.get("PARITY_CACHE") or platformdirs.user_cache_dir("parity", appauthor=False))


def digest(*parts: str | bytes) -> str:
    """SHA-256 over the parts, each preceded by its length so that no two lists of parts collide."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(f"{len(data)}:".encode())
        sha.update(data)
    return sha.hexdigest()


@dataclass(frozen=True)
class Cache:
    """Folders of files, one per key. An entry is complete and sealed by checksums, or it does not exist."""

    root: Path

    def folder(self, key: str) -> Path:
        """The folder of the entry of ``key``, if there is one."""
        return self.root / key[:2] / key[2:]

    def get(self, key: str, build: Callable[[Path], None]) -> tuple[Path, bool]:
        """The folder of ``key`` and whether it was there; if not, ``build`` fills it.

        A damaged entry is rebuilt, with a warning. Of several that want one key at a time the first builds, and the
        others wait for it. Concurrent builds of a key, of those who waited in vain, are harmless: the first to finish
        wins.

        Raises:
            SystemLacks: the cache folder cannot be written.
        """
        if sound := self._sound(key):
            return sound, True
        folder, base = self.folder(key), self._base
        try:
            if base:
                begun(base)
            folder.parent.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=folder.parent))
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            with _turn(folder):
                if sound := self._sound(key):
                    return sound, True
                try:
                    build(scratch)
                except OSError as error:
                    elsewhere = error.filename is not None and not Path(error.filename).is_relative_to(self.root)
                    if elsewhere or error.errno not in (errno.ENOSPC, errno.EDQUOT):
                        raise
                    raise self._unwritable(error) from error
                try:
                    (scratch / SEAL).write_text(_seal_of(scratch))
                    scratch.rename(folder)
                except OSError as error:
                    # Another process built the same key first, or the damaged entry could not be removed.
                    if not _is_sound(folder):
                        raise self._unwritable(error) from error
                if base:
                    grown(base, folder)
                return folder, False
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def note(self, key: str, name: str, text: str) -> None:
        """Keep a text as an entry of one file of that name.

        Raises:
            SystemLacks: as ``get``.
        """

        def write(folder: Path) -> None:
            (folder / name).write_text(text)

        self.get(key, write)

    def noted(self, key: str, name: str = "") -> str | None:
        """The text of a file of an entry ("" for no name); None if there is no such entry."""
        folder = self._sound(key)
        return None if folder is None else (folder / name).read_text() if name else ""

    def forget(self, key: str) -> None:
        """Remove an entry."""
        shutil.rmtree(self.folder(key), ignore_errors=True)

    def _sound(self, key: str) -> Path | None:
        """The folder of an entry that is there; a damaged one is removed, with a warning."""
        folder = self.folder(key)
        if not folder.is_dir():
            return None
        if base := self._base:
            used(base, folder)
            if not folder.is_dir():
                return None
        if _is_sound(folder):
            return folder
        log.warning("cache entry %s was damaged; it is built again", folder)
        shutil.rmtree(folder, ignore_errors=True)
        return None

    @property
    def _base(self) -> Path | None:
        """The folder that the limit is for, if this is in it."""
        base = default_root()
        return base if base in (self.root, *self.root.parents) else None

    def _unwritable(self, error: OSError) -> ResourceExhausted:
        return ResourceExhausted(
            f"cannot write the cache folder {self.root}: {error.strerror}; set PARITY_CACHE to a writable folder"
        )


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread builds the entry, or for ``PATIENCE`` seconds.

    The first one holds a lock. When it is done the others go on all at once, because it may have failed. The system
    releases the lock of a process that ends. On a file system without locks there is no wait.
    """
    path = folder.with_name(f".lock-{folder.name}")
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            file = stack.enter_context(path.open("w"))
            if locked(file.fileno()):
                stack.callback(path.unlink, missing_ok=True)
            else:
                end = time.monotonic() + PATIENCE
                while not subprocesses.interrupted() and time.monotonic() < end and not locked(file.fileno()):
                    time.sleep(0.05)
                file.close()
        yield


def _is_sound(folder: Path) -> bool:
    try:
        return _seal_of(folder) == (folder / SEAL).read_text()
    except (OSError, UnicodeDecodeError):
        return False


def _seal_of(folder: Path) -> str:
    """Checksums of all files but the bytecode that Python leaves beside case files, which it checks itself."""
    with os.scandir(folder) as entries:
        found = {each.name: each.is_dir() for each in entries}
    if any(found.values()):
        files = sorted(
            p for p in folder.rglob("*") if p.is_file() and p.name != SEAL and p.parent.name != "__pycache__"
        )
    else:  # most entries are one file, and looked at more often than all others
        files = [folder / name for name in sorted(found) if name != SEAL]
    return "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(folder).as_posix()}\n" for p in files)
