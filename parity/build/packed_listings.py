"""Compresses the listings in cache entries to a tenth."""

from __future__ import annotations

import zlib
from pathlib import Path


def pack_listing(listing: Path, content: str) -> Path:
    """Write the compressed content of a listing, remove the listing, and return the new file."""
    packed = _packed(listing)
    packed.write_bytes(zlib.compress(content.encode()))
    listing.unlink()
    return packed


def read_listing(binary: Path) -> str:
    """Read the listing of a binary in a cache entry; empty if another version of parity made the entry."""
    packed = _packed(binary.with_suffix(".s"))
    return zlib.decompress(packed.read_bytes()).decode() if packed.exists() else ""


def _packed(listing: Path) -> Path:
    return listing.with_name(f"{listing.name}.z")
