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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from parity.emulator.ptx.parse import file_names, function_texts, module_variables
from parity.inference.data_flow import SEGMENT, Bound, Flow, Key, Table, TextureUse, Use
from parity.inference.ptx_registers import DIRECT, INTEGER, REGISTER, TYPES, Access, Registers, bytes_of

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_CROSSES = re.compile(r"\b(?:shfl|vote|match|redux|activemask|bar\.warp|wmma|mma)\b")
_PRIVATE = re.compile(r"^\s*\.local\b", re.MULTILINE)
_NOT_OF_SOURCE = re.compile(r"\$|_ZTV|__cudart_|precalc_xorwow_|mrg32k3aM|__cr_lgamma_table")
"""Matches variables that are not in the source: texts, tables of virtual functions, and tables of CUDA's libraries."""
_LINE = re.compile(r"^\s*\.loc\s+(\d+)", re.MULTILINE)
_PLACE = re.compile(r"%(?:tid|ctaid)\b")
_BLOCK_AXIS = re.compile(r"%ctaid\.([xyz])")


def flows(ptx: str) -> dict[str, Flow]:
    """Return the data flow of each kernel of a PTX text, by symbol."""
    variables = module_variables(ptx).values()
    dynamic = [each.name for each in variables if each.space == "shared" and not each.size]
    sizes = {each.name: each.size for each in variables if each.space == "const" and not each.value}
    empty = {each.name: each.size for each in variables if each.space == "global" and not each.value and each.size}
    writable = {
        each.name: each.size for each in variables if each.space == "global" and not _NOT_OF_SOURCE.match(each.name)
    }
    fillable = sorted({*sizes, *empty})
    random = {number for number, path in file_names(ptx).items() if "curand" in PurePath(path).name}
    found = {}
    for text in (each for each in function_texts(ptx).values() if each.entry):
        words = set(_WORD.findall(text.text))
        kernel = _DataFlow(text, fillable)
        filled = {name for name in words & empty.keys() if kernel.only_loads(name)}
        constant = {name: size for name, size in (sizes | empty).items() if name in (words & sizes.keys() | filled)}
        holders = {place: (name, constant.pop(name)) for place, name in kernel.holders.items() if name in constant}
        tables = {name: Table(size, *kernel.read_as(name)) for name, size in sorted(constant.items())}
        used = words & writable.keys()
        crosses = _CROSSES.search(text.text) is not None
        found[text.name] = replace(
            kernel.flow(), dynamic=not words.isdisjoint(dynamic), crosses=crosses, tables=tables, holders=holders,
            by_warps="WARP_SZ" in words and not crosses, private=_PRIVATE.search(text.text) is not None,
            random=not random.isdisjoint(map(int, _LINE.findall(text.text))),
            variables={each: Table(writable[each], kernel.types_of(each)) for each in sorted(used - filled)},
            prints="vprintf" in words, prints_reals="vprintf" in words and ".f64" in text.text,
        )  # fmt: skip
    return found


class _DataFlow(Registers):
    """What the registers of one kernel show of its arguments."""

    def _texture_uses(self) -> dict[Key, TextureUse]:
        """Return the arguments that are texture or surface objects."""
        found: dict[Key, TextureUse] = {}
        for register, use in self._textures:
            for key in self._values(register):
                known = found.get(key, use)
                found[key] = replace(known, reads=known.reads or use.reads, writes=known.writes or use.writes)
        return found

    def flow(self) -> Flow:
        declared = (
            {(place, 0) for place, each in enumerate(self._parameters) if each["pointer"]} | self._members | self._rows
        )
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
                for addresses in (*where.values(), self._coordinates)
                for address in addresses
                for source in self._slice(address)
                if source.startswith("%tid.")
            ),
            loaded=self._parts,
            textures=self._texture_uses(),
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
            factors=frozenset(
                key
                for pair in self._factors
                if all(self._slice(each) & self._fetched for each in pair) and self._divisors.isdisjoint(pair)
                for register in frozenset().union(*map(self._slice, pair)) & self._fetched
                for key in self._elements_of(register, known)
            ),
            offsets=frozenset(offsets := dict(self._offsets(known))),
            parted=frozenset(key for key, divides in offsets.items() if divides),
            segments=frozenset(self._segments(known)) - offsets.keys(),
            indirect=any(not keys and self._slice(at) & self._fetched for *_, at, _, keys in accesses),
            nullable=frozenset(
                key for pair in self._compared if pair[1] == "0" for key in self._values(pair[0]) & known
            ),
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

    def _half(self, what: Access, data: Sequence[str], carried: Mapping[str, set[str]]) -> str:
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
            while INTEGER.fullmatch(limit) and register in self._shifts.keys() - passed:
                passed.add(register)
                register, more = self._shifts[register]
                added += more
            if INTEGER.fullmatch(limit):
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

    def only_loads(self, variable: str) -> bool:
        """Return True if the kernel only loads from fixed places of a variable, so that the host may fill it."""
        loads = sum(variable in _WORD.findall(operand) for _, operand, _ in self._constants)
        return loads == len(re.findall(rf"(?<![\w$]){re.escape(variable)}(?![\w$])", self._text)) > 0

    def read_as(self, table: str) -> tuple[frozenset[str], dict[int, str]]:
        """Return the types as which a constant is read, and by offset if the kernel computes none of the offsets."""
        reads = [
            (kind, DIRECT.fullmatch(operand), lanes)
            for kind, operand, lanes in self._constants
            if table in _WORD.findall(operand)
            or any(
                table in self._symbols.get(each, ())
                for register in REGISTER.findall(operand)
                for each in self._slice(register)
            )
        ]
        parts = dict[int, str]()
        for kind, direct, lanes in reads:
            if direct is None:
                parts = {}
                break
            size = bytes_of(kind)
            parts |= {int(direct["byte"] or 0) + i * size: kind for i in range(lanes)}
        return frozenset(kind for kind, *_ in reads), parts

    def types_of(self, variable: str) -> frozenset[str]:
        """Return the types of all accesses to a variable."""
        direct = rf"\b(?:ld|st|atom|red)\.[\w.]*?\.({TYPES.pattern})\s[^;]*\[{re.escape(variable)}[+\]]"
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
