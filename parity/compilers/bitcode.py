"""Reads the symbol table of LLVM bitcode without LLVM.

The table is stored next to the module for linkers. ``llvm/Object/IRSymtab.h`` defines its layout.
"""

from __future__ import annotations

import struct

_NAMES, _SYMBOLS = 23, 25
"""The identifiers of the blocks with the names and the table."""
_TABLE = 28
"""The offset in the table's header of the position and the number of symbols."""
_SYMBOL = struct.Struct("<2I12xI")
"""A symbol: position and length of its name, and its flags."""
_UNDEFINED, _INTRINSIC, _FUNCTION = 1 << 3, 1 << 11, 1 << 13


def undefined_functions(module: bytes) -> tuple[str, ...]:
    """Return the mangled names of functions that a module calls and does not define; empty without a symbol table."""
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
    """Return the content of a block with one blob. Its size follows three bytes, in groups of six bits."""
    bits, size, groups = int.from_bytes(module[at : at + 8], "little") >> 24, 0, 0
    more = True
    while more:
        size |= (bits & 31) << 5 * groups
        more = bool(bits & 32)
        bits, groups = bits >> 6, groups + 1
    first = at + 4 * -(-(24 + 6 * groups) // 32)
    return module[first : first + size]
