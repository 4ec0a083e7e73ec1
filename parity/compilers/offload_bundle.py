"""Takes code objects out of bundles (fat binaries), as ``hipcc --genco`` writes them, compressed or not.

Source of the formats: LLVM, "Clang Offload Bundler". Integers are little-endian.
"""

from __future__ import annotations

import struct
import zlib
from importlib import import_module

from parity.errors import MissingTool, UsageError

_BUNDLE, _COMPRESSED = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
_PREFIXES = ("hipv4-amdgcn-amd-amdhsa-", "hip-amdgcn-amd-amdhsa-")
_HEADER_BYTES = {1: 20, 2: 24, 3: 32}
"""Bytes before the compressed data, by the version of the format."""
_ZLIB, _ZSTD = 0, 1
_ZSTD_MODULES = ("compression.zstd", "backports.zstd")
"""Python's own module since 3.14, and its backport."""


def code_object_for(content: bytes, target: str, name: str) -> bytes:
    """Return the code object for a target (``gfx90a``) in a bundle. Other content is returned unchanged.

    A bundle may have several code objects for a target, with different settings, for example ``gfx90a:xnack+``. The one
    with the fewest settings that are on is returned.

    Raises:
        UsageError: the bundle has no code object for the target, or is damaged. The error calls the file ``name``.
        MissingTool: it is compressed with zstd, and Python cannot read that.
    """
    if content.startswith(_COMPRESSED):
        content = _decompressed(content, name)
    if not content.startswith(_BUNDLE):
        return content
    images = _images(content, name)
    fitting = [each for each in images if each.partition(":")[0] == target]
    if not fitting:
        raise UsageError(f"{name} is a bundle for {', '.join(images) or 'no AMD GPU'}, not for {target}")
    return images[min(fitting, key=lambda each: (each.count("+"), each))]


def _images(content: bytes, name: str) -> dict[str, bytes]:
    """Return the code objects of a bundle, by target and settings."""
    found, at = dict[str, bytes](), len(_BUNDLE) + 8
    try:
        (count,) = struct.unpack_from("<Q", content, len(_BUNDLE))
        for _ in range(count):
            offset, size, length = struct.unpack_from("<3Q", content, at)
            entry = content[at + 24 : at + 24 + length].decode()
            at += 24 + length
            if offset + size > len(content):
                raise UsageError(f"{name} is cut off: it has {len(content)} bytes of {offset + size} or more")
            for prefix in filter(entry.startswith, _PREFIXES):  # the host has an entry without content
                found[entry.removeprefix(prefix).lstrip("-")] = content[offset : offset + size]
    except (struct.error, UnicodeDecodeError) as error:
        raise UsageError(f"{name} is a damaged bundle: {error}") from error
    return found


def _decompressed(content: bytes, name: str) -> bytes:
    try:
        version, method = struct.unpack_from("<2H", content, len(_COMPRESSED))
        data = content[_HEADER_BYTES[version] :]
        if method == _ZLIB:
            return zlib.decompress(data)
        if method != _ZSTD:
            raise UsageError(f"{name} is compressed with an unknown method (number {method})")
    except (struct.error, KeyError, zlib.error) as error:
        raise UsageError(f"{name} is a damaged compressed bundle: {error!r}") from error
    for module in _ZSTD_MODULES:
        try:
            zstd = import_module(module)
        except ImportError:
            continue
        try:
            return bytes(zstd.decompress(data))
        except zstd.ZstdError as error:
            raise UsageError(f"{name} is a damaged compressed bundle: {error}") from error
    raise MissingTool(
        f"zstd, which {name} is compressed with", "Python 3.14, backports.zstd", "python -m pip install backports.zstd"
    )
