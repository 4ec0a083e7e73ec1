"""The size of the cache folder: what was not used for longest goes when all of it is larger than a limit.

An entry's seal has the time at which it was used last. Every process that uses one keeps a file of its own locked,
whose time is that of its first use: what was used since the oldest of those that are running began is in use, and
stays.
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

__all__ = [
    "LIMIT",
    "SCRATCH",
    "SEAL",
    "folder_size",
    "limit",
    "mark_used",
    "record_growth",
    "register_process",
    "try_lock",
]

LIMIT = "PARITY_CACHE_LIMIT"
"""The variable with the limit."""

SEAL = "SHA256SUMS"
"""The file that completes an entry."""

SCRATCH = ".build-"
"""The begin of the names of folders that are no entries yet, or none any more."""

_DEFAULT = "5G"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)", re.IGNORECASE)
"""A number and its unit: who writes 20000 does not mean bytes, with which nothing would stay for a minute."""
_KEPT = "headers"
"""The folder of what only a network brings back."""

_RUNNING = ".running"
_KNOWN = ".size"
_DIGITS = 20
"""The width of the number in it, which is written over: ext4 waits for the disk after a file is cut to nothing."""
_PATIENCE = 10.0
"""Seconds for which one waits at most for another process, which may be suspended."""


def limit() -> int | None:
    """The bytes that ``$PARITY_CACHE_LIMIT`` allows, 5 GiB by default; None if that is ``none``.

    Raises:
        UsageError: it is no size.
    """
    text = os.environ.get(LIMIT) or _DEFAULT
    if text.lower() == "none":
        return None
    if (match := _SIZE.fullmatch(text.strip())) is None:
        raise UsageError(f'{LIMIT} is "{text}", which is no size: say "10G", "500M", or "none" for no limit')
    return int(float(match[1]) * 1024 ** " KMGT".index((match[2] or " ").upper()))


def try_lock(descriptor: int, how: int = fcntl.LOCK_EX) -> bool:
    """Lock an open file, if it is not locked by another process; true if it is locked now."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        return True
    return False


def folder_size(folder: str | Path) -> int:
    """The bytes of the files below a folder, as far as they can be seen; others may be at work there."""
    try:
        with os.scandir(folder) as entries:
            return sum(
                folder_size(entry.path)
                if entry.is_dir(follow_symlinks=False)
                else entry.stat(follow_symlinks=False).st_size
                for entry in entries
            )
    except OSError:
        return 0


def register_process(root: Path) -> None:
    """Note that this process uses a cache folder, before it writes there."""
    with contextlib.suppress(OSError):
        _running(root, os.getpid())


def mark_used(root: Path, entry: Path) -> None:
    """Note that this process uses an entry of a cache folder, before it reads it: it may be gone then, or stays."""
    register_process(root)
    with contextlib.suppress(OSError), _alone(root, fcntl.LOCK_SH):
        os.utime(entry / SEAL)


def record_growth(root: Path, entry: Path) -> None:
    """Note that a cache folder has another entry; what is not in use goes if it is larger than the limit now.

    A sixteenth of the limit is made free at once. Nothing is removed on a file system without locks.

    Raises:
        UsageError: as ``limit``.
    """
    allowed = limit()
    with contextlib.suppress(OSError), _alone(root, fcntl.LOCK_EX) as known:
        if known is None:
            return
        text = known.read().strip()
        total = int(text) + folder_size(entry) if text.isdecimal() else folder_size(root)
        if allowed is not None and total > allowed:
            total = _trimmed(root, allowed - allowed // 16)
            # Where all is in use, the next look is after as much again.
            total = min(total, allowed - allowed // 16)
        known.seek(0)
        known.write(f"{total:<{_DIGITS}}")


def _trimmed(root: Path, wanted: int) -> int:
    """Remove the entries that nobody uses, least recently used first, until ``wanted`` bytes are left; the bytes."""
    total, oldest = folder_size(root), _oldest(root)
    for last, entry in sorted(_entries(root)):
        if total <= wanted or last >= oldest:
            break
        gone = entry.with_name(entry.name if entry.name.startswith(SCRATCH) else f"{SCRATCH}{entry.name}")
        entry.rename(gone)
        total -= folder_size(gone)
        shutil.rmtree(gone, ignore_errors=True)
    return total


def _entries(folder: Path) -> Iterator[tuple[float, Path]]:
    """The entries below a cache folder, and what killed processes left there, with the time of their last use."""
    for path in folder.iterdir():
        if path.name in (_RUNNING, _KEPT) or not path.is_dir():
            continue
        with contextlib.suppress(OSError):
            if path.name.startswith(SCRATCH):
                yield path.stat().st_mtime, path
            elif (path / SEAL).is_file():
                yield (path / SEAL).stat().st_mtime, path
            else:
                yield from _entries(path)


@functools.cache
def _running(root: Path, process: int) -> int:
    """A file of this process, locked as long as it runs; the descriptor. Those of others that have ended go."""
    folder = root / _RUNNING
    folder.mkdir(parents=True, exist_ok=True)
    _oldest(root)
    while True:
        descriptor, name = tempfile.mkstemp(prefix=f"{process}-", dir=folder)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:  # else another took it for one of a process that has ended
            atexit.register(_ended, Path(name), process)
            return descriptor
        os.close(descriptor)


def _ended(file: Path, process: int) -> None:
    if os.getpid() == process:  # and not one that it has forked
        file.unlink(missing_ok=True)


def _oldest(root: Path) -> float:
    """When the oldest of the processes that use a cache folder began to."""
    times = [time.time()]
    for path in (root / _RUNNING).iterdir():
        with contextlib.suppress(FileNotFoundError), path.open("r+") as file:
            if try_lock(file.fileno()):
                path.unlink(missing_ok=True)
            else:
                times.append(path.stat().st_mtime)
    return min(times)


@contextlib.contextmanager
def _alone(root: Path, how: int) -> Iterator[IO[str] | None]:
    """The file with the known size, locked: by many to use entries, by one to remove some. None after a long wait."""
    with os.fdopen(os.open(root / _KNOWN, os.O_RDWR | os.O_CREAT, 0o666), "r+") as file:
        end = time.monotonic() + _PATIENCE
        while not (mine := try_lock(file.fileno(), how)) and time.monotonic() < end:
            time.sleep(0.001)
        file.seek(0)
        yield file if mine else None
