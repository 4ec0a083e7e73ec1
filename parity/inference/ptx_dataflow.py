"""The use of a kernel's arguments, as the data flow of its PTX shows it.

Pointers: which are read, written, or both, and as what type. Numbers: which of them bound an index, and of which
pointers. An address is followed from where it is used back to the arguments it is made of: ``ld.param``, ``cvta``,
arithmetic, ``ld``, ``st``, ``atom`` and ``red`` (PTX ISA, "Instruction Set"). Every register is one thing for the whole
kernel, whatever the order of instructions, so that loops and branches need no care; functions that are called are not
followed: a pointer that goes there, or is stored, is said to escape.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

__all__ = ["Bound", "Flow", "Table", "Use", "flows"]

_Access = Literal["ld", "st", "atom"]

Key = tuple[int, int]
"""An argument by its place, and the byte in it: 0 but for fields of a struct."""

# Inline assembly has braces at the begin of lines, so that a body goes on to what begins next.
_ENTRY = re.compile(
    r"\.entry (?P<name>[\w$]+)\((?P<parameters>[^)]*)\)(?P<directives>[^{]*)\{\n"
    r"(?P<body>.*?)(?=^[ \t]*(?:\.\w+ )*\.(?:entry|func|section)\b|\Z)",
    re.DOTALL | re.MULTILINE,
)
_PARAMETER = re.compile(r"\.param (?:\.align \d+ )?\.(?P<type>[a-z]+\d+)(?P<pointer> \.ptr)?[^,\n]*")
_INSTRUCTION = re.compile(r"^[\s{]*(?:@!?%\w+\s+)?(?P<op>[a-z]\w*(?:[.:]+\w+)*)\s+(?P<operands>[^;]*);", re.MULTILINE)
_REGISTER = re.compile(r"%[a-z]+\d+|%(?:tid|ntid|ctaid|nctaid)\.[xyz]")
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,{}\[\]\s]+")
_PARAM = re.compile(r"\[(?P<kernel>[\w$]+)_param_(?P<place>\d+)(?:\+(?P<byte>\d+))?\]")
_THREADS = re.compile(r"\.(?:reqntid|maxntid) (\d+)(?:, (\d+))?(?:, (\d+))?")
_DYNAMIC, _WORD = re.compile(r"\.extern \.shared [^;]*?([\w$]+)\[\]"), re.compile(r"[A-Za-z_$][\w$]*")
_TABLE = re.compile(
    r"^[ \t]*(?:\.\w+ )*\.const (?:\.align \d+ )?\.[a-z]+(?P<bits>\d+) (?P<name>[\w$]+)(?:\[(?P<count>\d+)\])?;",
    re.MULTILINE,
)
_CROSSES = re.compile(r"\b(?:shfl|vote|match|redux|activemask|bar\.warp)\b")
_BLOCK_AXIS = re.compile(r"%ctaid\.([xyz])")
_TYPES = re.compile(r"[bsuf](?:8|16|32|64|128)|f16x2|bf16x2|bf16")

_SAME = frozenset(("mov", "cvt", "cvta"))
"""Operations whose result is the operand."""
_OFFSET = frozenset(("add", "sub", "selp", "and", "or", "mad", "min", "max", *_SAME))
"""Operations of which a pointer comes out again as one, a few bytes further."""
_SCALED = frozenset(("mul", "shl", "mad"))
"""Operations that make bytes of an index."""


@dataclass(frozen=True)
class Use:
    """The types as which memory behind a pointer is read and written (``f32``, ``u16``); atomics do both.

    ``first`` is the first of these that stands in the text: what is written before it is read is no input.
    ``scattered`` says that places to write to come out of memory: what is not among them stays as it was. ``width`` is
    the most bytes of one access.
    """

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    first: Literal["ld", "st", "atom", ""] = ""
    scattered: bool = False
    width: int = 0

    @property
    def is_input(self) -> bool:
        """True if what the memory holds before the launch can matter."""
        return (bool(self.reads) and self.first != "st") or self.scattered

    @property
    def types(self) -> frozenset[str]:
        """All of these types."""
        return self.reads | self.writes


@dataclass(frozen=True)
class Bound:
    """A number that an index is compared with, and the pointers that this index leads into.

    ``direct`` are those where the index is that of the element; in others it is a part of it, as a row is.
    """

    pointers: frozenset[Key]
    direct: frozenset[Key]


@dataclass(frozen=True)
class Table:
    """A ``__constant__`` variable without a value in the source: its bytes, and the types as which they are read."""

    size: int
    types: frozenset[str]


@dataclass(frozen=True)
class Flow:
    """The use of a kernel's arguments.

    ``types`` are PTX's of the arguments, ``uses`` what it does with pointers and ``bounds`` with numbers, by place.
    ``escaped`` pointers go where they are not followed. ``threads`` is the size of the block that it is compiled for,
    empty where it does not say. ``strided`` says that an index goes on by the size of the grid, ``axes`` along which
    axes of the grid blocks are told apart, and ``thread_axes`` along which threads of a block access places of their
    own. ``dynamic`` says that it uses shared memory whose size the launch says, ``crosses`` that threads of a warp
    exchange values.
    """

    types: tuple[str, ...]
    uses: Mapping[Key, Use] = field(default_factory=dict)
    bounds: Mapping[Key, Bound] = field(default_factory=dict)
    escaped: frozenset[Key] = frozenset()
    threads: tuple[int, ...] = ()
    strided: bool = False
    axes: frozenset[str] = frozenset()
    thread_axes: frozenset[str] = frozenset()
    dynamic: bool = False
    crosses: bool = False
    tables: Mapping[str, Table] = field(default_factory=dict)


def flows(ptx: str) -> dict[str, Flow]:
    """The flow of each kernel of a PTX text, by its symbol."""
    dynamic = _DYNAMIC.findall(ptx)
    sizes = {each["name"]: int(each["bits"]) // 8 * int(each["count"] or 1) for each in _TABLE.finditer(ptx)}
    found = {}
    for entry in _ENTRY.finditer(ptx):
        words = set(_WORD.findall(entry["body"]))
        kernel = _Kernel(entry)
        tables = {name: Table(sizes[name], kernel.read_as(name)) for name in sorted(words & set(sizes))}
        crosses = _CROSSES.search(entry["body"]) is not None
        flow = replace(kernel.flow(), dynamic=not words.isdisjoint(dynamic), crosses=crosses, tables=tables)
        found[entry["name"]] = flow
    return found


class _Kernel:
    """The registers of one kernel: what each is made of."""

    def __init__(self, entry: re.Match[str]) -> None:
        self._text = entry["body"]
        self._parameters = list(_PARAMETER.finditer(entry["parameters"]))
        self._threads = _THREADS.search(entry["directives"])
        self._made: dict[str, set[str]] = {}
        self._defined = Counter[str]()
        self._same: dict[str, set[str]] = {}
        self._moved: dict[str, set[str]] = {}
        self._loaded: dict[str, set[Key]] = {}
        self._scaled: dict[str, set[str]] = {}
        self._stepped: list[tuple[str, str]] = []
        self._pointers: set[str] = set()
        self._compared: list[tuple[str, str]] = []
        self._accesses: list[tuple[_Access, str, str, int]] = []
        self._closures: dict[tuple[int, str], frozenset[str]] = {}
        self._stored: set[str] = set()
        self._passed: set[str] = set()
        self._fetched: set[str] = set()
        self._symbols: dict[str, set[str]] = {}
        self._constants: list[tuple[str, str]] = []
        for match in _INSTRUCTION.finditer(entry["body"]):
            self._read(match["op"].split("."), _OPERAND.findall(match["operands"]), match["operands"])
        # What has one value before a loop and another in it is no copy of either.
        self._same = {register: made for register, made in self._same.items() if self._defined[register] == 1}

    def flow(self) -> Flow:
        declared = {(place, 0) for place, each in enumerate(self._parameters) if each["pointer"]}
        # A pointer is what is made an address in global memory; a number of eight bytes in an address is none.
        known = declared | {key for register in self._pointers for key in self._keys(register)}
        uses: dict[Key, Use] = {}
        where: dict[Key, set[str]] = {}
        accesses = [(*each, self._pointed(each[2], known)) for each in self._accesses]
        written = {key for what, *_, keys in accesses if what != "ld" for key in keys}
        for what, kind, address, width, keys in accesses:
            # What is read of one pointer or else of another: of the output only where there is no input.
            for key in keys - written or keys if what == "ld" else keys:
                use = uses.get(key, Use())
                reads = use.reads | {kind} if what != "st" else use.reads
                writes = use.writes | {kind} if what != "ld" else use.writes
                scattered = use.scattered or (what == "st" and bool(self._slice(address) & self._fetched))
                uses[key] = Use(reads, writes, use.first or what, scattered, max(use.width, width))
                where.setdefault(key, set()).add(address)
        return Flow(
            tuple(each["type"] for each in self._parameters),
            uses,
            self._bounds(where),
            frozenset(
                {key for register in self._stored for key in self._keys(register) & known}
                | {key for register in self._passed for key in self._pointed(register, known)}
            ),
            tuple(int(count) for count in self._threads.groups("1")) if self._threads else (),
            any("%nctaid" in source for _, step in self._stepped for source in self._slice(step)),
            frozenset(_BLOCK_AXIS.findall(self._text)),
            frozenset(
                source[-1]
                for addresses in where.values()
                for address in addresses
                for source in self._slice(address)
                if source.startswith("%tid.")
            ),
        )

    def read_as(self, table: str) -> frozenset[str]:
        """The types as which a constant is read."""
        return frozenset(
            kind
            for kind, operand in self._constants
            if table in _WORD.findall(operand)
            or any(
                table in self._symbols.get(each, ())
                for register in _REGISTER.findall(operand)
                for each in self._slice(register)
            )
        )

    def _bounds(self, where: Mapping[Key, set[str]]) -> dict[Key, Bound]:
        bounds: dict[Key, Bound] = {}
        for left, right in self._compared:
            for number, index in ((left, right), (right, left)):
                for key in self._values(number) - set(where):
                    alike = self._alike(index)
                    pointers = {
                        one for one, addresses in where.items() if any(alike & self._slice(a) for a in addresses)
                    }
                    direct = {one for one in pointers if any(alike & self._elements(a) for a in where[one])}
                    if pointers:
                        old = bounds.get(key, Bound(frozenset(), frozenset()))
                        bounds[key] = Bound(old.pointers | pointers, old.direct | direct)
        return bounds

    def _read(self, op: list[str], operands: list[str], text: str) -> None:
        name = op[0]
        kind = next((part for part in reversed(op) if _TYPES.fullmatch(part)), "")
        if name == "ld" and "param" in op:
            match = _PARAM.search(text)
            if match:
                size = int(re.sub(r"\D", "", kind) or 64) // 8
                for i, register in enumerate(_REGISTER.findall(operands[0])):
                    key = int(match["place"]), int(match["byte"] or 0) + i * size
                    self._loaded.setdefault(register, set()).add(key)
            return
        if name == "ld" and "const" in op:
            self._constants.append((kind, operands[1]))
        elif name in ("ld", "ldu") and not {"shared", "local"} & set(op):
            self._access("ld", kind, operands[1], op)
            self._fetched |= set(_REGISTER.findall(operands[0]))
        elif name == "st":
            (self._passed if "param" in op else self._stored).update(_REGISTER.findall(operands[-1]))
            if not {"param", "local", "shared"} & set(op):
                self._access("st", kind, operands[0], op)
        elif name in ("atom", "red") and "shared" not in op:
            self._access("atom", kind, operands[1 if name == "atom" else 0], op)
        elif name == "cp" and "async" in op and len(operands) > 1:
            self._access("ld", "b8", operands[1], op)
        elif name == "setp" and len(operands) >= 3:
            self._compared.append((operands[-2], operands[-1]))
        elif operands and name not in ("bra", "call", "bar", "ret", "ld"):
            self._combine(name, operands)

    def _combine(self, name: str, operands: list[str]) -> None:
        for register in _REGISTER.findall(operands[0]):
            self._defined[register] += 1
            sources = [source for operand in operands[1:] for source in _REGISTER.findall(operand)]
            self._made.setdefault(register, set()).update(sources)
            if name in _SAME:
                self._same.setdefault(register, set()).update(sources)
            if name == "mov":
                self._symbols.setdefault(register, set()).update(operands[1:])
            if name == "cvta":
                self._pointers |= set(sources)
            if name in _OFFSET:
                # The addend of a product, and what a difference is taken from.
                pointer = operands[3:4] if name == "mad" else operands[1:2] if name == "sub" else operands[1:3]
                moved = (source for operand in pointer for source in _REGISTER.findall(operand))
                self._moved.setdefault(register, set()).update(moved)
            if name in _SCALED:
                factors = [source for operand in operands[1:3] for source in _REGISTER.findall(operand)]
                if len(factors) == 1:  # by a size; two registers are a row and its length
                    self._scaled.setdefault(register, set()).update(factors)
            if name == "add":
                self._stepped += [(register, source) for source in sources]

    def _access(self, what: _Access, kind: str, operand: str, op: list[str]) -> None:
        count = next((int(part[1:]) for part in op if part in ("v2", "v4", "v8")), 1)
        width = count * int(re.sub(r"\D", " ", kind.replace("x2", "")).split()[-1] or 0) // 8 if kind else 0
        self._accesses += [(what, kind, register, width) for register in _REGISTER.findall(operand)[:1]]

    def _pointed(self, address: str, known: set[Key]) -> set[Key]:
        """The pointers that an address is in: of what it is made, those known to be pointers, else what may be one."""
        found = self._keys(address)
        return found & known or {key for key in found if self._is_wide(key)}

    def _is_wide(self, key: Key) -> bool:
        place, byte = key
        return bool(byte) or self._parameters[place]["type"] in ("u64", "b64", "s64")

    def _keys(self, register: str) -> set[Key]:
        """The arguments that an address is in."""
        return {key for each in self._closure(register, self._moved) for key in self._loaded.get(each, ())}

    def _values(self, register: str) -> set[Key]:
        """The arguments whose value a register has."""
        return {key for each in self._closure(register, self._same) for key in self._loaded.get(each, ())}

    def _alike(self, register: str) -> set[str]:
        """Registers of the index that a register is made of by conversion; none if it is an argument itself."""
        found = self._closure(register, self._same) if register.startswith("%") else frozenset[str]()
        return set() if any(each in self._loaded for each in found) else {*found}

    def _slice(self, register: str) -> frozenset[str]:
        """All that goes into a register, but what is loaded."""
        return self._closure(register, self._made)

    def _elements(self, address: str) -> set[str]:
        """The indices of elements in an address: what is multiplied by a size, or added as it is to a pointer."""
        moved = self._closure(address, self._moved)
        scaled = {source for each in moved | self._addends(moved) for source in self._scaled.get(each, ())}
        return {each for source in scaled | self._addends(moved) for each in self._closure(source, self._same)}

    def _addends(self, moved: frozenset[str]) -> set[str]:
        return {source for each in moved for source in self._made.get(each, ())} - {
            each for each in moved if self._keys(each)
        }

    def _closure(self, start: str, edges: Mapping[str, set[str]]) -> frozenset[str]:
        """All registers that one leads to."""
        key = id(edges), start
        if key not in self._closures:
            found, open_ones = {start}, [start]
            while open_ones:
                for source in edges.get(open_ones.pop(), ()):
                    if source not in found:
                        found.add(source)
                        open_ones.append(source)
            self._closures[key] = frozenset(found)
        return self._closures[key]
