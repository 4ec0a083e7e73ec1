"""Alignments and arrays that a source promises for its memory accesses, written into a listing as comments.

A ``float4`` that is loaded through a pointer has to lie at a multiple of 16: CUDA ends a kernel that does otherwise,
AMD's GPUs load it. The instruction alone does not tell: AMD's compiler makes the same one of four neighbouring floats,
which may lie at any multiple of 4. LLVM knows the difference up to its last pass, in which every instruction has its
memory operands: ``(load (s128) from %ir.29, align 4, addrspace 1)``. A comment in the listing says it, ``; align 4``.

Nor does an instruction tell which private array of a thread it accesses: arrays are offsets into scratch memory. The
pointer of the memory operand leads to the array in LLVM's last intermediate code, ``%s = alloca [8 x float]``, and a
comment says that, too: ``; private s float[8]``. One after the label of a function names all of its arrays. A ``?`` is
memory that the compiler made: it widens a vector that it indexes there, and loads more than it stored.

What is not seen: the compiler of an installed ROCm is not asked, a code object has no source, and of a cast of an array
itself (``*(float2*)(shared + i)``) clang remembers that the array promises less than the type. Arrays that the compiler
keeps in registers are no memory. LLVM does not keep the sign of integers, and it numbers the second variable of a name
in a function (``s``, ``s5``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["DUMPED", "annotated"]

DUMPED = ("-mllvm", "-stop-after=branch-relaxation")
"""Options of clang: instead of a listing, write LLVM's own text of a module (MIR) as it is after the last pass that
changes instructions, the intermediate code that they were made of included."""

MOST = 16
"""No access of CUDA is wider; the types of four doubles are aligned by 32 in HIP's headers, and by 16 in CUDA's."""

_FUNCTION = re.compile(r"^name:\s+(\S+)")
_ACCESS = re.compile(r"^\s+(?:[^:\n]*? = )?(?:GLOBAL|FLAT|S_LOAD|S_BUFFER_LOAD|DS|BUFFER|SCRATCH)_")
_OPERAND = re.compile(r"\((s\d+|p\d+|<\d+ x [sp]\d+>)\)([^()]*)")
_PRINTED_ACCESS = re.compile(r"\t(?:global|flat|s_load|s_buffer_load|ds|buffer|scratch)_")

_NAME = r'("[^"]*"|[\w.$-]+)'
_INTERMEDIATE = re.compile(rf"^  define [^\n]*?@{_NAME}\((.*?)^  }}$", re.MULTILINE | re.DOTALL)
_ALLOCATED = re.compile(rf"^    %{_NAME} = alloca (.+?), align", re.MULTILINE)
_DERIVED = re.compile(
    rf"^    %{_NAME} = (?:getelementptr|phi ptr|select|addrspacecast|call ptr @llvm\.amdgcn\.addrspacecast)\b(.*)",
    re.MULTILINE,
)
_BASE = re.compile(rf"(?:\bptr(?: addrspace\(\d\))?|\[) %{_NAME}")
_POINTER = re.compile(rf" (?:from|into|on) %ir\.{_NAME}")
_OWN = "from %stack."

# What inlining and the splitting of variables append to a name.
_APPENDED = re.compile(r"(?:\.i\d*|\.sroa[.\d]*)+$")
_EXTENT = re.compile(r"\[(\d+) x (.*)\]")
_VECTOR = re.compile(r"<(\d+) x (\w+)>")
_STRUCT = re.compile(r'%"?(?:struct|class|union)\.([^"]+?)(?:\.\d+)?"?')
_TYPES = {"i8": "char", "i16": "short", "i32": "int", "i64": "long long", "half": "__half", "bfloat": "__hip_bfloat16"}


@dataclass(frozen=True)
class _Arrays:
    """The private arrays of a function, each with its type (empty if it has no name), and what pointers are made of."""

    known: Mapping[str, str]
    derived: Mapping[str, tuple[str, ...]]

    def of(self, pointer: str) -> str:
        """The array that a pointer leads into; empty if that is not one, or not known."""
        found, waiting, met = set[str](), [pointer], set[str]()
        while waiting:
            each = waiting.pop()
            if each in self.known or each not in self.derived:
                found.add(self.known.get(each, ""))
            elif each not in met:
                met.add(each)
                waiting += self.derived[each]
        return found.pop() if len(found) == 1 else ""


_NO_ARRAYS = _Arrays({}, {})


def annotated(listing: str, dump: str) -> str:
    """The listing with what the ``dump`` of its module tells of the user's memory: alignments, private arrays.

    The accesses of a function stay as they are if those in the dump are not the same, one by one.
    """
    intermediate, _, machine = dump.partition("\n...\n")
    arrays = dict(_arrays(intermediate))
    parts, position = [], 0
    for name, operands in _functions(machine):
        start = listing.find(f"\n{name}:", position)
        end = listing.find("\n.Lfunc_end", start)
        if min(start, end) >= 0:
            own = arrays.get(name, _NO_ARRAYS)
            parts += [listing[position:start], _annotated(listing[start:end], operands, own)]
            position = end
    return "".join([*parts, listing[position:]])


def _annotated(code: str, operands: list[str], arrays: _Arrays) -> str:
    lines = code.split("\n")
    places = [n for n, line in enumerate(lines) if _PRINTED_ACCESS.match(line)]
    if len(places) == len(operands):
        for place, each in zip(places, operands, strict=True):
            if ";" not in lines[place]:
                lines[place] += _comments(each, arrays)
    # The first line is empty, the second the label.
    lines[2:2] = [f"; private {array or '?'}" for array in sorted(set(arrays.known.values()))]
    return "\n".join(lines)


def _functions(machine: str) -> Iterator[tuple[str, list[str]]]:
    """The name of every function, in order, and the memory operands of each of its accesses."""
    name, found = "", list[str]()
    for line in machine.splitlines():
        if match := _FUNCTION.match(line):
            name, found = match[1].strip("'\""), []
        elif line == "...":
            yield name, found
        elif _ACCESS.match(line):
            found.append(line.partition(" :: ")[2])


def _comments(operands: str, arrays: _Arrays) -> str:
    """The comments on the access of an instruction."""
    matches = [*_OPERAND.finditer(operands)]
    alignment = min((_promised(*match.groups()) for match in matches), default=1)
    comments = f" ; align {alignment}" if alignment > 1 else ""
    if _OWN in operands:
        comments += " ; private ?"
    elif arrays.known:
        met = {arrays.of(pointer) for match in matches for pointer in _POINTER.findall(match[2])}
        if len(met) == 1 and (array := met.pop()):
            comments += f" ; private {array}"
    return comments


def _promised(kind: str, rest: str) -> int:
    """The alignment that a memory operand promises, in bytes; it is left out of the text if it is the size.

    More than its size is no promise that counts: of a vector of which one number is used, CUDA loads no more either.
    """
    # Arguments (4) and scratch memory (5) are the compiler's own; between backquotes is what is no plain value.
    if re.search(r"addrspace [45]\b|`", rest):
        return 1
    count, bits = re.fullmatch(r"<?(?:(\d+) x )?(?:p\d+|s(\d+))>?", kind).groups()  # type: ignore[union-attr]
    size = int(count or 1) * int(bits or 64) // 8
    told = re.search(r", align (\d+)", rest)
    return min(int(told[1]) if told else MOST, size & -size, MOST)


def _arrays(intermediate: str) -> Iterator[tuple[str, _Arrays]]:
    """The functions that have private arrays, and these."""
    for match in _INTERMEDIATE.finditer(intermediate):
        name, body = match.groups()
        if " = alloca " in body:
            known = {pointer: _named(pointer, type_) for pointer, type_ in _ALLOCATED.findall(body)}
            derived = {pointer: tuple(_BASE.findall(rest)) for pointer, rest in _DERIVED.findall(body)}
            yield name.strip('"'), _Arrays(known, derived)


def _named(pointer: str, type_: str) -> str:
    """A variable as the source names it, and its type; empty for one that the compiler made."""
    name = _APPENDED.sub("", pointer)
    return f"{name} {_spelled(type_)}" if name.isidentifier() else ""


def _spelled(type_: str) -> str:
    """A type of LLVM's as C has it: ``float[3][4]`` for ``[3 x [4 x float]]``."""
    extents = ""
    while match := _EXTENT.fullmatch(type_):
        extents, type_ = f"{extents}[{match[1]}]", match[2]
    if match := _VECTOR.fullmatch(type_):
        return f"{_TYPES.get(match[2], match[2])}{match[1]}{extents}"
    if match := _STRUCT.fullmatch(type_):
        return match[1] + extents
    return _TYPES.get(type_, type_) + extents
