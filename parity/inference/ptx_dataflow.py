"""Analyses the data flow of PTX: how a kernel uses its arguments.

For pointers, it determines whether they are read or written, and as which types. For numbers, it determines which
indices they bound, and into which pointers these lead. An address is followed back from an access to the arguments:
``ld.param``, ``cvta``, arithmetic, ``ld``, ``st``, ``atom`` and ``red`` (PTX ISA, "Instruction Set"). The analysis
ignores the order of instructions, so loops and branches need no special treatment. It does not follow calls: a pointer
that is passed to a function, or stored, escapes.
"""

from __future__ import annotations

import itertools
import math
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Literal

from parity.emulator.instruction import Instruction
from parity.emulator.ptx.parse import FunctionText, file_names, function_texts, module_variables, parse_function
from parity.inference.data_flow import BEHIND, SEGMENT, Bound, Flow, Key, Table, Use

_Access = Literal["ld", "st", "atom"]

_PARAMETER = re.compile(r"\.param (?:\.align \d+ )?\.(?P<type>[a-z]+\d+)(?P<pointer> \.ptr)?[^,\n]*")
_REGISTER = re.compile(r"%[a-z]+\d+|%(?:tid|ntid|ctaid|nctaid)\.[xyz]")
_PARAM = re.compile(r"\[(?P<kernel>[\w$]+)_param_(?P<place>\d+)(?:\+(?P<byte>\d+))?\]")
_NAMED_PARAM = re.compile(r"[\w$]+_param_(\d+)")
_DIRECT = re.compile(r"\[[A-Za-z_$][\w$]*(?:\+(\d+))?\]")
_BASED = re.compile(r"\[(?P<base>%[a-z]+\d+)(?:\+(?P<byte>-?\d+))?\]")
_THREADS = re.compile(r"\.(?:reqntid|maxntid) (\d+)(?:, (\d+))?(?:, (\d+))?")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_INTEGER = re.compile(r"-?\d+")
_REAL = re.compile(r"0[fd]([0-9A-Fa-f]{16}|[0-9A-Fa-f]{8})$")
_CROSSES = re.compile(r"\b(?:shfl|vote|match|redux|activemask|bar\.warp)\b")
_PRIVATE = re.compile(r"^\s*\.local\b", re.MULTILINE)
_LINE = re.compile(r"^\s*\.loc\s+(\d+)", re.MULTILINE)
_PLACE = re.compile(r"%(?:tid|ctaid)\b")
_BLOCK_AXIS = re.compile(r"%ctaid\.([xyz])")
_TYPES = re.compile(r"[bsuf](?:8|16|32|64|128)|f16x2|bf16x2|bf16")

_SAME = frozenset(("mov", "cvt", "cvta"))
"""Operations whose result is their operand."""
_OFFSET = frozenset(("add", "sub", "selp", "and", "or", "mad", "min", "max", *_SAME))
"""Operations that move a pointer by some bytes."""
_SHIFTS = frozenset(("add", "and", "cvt", "mov"))
"""Operations that may add a constant to an integer, or only change its width."""
_HALVES = frozenset(("f16", "f16x2", "bf16", "bf16x2"))
"""Types of 16-bit numbers, of which a wider access transfers several."""
_UNTYPED = frozenset(("ld", "ldu", "st", "mov", "mma", "wmma", "atom", "red", "cp"))
"""Operations whose type says nothing about single operands."""
_SCALED = frozenset(("mul", "shl", "mad"))
"""Operations that convert an index to bytes."""


def flows(ptx: str) -> dict[str, Flow]:
    """Return the data flow of each kernel of a PTX text, by symbol."""
    variables = module_variables(ptx).values()
    dynamic = [each.name for each in variables if each.space == "shared" and not each.size]
    sizes = {each.name: each.size for each in variables if each.space == "const" and not each.value}
    empty = {each.name: each.size for each in variables if each.space == "global" and not each.value and each.size}
    writable = {each.name: each.size for each in variables if each.space == "global" and not each.name.startswith("$")}
    random = {number for number, path in file_names(ptx).items() if "curand" in PurePath(path).name}
    found = {}
    for text in (each for each in function_texts(ptx).values() if each.entry):
        words = set(_WORD.findall(text.text))
        kernel = _DataFlow(text)
        filled = {name for name in words & empty.keys() if kernel.only_loads(name)}
        tables = {name: Table(sizes[name], *kernel.read_as(name)) for name in sorted(words & set(sizes))}
        tables |= {name: Table(empty[name], *kernel.read_as(name)) for name in sorted(filled)}
        used = words & writable.keys()
        crosses = _CROSSES.search(text.text) is not None
        found[text.name] = replace(
            kernel.flow(), dynamic=not words.isdisjoint(dynamic), crosses=crosses, tables=tables,
            private=_PRIVATE.search(text.text) is not None,
            random=not random.isdisjoint(map(int, _LINE.findall(text.text))),
            variables={each: Table(writable[each], kernel.types_of(each)) for each in sorted(used - filled)},
            prints="vprintf" in words, prints_reals="vprintf" in words and ".f64" in text.text,
        )  # fmt: skip
    return found


def _bytes_of(kind: str) -> int:
    """Return the size of a PTX type (``f32``), by default of a register of 64 bits."""
    return int(re.sub(r"\D", "", kind) or 64) // 8


class _DataFlow:
    """The registers of one kernel, and what each is computed from."""

    def __init__(self, text: FunctionText) -> None:
        self._text = text.text
        self._parameters = list(_PARAMETER.finditer(text.parameters))
        self._threads = _THREADS.search(text.text)
        self._made: dict[str, set[str]] = {}
        self._defined = Counter[str]()
        self._same: dict[str, set[str]] = {}
        self._moved: dict[str, set[str]] = {}
        self._copies: dict[str, set[str]] = {}
        self._halves: dict[str, str] = {}
        self._loaded: dict[str, set[Key]] = {}
        self._parts: dict[Key, str] = {}
        self._addresses: dict[str, set[Key]] = {}
        self._reals = list[float]()
        self._scaled: dict[str, set[str]] = {}
        self._stepped: list[tuple[str, str]] = []
        self._pointers: set[str] = set()
        self._compared: list[tuple[str, str]] = []
        self._differences: list[tuple[str, str]] = []
        self._accesses: list[tuple[_Access, str, str, int, tuple[str, ...]]] = []
        self._closures: dict[tuple[int, str], frozenset[str]] = {}
        self._stored: set[str] = set()
        self._passed: set[str] = set()
        self._fetched: set[str] = set()
        self._counts: dict[str, str] = {}
        self._symbols: dict[str, set[str]] = {}
        self._constants: list[tuple[str, str, int]] = []
        self._divisors: set[str] = set()
        self._members: set[Key] = set()
        self._shifts: dict[str, tuple[str, int]] = {}
        self._loads: list[tuple[str, str, str]] = []
        self._sources: dict[str, str] = {}
        for item in parse_function(text, {}).items:
            if isinstance(item, Instruction):
                self._read(item.mnemonic.split("."), item.operands)
        # A register with different values before and in a loop is not a copy of either.
        self._same = {register: made for register, made in self._same.items() if self._defined[register] == 1}
        self._find_members()

    def _find_members(self) -> None:
        """Treat the fields of a structure behind an argument as arguments, if one of them is a pointer."""
        fields: dict[str, tuple[Key, str]] = {}
        for kind, target, address in self._loads:
            if not (match := _BASED.search(address)):
                continue
            base, size = match["base"], _bytes_of(kind)
            base, shift = self._shifts.get(base, (base, 0)) if self._defined[base] == 1 else (base, 0)
            at = BEHIND + int(match["byte"] or 0) + shift
            for place in {place for place, offset in self._values(base) if not offset}:
                for i, register in enumerate(_REGISTER.findall(target)):
                    fields[register] = (place, at + i * size), kind
        addresses = {each for _, _, address, *_ in self._accesses for each in self._closure(address, self._moved)}
        self._members = {key for register, (key, kind) in fields.items() if register in addresses and "64" in kind}
        for register, (key, kind) in fields.items():
            if any(key[0] == place for place, _ in self._members):
                self._loaded.setdefault(register, set()).add(key)
                self._parts[key] = kind
                self._fetched.discard(register)

    def flow(self) -> Flow:
        declared = {(place, 0) for place, each in enumerate(self._parameters) if each["pointer"]} | self._members
        # Only a value that is converted to a global address is a pointer, not every 8-byte number in an address.
        known = declared | {key for register in self._pointers for key in self._keys(register)}
        uses: dict[Key, Use] = {}
        where: dict[Key, set[str]] = {}
        carried = self._carried()
        accesses = [
            (what, self._half(what, data, carried) or kind, address, width, self._pointed(address, known))
            for what, kind, address, width, data in self._accesses
        ]
        written = {key for what, *_, keys in accesses if what != "ld" for key in keys}
        for what, kind, address, width, keys in accesses:
            # An access that may read either of two pointers counts for the output only without an input.
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
            loaded=self._parts,
            reals=tuple(dict.fromkeys(filter(math.isfinite, self._reals))),
            tests_finite=math.inf in map(abs, self._reals),
            wholes=(wholes := self._wholes(known)),
            divisors=frozenset(
                key
                for each in self._divisors
                for register in self._closure(each, self._same)
                for key in self._elements_of(register, known)
                if {0, 1}.isdisjoint(wholes.get(key, ()))
            ),
            offsets=frozenset(offsets := dict(self._offsets(known))),
            parted=frozenset(key for key, divides in offsets.items() if divides),
            segments=frozenset(self._segments(known)) - offsets.keys(),
            indirect=any(not keys and self._slice(at) & self._fetched for *_, at, _, keys in accesses),
            counted=any(self._is_counted(at) for what, _, at, *_ in accesses if what == "st"),
        )

    def _is_counted(self, address: str) -> bool:
        """Return True if an address comes from one of several counters, and from nothing that tells them apart."""
        parts = self._slice(address)
        return not self._differs(parts) and any(
            self._differs(self._slice(self._counts[each])) for each in parts & self._counts.keys()
        )

    def _differs(self, parts: frozenset[str]) -> bool:
        return bool(parts & self._fetched - self._loaded.keys()) or any(map(_PLACE.match, parts))

    def _carried(self) -> dict[str, set[str]]:
        """Return the types of 16-bit numbers that a kernel computes with, by the register that they are parts of."""
        found: dict[str, set[str]] = {}
        for register, kind in self._halves.items():
            for each in self._closure(register, self._copies):
                found.setdefault(each, set()).add(kind)
        return found

    def _half(self, what: _Access, data: Sequence[str], carried: Mapping[str, set[str]]) -> str:
        """Return the type of the 16-bit numbers that an access transfers, or an empty string for other values."""
        several = [
            carried.get(each, set()) if what == "ld"
            else {self._halves[source] for source in self._closure(each, self._copies) if source in self._halves}
            for each in data
        ]  # fmt: skip
        kinds = set[str]().union(*several)
        return kinds.pop() if len(kinds) == 1 and all(several) else ""

    def _wholes(self, known: set[Key]) -> dict[Key, tuple[int, ...]]:
        """Return the integers that elements behind pointers are compared with, also after an addition (``x - 'a'``)."""
        found: dict[Key, tuple[int, ...]] = {}
        for register, limit in self._compared:
            added, passed = 0, set[str]()
            while _INTEGER.fullmatch(limit) and register in self._shifts.keys() - passed:
                passed.add(register)
                register, more = self._shifts[register]
                added += more
            if _INTEGER.fullmatch(limit):
                values = int(limit) - added, int(limit) - added + 1, *((-added,) if added else ())
                for key in self._elements_of(register, known):
                    found[key] = tuple(dict.fromkeys((*found.get(key, ()), *values)))
        return found

    def _offsets(self, known: set[Key]) -> Iterator[tuple[Key, bool]]:
        """Yield pointers to integers of which a kernel compares or subtracts two neighbors, or counts between them.

        With each, say whether the kernel divides by what it computes from both.
        """
        loads = dict[str, dict[int, tuple[str, int]]]()
        for target, base, place, size in self._integers():
            loads.setdefault(base, {})[place] = target, size
        for base, several in loads.items():
            (at, (first, size)), *more = sorted(several.items())
            if len(more) == 1 and more[0][0] == at + size and self._bound_range(first, more[0][1][0]):
                divides = any({first, more[0][1][0]} <= self._slice(each) for each in self._divisors)
                yield from ((key, divides) for key in self._pointed(base, known))

    def _integers(self) -> Iterator[tuple[str, str, int, int]]:
        """Yield loads of integers: the register, the base and the byte of the address, and the size."""
        for kind, target, address in self._loads:
            if (match := _BASED.search(address)) and kind[1:] in ("32", "64") and kind[0] != "f":
                yield target, match["base"], int(match["byte"] or 0), _bytes_of(kind)

    def _segments(self, known: set[Key]) -> Iterator[Key]:
        """Yield pointers to rows of three integers, of which the third is added to the second or limits a count."""
        loads = dict[Key, dict[tuple[str, int], set[str]]]()
        for target, base, place, _ in self._integers():
            for key in self._pointed(base, known):
                loads.setdefault(key, {}).setdefault((base, place), set()).add(target)
        positions = {each for _, _, address, *_ in self._accesses for each in self._slice(address)}
        parts = dict[str, list[frozenset[str]]]()
        for register, source in self._stepped:
            parts.setdefault(register, []).append(self._slice(source))
        sums = [each for each in parts.values() if len(each) > 1]
        counted = [self._slice(a) | self._slice(b) for a, b in self._compared if {a, b} & parts.keys()]
        for key, row in loads.items():
            for second, third in itertools.permutations(row, 2) if len(row) <= SEGMENT else ():
                start, count = row[second], row[third]
                limited = [each for each in counted if count & each]
                is_limit = not count & positions and limited and not any(start & each for each in limited)
                is_added = any(start & a and count & b for each in sums for a, b in itertools.permutations(each, 2))
                if start & positions and (is_added or is_limit) and self._are_last(second, third):
                    yield key

    def _are_last(self, second: tuple[str, int], third: tuple[str, int]) -> bool:
        """Return True if the second address is as far away from the third one as from the begin of a row."""
        (base, byte), (other, more) = second, third
        if base == other:
            return 0 < 2 * byte == more
        step = self._made.get(other, set()) - {base}
        return base in self._made.get(other, ()) and any(self._slice(each) & self._slice(base) for each in step)

    def _bound_range(self, first: str, last: str) -> bool:
        """Return True if two registers meet in a comparison or a difference, or one limits what begins at the other."""
        return any(
            one in self._closure(a, self._same) and other in self._closure(b, self._made)
            for pair in (*self._compared, *self._differences)
            for a, b in itertools.permutations(pair)
            for one, other in itertools.permutations((first, last))
        )

    def _elements_of(self, register: str, known: set[Key]) -> set[Key]:
        """Return the pointers to the element that a register holds."""
        based = _BASED.search(self._sources.get(register, ""))
        return self._pointed(based["base"], known) if based else set()

    def only_loads(self, variable: str) -> bool:
        """Return True if the kernel only loads from fixed places of a variable, so that the host may fill it."""
        loads = sum(variable in _WORD.findall(operand) for _, operand, _ in self._constants)
        return loads == len(re.findall(rf"(?<![\w$]){re.escape(variable)}(?![\w$])", self._text)) > 0

    def read_as(self, table: str) -> tuple[frozenset[str], dict[int, str]]:
        """Return the types as which a constant is read, and by offset if the kernel computes none of the offsets."""
        reads = [
            (kind, _DIRECT.fullmatch(operand), lanes)
            for kind, operand, lanes in self._constants
            if table in _WORD.findall(operand)
            or any(
                table in self._symbols.get(each, ())
                for register in _REGISTER.findall(operand)
                for each in self._slice(register)
            )
        ]
        parts = dict[int, str]()
        for kind, direct, lanes in reads:
            if direct is None:
                parts = {}
                break
            size = _bytes_of(kind)
            parts |= {int(direct[1] or 0) + i * size: kind for i in range(lanes)}
        return frozenset(kind for kind, *_ in reads), parts

    def types_of(self, variable: str) -> frozenset[str]:
        """Return the types of all accesses to a variable."""
        direct = rf"\b(?:ld|st|atom|red)\.[\w.]*?\.({_TYPES.pattern})\s[^;]*\[{re.escape(variable)}[+\]]"
        through = {
            kind
            for _, kind, register, *_ in self._accesses
            if any(variable in self._symbols.get(each, ()) for each in self._slice(register))
        }
        return frozenset(through | set(re.findall(direct, self._text)))

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

    def _read(self, op: list[str], operands: Sequence[str]) -> None:
        name = op[0]
        kind = next((part for part in reversed(op) if _TYPES.fullmatch(part)), "")
        for i, operand in enumerate(operands if name not in _UNTYPED else ()):
            if (of := op[-2 if name == "cvt" and not i else -1]) in _HALVES:
                self._halves |= dict.fromkeys(_REGISTER.findall(operand), of.removesuffix("x2"))
        if name == "ld" and "param" in op:
            size = _bytes_of(kind)
            for place, byte in self._arguments_at(operands[1]):
                for i, register in enumerate(_REGISTER.findall(operands[0])):
                    key = place, byte + i * size
                    self._loaded.setdefault(register, set()).add(key)
                    self._parts[key] = kind
            return
        if name == "ld" and ("const" in op or ("global" in op and _DIRECT.fullmatch(operands[1]))):
            self._constants.append((kind, operands[1], len(_REGISTER.findall(operands[0]))))
        if name in ("ld", "ldu") and not {"const", "shared", "local"} & set(op):
            self._access("ld", kind, operands[1], op, operands[0])
            self._loads.append((kind, operands[0], operands[1]))
            self._sources |= dict.fromkeys(_REGISTER.findall(operands[0]), operands[1])
            self._fetched |= set(_REGISTER.findall(operands[0]))
        elif name == "st":
            (self._passed if "param" in op else self._stored).update(_REGISTER.findall(operands[-1]))
            if not {"param", "local", "shared"} & set(op):
                self._access("st", kind, operands[0], op, operands[-1])
        elif name in ("atom", "red") and "shared" not in op:
            self._access("atom", kind, operands[1 if name == "atom" else 0], op)
            if name == "atom":
                self._counts |= dict.fromkeys(
                    _REGISTER.findall(operands[0]), "".join(_REGISTER.findall(operands[1])[:1])
                )
        elif name == "cp" and "async" in op and len(operands) > 1:
            bits = 8 * (int(operands[2]) if operands[2:] and operands[2].isdecimal() else 1)
            self._access("ld", f"b{bits}", operands[1], op)
        elif name == "wmma" and op[1] in ("load", "store"):
            if "shared" not in op:
                self._access("ld" if op[1] == "load" else "st", kind, operands[op[1] == "load"], op)
        elif name == "setp" and len(operands) >= 3:
            self._compared.append((operands[-2], operands[-1]))
            for digits in _REAL.findall(operands[-1]):
                self._reals += struct.unpack(">f" if len(digits) == 8 else ">d", bytes.fromhex(digits))
            if {"nan", "num"} & set(op):
                self._reals.append(math.inf)
        elif operands and name not in ("bra", "call", "bar", "ret", "ld"):
            if name in ("div", "rem") and kind[0] in "su":
                self._divisors.add(operands[2])
            self._combine(name, operands)

    def _arguments_at(self, operand: str) -> list[Key]:
        """Return the arguments at an address, also behind a register that holds the address of one of them."""
        if match := _PARAM.search(operand):
            return [(int(match["place"]), int(match["byte"] or 0))]
        if (match := _BASED.search(operand)) and match["base"] in self._addresses:
            return [(place, at + int(match["byte"] or 0)) for place, at in sorted(self._addresses[match["base"]])]
        return []

    def _combine(self, name: str, operands: Sequence[str]) -> None:
        for register in _REGISTER.findall(operands[0]):
            self._defined[register] += 1
            sources = [source for operand in operands[1:] for source in _REGISTER.findall(operand)]
            self._made.setdefault(register, set()).update(sources)
            if name in _SAME:
                self._same.setdefault(register, set()).update(sources)
            if name == "mov":
                self._copies.setdefault(register, set()).update(sources)
            if name == "mov" and (match := _NAMED_PARAM.fullmatch(operands[1])):
                self._addresses[register] = {(int(match[1]), 0)}
            if name == "selp" and (several := [self._addresses[each] for each in sources if each in self._addresses]):
                self._addresses[register] = set[Key]().union(*several)
            if name == "mov":
                self._symbols.setdefault(register, set()).update(operands[1:])
            if name == "cvta":
                self._pointers |= set(sources)
            if name in _OFFSET:
                # The addend of a product, and the minuend of a difference.
                pointer = operands[3:4] if name == "mad" else operands[1:2] if name == "sub" else operands[1:3]
                moved = (source for operand in pointer for source in _REGISTER.findall(operand))
                self._moved.setdefault(register, set()).update(moved)
            if name in _SCALED:
                factors = [source for operand in operands[1:3] for source in _REGISTER.findall(operand)]
                if len(factors) == 1:  # scaled by a size; two registers are a row and its length
                    self._scaled.setdefault(register, set()).update(factors)
            if name == "sub":
                self._differences.append((operands[1], operands[2]))
            if name == "add":
                self._stepped += [(register, source) for source in sources]
            if name in _SHIFTS and len(sources) == 1:
                constant = next(filter(_INTEGER.fullmatch, operands[2:]), "") if name == "add" else "0"
                if constant:
                    self._shifts[register] = sources[0], int(constant)
                    if places := self._addresses.get(sources[0]):
                        self._addresses[register] = {(place, at + int(constant)) for place, at in places}

    def _access(self, what: _Access, kind: str, operand: str, op: list[str], data: str = "") -> None:
        count = next((int(part[1:]) for part in op if part in ("v2", "v4", "v8")), 1)
        width = count * int(re.sub(r"\D", " ", kind.replace("x2", "")).split()[-1] or 0) // 8 if kind else 0
        registers = tuple(_REGISTER.findall(data))
        self._accesses += [(what, kind, register, width, registers) for register in _REGISTER.findall(operand)[:1]]

    def _pointed(self, address: str, known: set[Key]) -> set[Key]:
        """Return the pointers in an address: known pointers that it is computed from, or else candidates."""
        found = self._keys(address)
        return found & known or {key for key in found if self._is_wide(key)}

    def _is_wide(self, key: Key) -> bool:
        place, byte = key
        return bool(byte) or self._parameters[place]["type"] in ("u64", "b64", "s64")

    def _keys(self, register: str) -> set[Key]:
        """Return the arguments that an address is computed from."""
        return {key for each in self._closure(register, self._moved) for key in self._loaded.get(each, ())}

    def _values(self, register: str) -> set[Key]:
        """Return the arguments whose value a register has."""
        return {key for each in self._closure(register, self._same) for key in self._loaded.get(each, ())}

    def _alike(self, register: str) -> set[str]:
        """Return the registers with the same index; empty if the register is an argument itself."""
        found = self._closure(register, self._same) if register.startswith("%") else frozenset[str]()
        return set() if any(each in self._loaded for each in found) else {*found}

    def _slice(self, register: str) -> frozenset[str]:
        """Return all registers that a register is computed from, except loaded values."""
        return self._closure(register, self._made)

    def _elements(self, address: str) -> set[str]:
        """Return the indices of elements in an address: scaled by a size, or added to a pointer directly."""
        moved = self._closure(address, self._moved)
        scaled = {source for each in moved | self._addends(moved) for source in self._scaled.get(each, ())}
        return {each for source in scaled | self._addends(moved) for each in self._closure(source, self._same)}

    def _addends(self, moved: frozenset[str]) -> set[str]:
        return {source for each in moved for source in self._made.get(each, ())} - {
            each for each in moved if self._keys(each)
        }

    def _closure(self, start: str, edges: Mapping[str, set[str]]) -> frozenset[str]:
        """Return all registers that one leads to."""
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
