"""The elements that loads and stores move, and the results of atomics.

Semantics: RDNA3 Instruction Set Architecture, chapters 10 to 12.
"""

from __future__ import annotations

#: Loads by the part after ``_load_``: the element in memory, and the registers it fills (``lo``, ``hi``: a half).
LOADS = {
    "u8": ("u8", "u32"), "i8": ("i8", "i32"), "u16": ("u16", "u32"), "i16": ("i16", "i32"), "b32": ("u32", "u32"),
    "b64": ("u64", "u64"), "b96": ("x3", "x3"), "b128": ("x4", "x4"), "d16_u8": ("u8", "lo"), "d16_i8": ("i8", "lo"),
    "d16_b16": ("u16", "lo"), "d16_hi_u8": ("u8", "hi"), "d16_hi_i8": ("i8", "hi"), "d16_hi_b16": ("u16", "hi"),
}  # fmt: skip
#: Stores by the part after ``_store_``: the element in memory, and by how many bits the register is shifted first.
STORES = {
    "b8": ("u8", 0), "b16": ("u16", 0), "b32": ("u32", 0), "b64": ("u64", 0), "b96": ("x3", 0), "b128": ("x4", 0),
    "d16_hi_b8": ("u8", 16), "d16_hi_b16": ("u16", 16),
}  # fmt: skip

#: The new content of memory by the name of an atomic, from ``old``, the data ``x`` and (compare-and-swap) ``cmp``.
ATOMICS = {
    "swap": "x", "cmpswap": "old == cmp ? x : old", "cmpst": "old == cmp ? x : old",
    "cmpstore": "old == cmp ? x : old", "add": "old + x", "sub": "old - x", "rsub": "x - old",
    "min": "smaller(old, x)", "max": "larger(old, x)", "min_num": "smaller(old, x)", "max_num": "larger(old, x)",
    "and": "old & x", "or": "old | x", "xor": "old ^ x", "inc": "old >= x ? 0 : old + 1",
    "dec": "old == 0 || old > x ? x : old - 1", "pk_add": "old + x",
}  # fmt: skip

#: Cache policy bits of memory instructions.
CACHE_POLICY = frozenset({"glc", "slc", "dlc", "sc0", "sc1", "nt"})
