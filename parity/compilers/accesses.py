"""Annotates a listing with alignments and private arrays of memory accesses, as comments.

CUDA requires that a ``float4`` loaded through a pointer is aligned to 16 bytes, and ends a kernel that violates this.
AMD GPUs load it anyway. The instruction does not show the requirement: AMD's compiler emits the same instruction for
four neighbouring floats, which need an alignment of 4. LLVM knows the difference up to its last pass, where each
instruction has memory operands: ``(load (s128) from %ir.29, align 4, addrspace 1)``. The listing gets a comment, ``;
align 4``.

Nor does an instruction show which private array of a thread it accesses, because arrays are offsets into scratch
memory. The pointer of the memory operand leads to the array in LLVM IR, ``%s = alloca [8 x float]``. The comment is ``;
private s float[8]``. Comments after the label of a function list all of its arrays. A ``?`` stands for memory that the
compiler allocated: it widens a vector that it indexes, and loads more than it stored.

Limitations:

* Code objects that parity did not compile have no annotations.
* For a cast of an array itself (``*(float2*)(shared + i)``), clang reports the alignment of the array, not of the type.
* Arrays that the compiler keeps in registers are not memory.
* LLVM does not keep the sign of integers, and numbers the second variable of the same name in a function (``s``,
  ``s5``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

DUMPED = ("-mllvm", "-stop-after=branch-relaxation")
"""Options of clang that write MIR and its LLVM IR after the last pass that changes instructions."""

_MAX_ALIGNMENT = 16
"""The largest alignment that CUDA requires. HIP's headers align the types of four doubles to 32 bytes, CUDA's to 16."""

_FUNCTION = "name:"
_ACCESS = re.compile(r" +(?:[^:=\n]*= )?(?:GLOBAL|FLAT|S_LOAD|S_BUFFER_LOAD|DS|BUFFER|SCRATCH)_")
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
_IN_LDS = re.compile(rf"^    %{_NAME} = getelementptr [^\n]*?ptr addrspace\(3\) @{_NAME}", re.MULTILINE)
_MOVED = "moved to LDS"
"""Stands for a private array that the compiler has moved to LDS: ``@kernel.array`` in LLVM IR."""
_POINTER = re.compile(rf" (?:from|into|on) %ir\.{_NAME}")
_OWN = "from %stack."

# Suffixes that inlining and the splitting of variables append to a name.
_APPENDED = re.compile(r"(?:\.i\d*|\.sroa[.\d]*)+$")
_EXTENT = re.compile(r"\[(\d+) x (.*)\]")
_VECTOR = re.compile(r"<(\d+) x (\w+)>")
_STRUCT = re.compile(r'%"?(?:struct|class|union)\.([^"]+?)(?:\.\d+)?"?')
_TYPES = {"i8": "char", "i16": "short", "i32": "int", "i64": "long long", "half": "__half", "bfloat": "__hip_bfloat16"}


@dataclass(frozen=True)
class _Arrays:
    """The private arrays of a function.

    ``known`` maps a pointer to the array's name and type, or to an empty string for an array of the compiler.
    ``derived`` maps a pointer to the pointers that it is computed from.
    """

    known: Mapping[str, str]
    derived: Mapping[str, tuple[str, ...]]

    def of(self, pointer: str) -> str:
        """Return the array that a pointer leads into; empty if it is unknown or may be one of several."""
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
    """Return a listing with the alignments and private arrays that the ``dump`` of its module shows.

    The accesses of a function remain unchanged if the dump does not have the same number of accesses.
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
    lines[2:2] = [f"; private {array or '?'}" for array in sorted(set(arrays.known.values()) - {_MOVED})]
    return "\n".join(lines)


def _functions(machine: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each function, in order, and the memory operands of each of its accesses."""
    name, found = "", list[str]()
    for line in machine.splitlines():
        if line.startswith(_FUNCTION):
            name, found = line.removeprefix(_FUNCTION).strip(" '\""), []
        elif line == "...":
            yield name, found
        elif _ACCESS.match(line):
            found.append(line.partition(" :: ")[2])


def _comments(operands: str, arrays: _Arrays) -> str:
    """Return the comments for an instruction with these memory operands."""
    matches = [*_OPERAND.finditer(operands)]
    alignment = min((_promised(*match.groups()) for match in matches), default=1)
    comments = f" ; align {alignment}" if alignment > 1 else ""
    if _OWN in operands:
        comments += " ; private ?"
    elif arrays.known:
        met = {arrays.of(pointer) for match in matches for pointer in _POINTER.findall(match[2])}
        if _MOVED in met:
            return ""
        if len(met) == 1 and (array := met.pop()):
            comments += f" ; private {array}"
    return comments


def _promised(kind: str, rest: str) -> int:
    """Return the alignment in bytes that a memory operand guarantees. Without one in the text, it is the access size.

    An alignment larger than the access is ignored: CUDA, too, loads only the used part of a vector.
    """
    # Arguments (4) and scratch memory (5) belong to the compiler. Backquotes enclose operands that are not IR values.
    if re.search(r"addrspace [45]\b|`", rest):
        return 1
    count, bits = re.fullmatch(r"<?(?:(\d+) x )?(?:p\d+|s(\d+))>?", kind).groups()  # type: ignore[union-attr]
    size = int(count or 1) * int(bits or 64) // 8
    aligned = re.search(r", align (\d+)", rest)
    return min(int(aligned[1]) if aligned else _MAX_ALIGNMENT, size & -size, _MAX_ALIGNMENT)


def _arrays(intermediate: str) -> Iterator[tuple[str, _Arrays]]:
    """Yield the functions that have private arrays."""
    for match in _INTERMEDIATE.finditer(intermediate):
        name, body = match.groups()
        own = name.strip('"')
        moved = {pointer for pointer, array in _IN_LDS.findall(body) if array.strip('"').startswith(f"{own}.")}
        if moved or " = alloca " in body:
            known = {pointer: _named(pointer, type_) for pointer, type_ in _ALLOCATED.findall(body)}
            derived = {pointer: tuple(_BASE.findall(rest)) for pointer, rest in _DERIVED.findall(body)}
            yield own, _Arrays(known | dict.fromkeys(moved, _MOVED), derived)


def _named(pointer: str, type_: str) -> str:
    """Return a variable with its type as the source spells them; empty for a variable of the compiler."""
    name = _APPENDED.sub("", pointer)
    return f"{name} {_spelled(type_)}" if name.isidentifier() else ""


def _spelled(type_: str) -> str:
    """Return an LLVM type as C spells it: ``float[3][4]`` for ``[3 x [4 x float]]``."""
    extents = ""
    while match := _EXTENT.fullmatch(type_):
        extents, type_ = f"{extents}[{match[1]}]", match[2]
    if match := _VECTOR.fullmatch(type_):
        return f"{_TYPES.get(match[2], match[2])}{match[1]}{extents}"
    if match := _STRUCT.fullmatch(type_):
        return match[1] + extents
    return _TYPES.get(type_, type_) + extents
