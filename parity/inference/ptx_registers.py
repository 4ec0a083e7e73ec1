"""Reads the registers of a PTX kernel: what each is computed from, and the loads and stores of the kernel."""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from parity.emulator.instruction import Instruction
from parity.emulator.ptx.images import GEOMETRIES
from parity.emulator.ptx.parse import FunctionText, parse_function
from parity.inference.data_flow import BEHIND, ROW, VARIABLE, Key, TextureUse

Access = Literal["ld", "st", "atom"]

_PARAMETER = re.compile(r"\.param (?:\.align \d+ )?\.(?P<type>[a-z]+\d+)(?P<pointer> \.ptr)?[^,\n]*")
REGISTER = re.compile(r"%[a-z]+\d+|%(?:tid|ntid|ctaid|nctaid)\.[xyz]")
_PARAM = re.compile(r"\[(?P<kernel>[\w$]+)_param_(?P<place>\d+)(?:\+(?P<byte>\d+))?\]")
_NAMED_PARAM = re.compile(r"[\w$]+_param_(\d+)")
DIRECT = re.compile(r"\[(?P<name>[A-Za-z_$][\w$]*)(?:\+(?P<byte>\d+))?\]")
_BASED = re.compile(r"\[(?P<base>%[a-z]+\d+)(?:\+(?P<byte>-?\d+))?\]")
_THREADS = re.compile(r"\.(?:reqntid|maxntid) (\d+)(?:, (\d+))?(?:, (\d+))?")
INTEGER = re.compile(r"-?\d+")
_REAL = re.compile(r"0[fd]([0-9A-Fa-f]{16}|[0-9A-Fa-f]{8})$")
TYPES = re.compile(r"[bsuf](?:8|16|32|64|128)|f16x2|bf16x2|bf16")

_SAME = frozenset(("mov", "cvt", "cvta"))
"""Operations whose result is their operand."""
_OFFSET = frozenset(("add", "sub", "selp", "and", "or", "mad", "min", "max", *_SAME))
"""Operations that move a pointer by some bytes."""
_SHIFTS = frozenset(("add", "and", "cvt", "mov"))
"""Operations that may add a constant to an integer, or only change its width."""
_HALVES = frozenset(("f16", "f16x2", "bf16", "bf16x2"))
"""Types of 16-bit numbers, of which a wider access transfers several."""
_TEXTURES = ("tex", "tld4", "suld", "sust")
_UNTYPED = frozenset(("ld", "ldu", "st", "mov", "mma", "wmma", "atom", "red", "cp", *_TEXTURES))
"""Operations whose type says nothing about single operands."""
_SCALED = frozenset(("mul", "shl", "mad"))
"""Operations that convert an index to bytes."""


def bytes_of(kind: str) -> int:
    """Return the size of a PTX type (``f32``), by default of a register of 64 bits."""
    return int(re.sub(r"\D", "", kind) or 64) // 8


class Registers:
    """The registers of one kernel, and what each is computed from.

    ``fillable`` are the variables that may hold what the host fills in.
    """

    def __init__(self, text: FunctionText, fillable: Sequence[str] = ()) -> None:
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
        self._accesses: list[tuple[Access, str, str, int, tuple[str, ...]]] = []
        self._closures: dict[tuple[int, str], frozenset[str]] = {}
        self._stored: set[str] = set()
        self._passed: set[str] = set()
        self._fetched: set[str] = set()
        self._counts: dict[str, str] = {}
        self._symbols: dict[str, set[str]] = {}
        self._constants: list[tuple[str, str, int]] = []
        self._fillable = {name: place for place, name in enumerate(fillable, VARIABLE)}
        self._held: dict[str, tuple[Key, str]] = {}
        self.holders: dict[int, str] = {}
        self._divisors: set[str] = set()
        self._factors: set[tuple[str, str]] = set()
        self._members: set[Key] = set()
        self._shifts: dict[str, tuple[str, int]] = {}
        self._loads: list[tuple[str, str, str]] = []
        self._sources: dict[str, str] = {}
        self._textures: list[tuple[str, TextureUse]] = []
        self._coordinates: set[str] = set()
        self._rows: set[Key] = set()
        for item in parse_function(text, {}).items:
            if isinstance(item, Instruction):
                self._read(item.mnemonic.split("."), item.operands)
        # A register with different values before and in a loop is not a copy of either.
        self._same = {register: made for register, made in self._same.items() if self._defined[register] == 1}
        self._find_members(fillable)

    def _find_members(self, fillable: Sequence[str]) -> None:
        """Treat the fields of a structure behind an argument as arguments.

        One of them is a pointer, or the kernel only loads fields, of several types.
        """
        fields: dict[str, tuple[Key, str]] = {}
        for kind, target, address in self._loads:
            if not (match := _BASED.search(address)):
                continue
            base, size = match["base"], bytes_of(kind)
            base, shift = self._shifts.get(base, (base, 0)) if self._defined[base] == 1 else (base, 0)
            at = BEHIND + int(match["byte"] or 0) + shift
            for place in {place for place, offset in self._values(base) if not offset}:
                for i, register in enumerate(REGISTER.findall(target)):
                    fields[register] = (place, at + i * size), kind
        only_loaded = self._only_loaded(fields.values())
        fields |= self._held
        addresses = {each for _, _, address, *_ in self._accesses for each in self._closure(address, self._moved)}
        self._members = {key for register, (key, kind) in fields.items() if register in addresses and "64" in kind}
        self.holders = {place: fillable[place - VARIABLE] for place, _ in self._members if place >= VARIABLE}
        structures = {place for place, _ in self._members} | only_loaded
        for register, (key, kind) in fields.items():
            if key[0] in structures:
                self._loaded.setdefault(register, set()).add(key)
                self._parts[key] = kind
                self._fetched.discard(register)
        self._find_rows(addresses - fields.keys())

    def _find_rows(self, addresses: set[str]) -> None:
        """Treat pointers that the kernel loads from an array, and follows, as an argument: all rows of the array.

        A structure with pointers has other fields, of other types.
        """
        loads = [
            (target, address)
            for kind, text, address in self._loads
            if _is_address(kind) and len(REGISTER.findall(text)) == 1
            for target in REGISTER.findall(text)
            if target in addresses
        ]
        others = set[Key]()
        for what, kind, address, *_ in self._accesses if loads else ():
            if what != "ld" or not _is_address(kind):
                others |= self._keys(address)
        for target, address in loads:
            base = next(iter(REGISTER.findall(address)), "")
            places = [key for key in self._keys(base) - others if not key[1] and key[0] < VARIABLE]
            if len(places) == 1:
                row = places[0][0], ROW
                self._loaded.setdefault(target, set()).add(row)
                self._fetched.discard(target)
                self._rows.add(row)

    def _only_loaded(self, fields: Iterable[tuple[Key, str]]) -> set[int]:
        """Return the arguments that point to several fields of several types, of which the kernel only loads some."""
        offsets, types = dict[int, set[int]](), dict[int, set[tuple[bool, int]]]()
        for (place, at), kind in fields:
            offsets.setdefault(place, set()).add(at)
            types.setdefault(place, set()).add((kind[0] == "f", bytes_of(kind)))
        others = {place for each in self._passed | self._stored for place, _ in self._keys(each)}
        for what, _, address, *_ in self._accesses:
            if what != "ld" or any(len(self._made.get(each, ())) > 1 for each in self._slice(address)):
                others |= {place for place, _ in self._keys(address)}
        return {place for place in offsets if len(offsets[place]) > 1 and len(types[place]) > 1} - others

    def _integers(self) -> Iterator[tuple[str, str, int, int]]:
        """Yield loads of integers: the register, the base and the byte of the address, and the size."""
        for kind, target, address in self._loads:
            if (match := _BASED.search(address)) and kind[1:] in ("32", "64") and kind[0] != "f":
                yield target, match["base"], int(match["byte"] or 0), bytes_of(kind)

    def _elements_of(self, register: str, known: set[Key]) -> set[Key]:
        """Return the pointers to the element that a register holds."""
        based = _BASED.search(self._sources.get(register, ""))
        return self._pointed(based["base"], known) if based else set()

    def _read(self, op: list[str], operands: Sequence[str]) -> None:
        name = op[0]
        kind = next((part for part in reversed(op) if TYPES.fullmatch(part)), "")
        for i, operand in enumerate(operands if name not in _UNTYPED else ()):
            if (of := op[-2 if name == "cvt" and not i else -1]) in _HALVES:
                self._halves |= dict.fromkeys(REGISTER.findall(operand), of.removesuffix("x2"))
        if name == "ld" and "param" in op:
            size = bytes_of(kind)
            for place, byte in self._arguments_at(operands[1]):
                for i, register in enumerate(REGISTER.findall(operands[0])):
                    key = place, byte + i * size
                    self._loaded.setdefault(register, set()).add(key)
                    self._parts[key] = kind
            return
        if name == "ld" and ("const" in op or ("global" in op and DIRECT.fullmatch(operands[1]))):
            self._constants.append((kind, operands[1], len(REGISTER.findall(operands[0]))))
            if (direct := DIRECT.fullmatch(operands[1])) and direct["name"] in self._fillable:
                place, at = self._fillable[direct["name"]], int(direct["byte"] or 0)
                for i, register in enumerate(REGISTER.findall(operands[0])):
                    self._held[register] = (place, at + i * bytes_of(kind)), kind
        if name in ("ld", "ldu") and not {"const", "shared", "local"} & set(op):
            self._access("ld", kind, operands[1], op, operands[0])
            self._loads.append((kind, operands[0], operands[1]))
            self._sources |= dict.fromkeys(REGISTER.findall(operands[0]), operands[1])
            self._fetched |= set(REGISTER.findall(operands[0]))
        elif name == "st":
            (self._passed if "param" in op else self._stored).update(REGISTER.findall(operands[-1]))
            if not {"param", "local", "shared"} & set(op):
                self._access("st", kind, operands[0], op, operands[-1])
        elif name in ("atom", "red") and "shared" not in op:
            self._access("atom", kind, operands[1 if name == "atom" else 0], op)
            if name == "atom":
                self._counts |= dict.fromkeys(REGISTER.findall(operands[0]), "".join(REGISTER.findall(operands[1])[:1]))
        elif name == "cp" and "async" in op and len(operands) > 1:
            bits = 8 * (int(operands[2]) if operands[2:] and operands[2].isdecimal() else 1)
            self._access("ld", f"b{bits}", operands[1], op)
        elif name in _TEXTURES:
            operand = operands[0 if name == "sust" else 1]
            if use := _texture_use(op):
                base, *coordinates = REGISTER.findall(operand)
                self._textures.append((base, use))
                self._coordinates.update(coordinates)
            if name != "sust":
                self._fetched |= set(REGISTER.findall(operands[0]))
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
            if name in ("mul", "mad") and "lo" in op and kind == "s32":
                self._factors.add((operands[1], operands[2]))
            self._combine(name, operands)

    def _arguments_at(self, operand: str) -> list[Key]:
        """Return the arguments at an address, also behind a register that holds the address of one of them."""
        if match := _PARAM.search(operand):
            return [(int(match["place"]), int(match["byte"] or 0))]
        if (match := _BASED.search(operand)) and match["base"] in self._addresses:
            return [(place, at + int(match["byte"] or 0)) for place, at in sorted(self._addresses[match["base"]])]
        return []

    def _combine(self, name: str, operands: Sequence[str]) -> None:
        for register in REGISTER.findall(operands[0]):
            self._defined[register] += 1
            sources = [source for operand in operands[1:] for source in REGISTER.findall(operand)]
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
                moved = (source for operand in pointer for source in REGISTER.findall(operand))
                self._moved.setdefault(register, set()).update(moved)
            if name in _SCALED:
                factors = [source for operand in operands[1:3] for source in REGISTER.findall(operand)]
                if len(factors) == 1:  # scaled by a size; two registers are a row and its length
                    self._scaled.setdefault(register, set()).update(factors)
            if name == "sub":
                self._differences.append((operands[1], operands[2]))
            if name == "add":
                self._stepped += [(register, source) for source in sources]
            if name in _SHIFTS and len(sources) == 1:
                constant = next(filter(INTEGER.fullmatch, operands[2:]), "") if name == "add" else "0"
                if constant:
                    self._shifts[register] = sources[0], int(constant)
                    if places := self._addresses.get(sources[0]):
                        self._addresses[register] = {(place, at + int(constant)) for place, at in places}

    def _access(self, what: Access, kind: str, operand: str, op: list[str], data: str = "") -> None:
        count = next((int(part[1:]) for part in op if part in ("v2", "v4", "v8")), 1)
        width = count * int(re.sub(r"\D", " ", kind.replace("x2", "")).split()[-1] or 0) // 8 if kind else 0
        registers = tuple(REGISTER.findall(data))
        self._accesses += [(what, kind, register, width, registers) for register in REGISTER.findall(operand)[:1]]

    def _pointed(self, address: str, known: set[Key]) -> set[Key]:
        """Return the pointers in an address: known pointers that it is computed from, or else candidates."""
        found = self._keys(address)
        return found & known or {key for key in found if self._is_wide(key)}

    def _is_wide(self, key: Key) -> bool:
        place, byte = key
        return bool(byte) or place >= VARIABLE or self._parameters[place]["type"] in ("u64", "b64", "s64")

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


def _is_address(kind: str) -> bool:
    """True for the PTX type of what may be an address."""
    return "64" in kind and kind[0] != "f"


def _texture_use(op: Sequence[str]) -> TextureUse | None:
    """Return how an instruction uses a texture or surface; None for cube maps and textures with several samples."""
    if (geometry := next((part for part in op if part in GEOMETRIES), None)) is None:
        return None
    is_surface, is_layered = op[0] in ("suld", "sust"), geometry.startswith("a")
    if not is_surface:
        return TextureUse(GEOMETRIES[geometry], is_layered, memory=op[-1] == "s32" and geometry == "1d", type=op[-2])
    count = next((int(part[1]) for part in op if part in ("v2", "v4")), 1)
    bits = next((int(part[1:]) for part in op if part in ("b8", "b16", "b32", "b64")), 32)
    writes = op[0] == "sust"
    return TextureUse(GEOMETRIES[geometry], is_layered, True, False, not writes, writes, "b32", count, bits)
