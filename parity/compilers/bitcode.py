"""What a module of LLVM's bitcode says of itself without being read by LLVM: its table of symbols.

The table lies beside the module, for linkers: ``llvm/Object/IRSymtab.h`` has its layout.
"""

from __future__ import annotations

import struct

__all__ = ["undefined_functions"]

_NAMES, _SYMBOLS = 23, 25
"""The blocks with the names and with the table."""
_TABLE = 28
"""Where the header of the table says where the symbols are, and how many."""
_SYMBOL = struct.Struct("<2I12xI")
"""A symbol: place and length of its name, and what it is."""
_UNDEFINED, _INTRINSIC, _FUNCTION = 1 << 3, 1 << 11, 1 << 13


def undefined_functions(module: bytes) -> tuple[str, ...]:
    """The functions that a module calls and does not have, by their mangled names; none if it has no table."""
    blobs, at = dict[int, bytes](), 4
    while at + 8 <= len(module):
        head, words = struct.unpack_from("<2I", module, at)
        if (block := head >> 2 & 0xFF) in (_NAMES, _SYMBOLS):
            blobs[block] = _blob(module, at + 8)
        at += 8 + 4 * words
    if blobs.keys() != {_NAMES, _SYMBOLS}:
        return ()
    first, count = struct.unpack_from("<2I", blobs[_SYMBOLS], _TABLE)
    symbols = (_SYMBOL.unpack_from(blobs[_SYMBOLS], first + _SYMBOL.size * i) for i in range(count))
    return tuple(
        blobs[_NAMES][at : at + size].decode()
        for at, size, kind in symbols
        if kind & (_UNDEFINED | _INTRINSIC | _FUNCTION) == _UNDEFINED | _FUNCTION
    )


def _blob(module: bytes, at: int) -> bytes:
    """The content of a block that has one blob: behind three bytes its size, six bits at a time, as far as a word."""
    bits, size, groups = int.from_bytes(module[at : at + 8], "little") >> 24, 0, 0
    more = True
    while more:
        size |= (bits & 31) << 5 * groups
        more = bool(bits & 32)
        bits, groups = bits >> 6, groups + 1
    first = at + 4 * -(-(24 + 6 * groups) // 32)
    return module[first : first + size]
