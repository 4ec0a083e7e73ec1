"""Evicts the least recently used entries when the cache exceeds its limit.

The modification time of an entry, or of its checksum file, is the time of its last use. Every process that uses the
cache keeps a file locked whose modification time is the process's first use. Entries used since the oldest running
process started may be in use and are kept.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from parity.errors import UsageError

LIMIT = "PARITY_CACHE_LIMIT"
"""The environment variable with the limit."""

SEAL = "SHA256SUMS"
"""The file whose presence makes an entry complete."""

SCRATCH = ".build-"
"""Prefix of folders that are not yet, or no longer, entries."""

_DEFAULT = "5G"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)", re.IGNORECASE)
"""A number with a unit. The unit is mandatory, because a plain 20000 rarely means bytes."""
_KEPT = "headers"
"""The folder that is never evicted, because restoring it requires a network."""

_HEXADECIMAL = re.compile(rf"[0-9a-f]{{62}}|{re.escape(SCRATCH)}.*")
"""Matches the names of entries that consist of one file, and of files that will become entries."""
_RUNNING = ".running"
_KNOWN = ".size"
_DIGITS = 20
"""Width of the number in ``_KNOWN``. It is overwritten in place: truncating the file makes ext4 wait for the disk."""
_LOCK_WAIT = 10.0
"""Longest wait, in seconds, for a lock of another process, which may be suspended."""


def limit() -> int | None:
    """Return the limit in bytes from ``$PARITY_CACHE_LIMIT`` (default: 5 GiB), or None for ``none``.

    Raises:
        UsageError: the variable is not a size.
    """
    text = os.environ.get(LIMIT) or _DEFAULT
    if text.lower() == "none":
        return None
    if (match := _SIZE.fullmatch(text.strip())) is None:
        raise UsageError(f'{LIMIT} is "{text}", which is not a size: set "10G", "500M", or "none" for no limit')
    return int(float(match[1]) * 1024 ** " KMGT".index((match[2] or " ").upper()))


def try_lock(descriptor: int, how: int = fcntl.LOCK_EX) -> bool:
    """Try to lock an open file. Return whether it succeeded."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        return True
    return False


def remove(entry: Path) -> None:
    """Remove an entry, if it exists and can be removed."""
    if entry.is_dir():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            entry.unlink()


def folder_size(folder: str | Path) -> int:
    """Return the bytes of the files below a folder; a file with several links counts in part.

    Skips files that cannot be read, or that disappear meanwhile.
    """
    try:
        with os.scandir(folder) as entries:
            return sum(
                folder_size(entry.path)
                if entry.is_dir(follow_symlinks=False)
                else _share(entry.stat(follow_symlinks=False))
                for entry in entries
            )
    except OSError:
        return 0


def _entry_size(entry: Path) -> int:
    return folder_size(entry) if entry.is_dir() else entry.stat().st_size


def _share(file: os.stat_result) -> int:
    return file.st_size // max(1, file.st_nlink)


def register_process(root: Path) -> None:
    """Register this process as a user of a cache folder. Call it before writing there."""
    with contextlib.suppress(OSError):
        _running(root, os.getpid())


def mark_used(root: Path, entry: Path) -> None:
    """Mark an entry as used now. Call it before reading; afterwards the entry is gone or will be kept."""
    register_process(root)
    with contextlib.suppress(OSError), _locked_size(root, fcntl.LOCK_SH):
        os.utime(entry / SEAL)


def record_growth(root: Path, entry: Path) -> None:
    """Add an entry to the known size of a cache folder, and evict entries if the size exceeds the limit.

    Eviction frees a further sixteenth of the limit. It requires a file system with locks.

    Raises:
        UsageError: ``$PARITY_CACHE_LIMIT`` is not a size.
    """
    allowed = limit()
    with contextlib.suppress(OSError), _locked_size(root, fcntl.LOCK_EX) as known:
        if known is None:
            return
        text = known.read().strip()
        total = int(text) + _entry_size(entry) if text.isdecimal() else folder_size(root)
        if allowed is not None and total > allowed:
            total = _evict(root, allowed - allowed // 16)
            # If everything is in use, try again only after the cache has grown by as much again.
            total = min(total, allowed - allowed // 16)
        known.seek(0)
        known.write(f"{total:<{_DIGITS}}")


def _evict(root: Path, wanted: int) -> int:
    """Remove unused entries, least recently used first, until ``wanted`` bytes remain. Return the remaining bytes."""
    total, oldest = folder_size(root), _oldest_start(root)
    for last, entry in sorted(_entries(root)):
        if total <= wanted or last >= oldest:
            break
        gone = entry.with_name(entry.name if entry.name.startswith(SCRATCH) else f"{SCRATCH}{entry.name}")
        entry.rename(gone)
        total -= _entry_size(gone)
        remove(gone)
    return total


def _entries(folder: Path) -> Iterator[tuple[float, Path]]:
    """Yield the entries below a cache folder and the leftovers of killed processes, with the time of last use."""
    for path in folder.iterdir():
        if path.name in (_RUNNING, _KEPT) or not (path.is_dir() or _HEXADECIMAL.fullmatch(path.name)):
            continue
        with contextlib.suppress(OSError):
            if path.name.startswith(SCRATCH) or path.is_file():
                yield path.stat().st_mtime, path
            elif (path / SEAL).is_file():
                yield (path / SEAL).stat().st_mtime, path
            else:
                yield from _entries(path)


@functools.cache
def _running(root: Path, process: int) -> int:
    """Create a file that this process keeps locked, and return its descriptor. Removes files of ended processes."""
    folder = root / _RUNNING
    folder.mkdir(parents=True, exist_ok=True)
    _oldest_start(root)
    while True:
        descriptor, name = tempfile.mkstemp(prefix=f"{process}-", dir=folder)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:  # otherwise another process removed it before it was locked
            atexit.register(_unregister, Path(name), process)
            return descriptor
        os.close(descriptor)


def _unregister(file: Path, process: int) -> None:
    if os.getpid() == process:  # not in a forked process
        file.unlink(missing_ok=True)


def _oldest_start(root: Path) -> float:
    """Return when the oldest running process first used the cache folder. Removes files of ended processes."""
    times = [time.time()]
    for path in (root / _RUNNING).iterdir():
        with contextlib.suppress(FileNotFoundError), path.open("r+") as file:
            if try_lock(file.fileno()):
                path.unlink(missing_ok=True)
            else:
                times.append(path.stat().st_mtime)
    return min(times)


@contextlib.contextmanager
def _locked_size(root: Path, how: int) -> Iterator[IO[str] | None]:
    """Lock the file with the known size: shared to use entries, exclusive to evict them. None after a long wait."""
    with os.fdopen(os.open(root / _KNOWN, os.O_RDWR | os.O_CREAT, 0o666), "r+") as file:
        end = time.monotonic() + _LOCK_WAIT
        while not (mine := try_lock(file.fileno(), how)) and time.monotonic() < end:
            time.sleep(0.001)
        file.seek(0)
        yield file if mine else None
