"""From the bytes of a code object to what the emulator executes: its listing."""

from __future__ import annotations

from pathlib import Path

from parity.cache import default_root
from parity.codeobject import CodeObject, parse
from parity.errors import UsageError

__all__ = ["code_of"]


def code_of(image: bytes) -> CodeObject:
    """The code object with these bytes, with the listing that was kept beside it when parity built it.

    Raises:
        UsageError: parity did not build it.
    """
    for path in (default_root() / "build").glob("*/*/*.hsaco"):
        if path.stat().st_size == len(image) and path.read_bytes() == image:
            return parse(_listing(path).read_text(), path.stem, binary=path)
    raise UsageError(
        f"no code object in {default_root() / 'build'} has these {len(image)} bytes: it is damaged, or parity did not "
        "build it; build its source with parity, in the same cache"
    )


def _listing(binary: Path) -> Path:
    return binary.with_suffix(".s")
