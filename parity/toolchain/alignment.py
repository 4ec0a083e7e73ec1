"""What the types of a source promise of the addresses of its memory accesses, written into a listing.

A ``float4`` that is loaded through a pointer has to lie at a multiple of 16: CUDA ends a kernel that does otherwise,
AMD's GPUs load it. The instruction alone does not tell: AMD's compiler makes the same one of four neighbouring floats,
which may lie at any multiple of 4. LLVM knows the difference up to its last pass, in which every instruction has its
memory operands: ``(load (s128) from %ir.29, align 4, addrspace 1)``. A comment in the listing says it, ``; align 4``.

What is not seen: the compiler of an installed ROCm is not asked, a code object has no source, and of a cast of an array
itself (``*(float2*)(shared + i)``) clang remembers that the array promises less than the type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["PRINTED", "with_alignments", "without_dumps"]

PRINTED = ("-mllvm", "-print-after=branch-relaxation")
"""Options of clang: print every function as it is after the last pass that changes instructions, to stderr."""

MOST = 16
"""No access of CUDA is wider; the types of four doubles are aligned by 32 in HIP's headers, and by 16 in CUDA's."""

_DUMP = re.compile(r"^# \*\*\* IR Dump After .*?^# End machine code for function .*?$\n*", re.MULTILINE | re.DOTALL)
_FUNCTION = re.compile(r"^# Machine code for function ([^:\s]+):")
_ACCESS = re.compile(r"^\s+(?:[^:\n]*? = )?(?:GLOBAL|FLAT|S_LOAD|S_BUFFER_LOAD|DS|BUFFER|SCRATCH)_")
_OPERAND = re.compile(r"\((s\d+|p\d+|<\d+ x [sp]\d+>)\)([^()]*)")
_PRINTED_ACCESS = re.compile(r"\t(?:global|flat|s_load|s_buffer_load|ds|buffer|scratch)_")


def without_dumps(log: str) -> str:
    """What a compiler said beside the functions that it printed."""
    return _DUMP.sub("", log)


def with_alignments(listing: str, log: str) -> str:
    """The listing with the alignments that ``log``, which has the functions, tells of accesses to memory of the user's.

    A function whose accesses are not those of the listing, one by one, stays as it is.
    """
    parts, position = [], 0
    for name, alignments in _functions(log):
        start = listing.find(f"\n{name}:", position)
        end = listing.find("\n.Lfunc_end", start)
        if min(start, end) >= 0:
            parts += [listing[position:start], _annotated(listing[start:end], alignments)]
            position = end
    return "".join([*parts, listing[position:]])


def _annotated(code: str, alignments: list[int]) -> str:
    lines = code.split("\n")
    places = [n for n, line in enumerate(lines) if _PRINTED_ACCESS.match(line)]
    if len(places) == len(alignments):
        for place, alignment in zip(places, alignments, strict=True):
            if alignment > 1 and ";" not in lines[place]:
                lines[place] += f" ; align {alignment}"
    return "\n".join(lines)


def _functions(log: str) -> Iterator[tuple[str, list[int]]]:
    """The name of every function, in order, and the alignment of each of its accesses, 1 where nothing is promised."""
    name, found = "", list[int]()
    for line in log.splitlines():
        if match := _FUNCTION.match(line):
            name, found = match[1], []
        elif line.startswith("# End machine code"):
            yield name, found
        elif _ACCESS.match(line):
            found.append(_alignment(line))


def _alignment(line: str) -> int:
    """What is promised of the address of an instruction."""
    _, _, operands = line.partition(" :: ")
    promised = [_promised(*match.groups()) for match in _OPERAND.finditer(operands)]
    return min(promised, default=1)


def _promised(kind: str, rest: str) -> int:
    """What a memory operand promises: its alignment is left out if it is its size.

    More than its size is no promise that counts: of a vector of which one number is used, CUDA loads no more either.
    """
    # Arguments (4) and scratch memory (5) are the compiler's own; between backquotes is what is no plain value.
    if re.search(r"addrspace [45]\b|`", rest):
        return 1
    count, bits = re.fullmatch(r"<?(?:(\d+) x )?(?:p\d+|s(\d+))>?", kind).groups()  # type: ignore[union-attr]
    size = int(count or 1) * int(bits or 64) // 8
    told = re.search(r", align (\d+)", rest)
    return min(int(told[1]) if told else MOST, size & -size, MOST)
