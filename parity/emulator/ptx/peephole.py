"""Reduces the number of instructions: removes copies, merges branches over branches, joins adjacent accesses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TypeGuard

from parity.emulator.instruction import Instruction
from parity.emulator.ptx.parse import BRANCHES, PtxFunction, size_of
from parity.emulator.ptx.register_slots import maybe_unwritten

_COPIES = re.compile(r"mov\.[busf](?:16|32|64)$|cvta\.(?:to\.)?(?:global|const|local)\.u64$")
_REGISTER = re.compile(r"[%$\w]+")
_LOADS = re.compile(r"ld\.(?:global(?:\.nc)?|shared)(?:\.L\w+::\w+)*\.[busf](8|16|32|64)$")
_STORES = re.compile(r"st\.(?:global|shared)\.[busf](8|16|32|64)$")
_PLACE = re.compile(r"\[\s*(%[\w$]+)\s*(?:\+\s*(-?\d+))?\s*\]$")
_CHANGES = re.compile(
    r"(?:st|red|atom|bar|barrier|membar|fence|call|shfl|vote|match|redux|elect|activemask|cp|wmma|mma|ldmatrix|trap|brkpt)"
    r"(?:\.|$)|ld\.(?:volatile|relaxed|acquire|mmio)"
)
"""Instructions that write memory or synchronize threads."""


def is_branch(item: Instruction | str, *, guarded: bool) -> TypeGuard[Instruction]:
    """True for a branch with a guard or, if not ``guarded``, without one."""
    return isinstance(item, Instruction) and item.mnemonic.startswith("bra") and bool(item.modifiers) == guarded


def invert_branches(items: Sequence[Instruction | str]) -> tuple[Instruction | str, ...]:
    """Replace a guarded branch over an unguarded branch by one branch with the inverse condition.

    Threads of both ways then wait for each other once less.
    """
    left: list[Instruction | str] = []
    for i, item in enumerate(items):
        before = left[-1] if left else ""
        if (
            is_branch(item, guarded=False)
            and is_branch(before, guarded=True)
            and items[i + 1 : i + 2] == (before.operands[0],)
        ):
            guard = before.modifiers[0].removeprefix("@")
            other = guard.removeprefix("!") if guard.startswith("!") else f"!{guard}"
            left[-1] = replace(before, operands=item.operands, modifiers=(f"@{other}",))
        else:
            left.append(item)
    return tuple(left)


def remove_copies(function: PtxFunction) -> PtxFunction:
    """Remove copies of registers, and repeated loads of the same value, by renaming registers.

    Only pairs of registers that are written once, and always before their uses, are merged. Every path from the write
    of the original to a use of the copy then passes the copy, so both registers hold the same value at the use.
    """
    same = [(item.operands[0], of) for item, of in _copies(function)]
    if not same:
        return function
    writes = function.writes
    early = maybe_unwritten(function)
    names = {to: of for to, of in same if writes[to] == writes[of] == 1 and early.isdisjoint((to, of))}

    def named(match: re.Match[str]) -> str:
        name = match[0]
        while name in names:
            name = names[name]
        return name

    left: list[Instruction | str] = []
    for item in function.items:
        if isinstance(item, str):
            left.append(item)
        elif names.keys().isdisjoint(function.accesses(item)[0]):
            operands = tuple(_REGISTER.sub(named, text) for text in item.operands)
            modifiers = tuple(_REGISTER.sub(named, text) for text in item.modifiers)
            left.append(replace(item, operands=operands, modifiers=modifiers))
    return replace(function, items=tuple(left))


def _copies(function: PtxFunction) -> Iterator[tuple[Instruction, str]]:
    """Yield instructions whose result is already in a register, with that register."""
    known = function.registers
    loaded: dict[tuple[str, str], str] = {}
    for item in function.items:
        if isinstance(item, str) or _CHANGES.match(item.mnemonic):
            loaded.clear()
            continue
        if _LOADS.match(item.mnemonic) and not item.modifiers:
            to, key = item.operands[0], (item.mnemonic, item.operands[1])
            if key in loaded:
                yield item, loaded[key]
            loaded.setdefault(key, to)
        elif _COPIES.match(item.mnemonic) and not item.modifiers:
            to, of = item.operands
            if {to, of} <= known.keys() and size_of(known[to]) == size_of(known[of]):
                yield item, of
        written = function.accesses(item)[0]
        loaded = {key: to for key, to in loaded.items() if not any(name in key[1] for name in written)}
        if item.base in BRANCHES:
            loaded.clear()


@dataclass
class _Near:
    """Loads of one kind relative to one address register: (offset, item, instruction).

    ``met`` are the registers that were accessed since the first of these loads.
    """

    loads: list[tuple[int, int, Instruction]] = field(default_factory=list)
    met: set[str] = field(default_factory=set)


_Key = tuple[str, str, str | None]
"""The mnemonic, the address register, and the source line."""


def join_accesses(function: PtxFunction) -> PtxFunction:
    """Join accesses to adjacent addresses into one pseudo-instruction such as ``ld.global.apart.v4.u32``.

    The accesses are in global or shared memory, in one basic block and on one source line. Between loads, no
    instruction writes memory or synchronizes; between stores there is no instruction. In contrast to a vector access,
    the address need not be aligned to the total size, and a fault names a single access. The other stores remain as
    ``joined``, which does nothing, because stores of a warp by several instructions to one address are a race.
    """
    items: list[Instruction | str | None] = list(function.items)
    for _, run in groupby(enumerate(function.items), lambda each: _stored(each[1])):
        stores = [(_offset(item), i, item) for i, item in run if isinstance(item, Instruction) and _stored(item)]
        if [offset for offset, _, _ in stores] == sorted({offset for offset, _, _ in stores}):
            _join(items, stores)
    open_: dict[_Key, _Near] = {}

    def close(keys: Iterable[_Key]) -> None:
        for key in keys:
            _join(items, open_.pop(key).loads)

    for i, item in enumerate(function.items):
        if isinstance(item, str) or _CHANGES.match(item.mnemonic) or item.base in BRANCHES:
            close([*open_])
            continue
        writes, reads = function.accesses(item)
        place = _PLACE.match(item.operands[1]) if _LOADS.match(item.mnemonic) and not item.modifiers else None
        key = (item.mnemonic, place[1], item.source) if place else None
        if key in open_ and not open_[key].met.isdisjoint(writes):
            close([key])
        for near in open_.values():
            near.met.update(writes, reads)
        if key and place:
            near = open_.setdefault(key, _Near())
            near.loads.append((int(place[2] or 0), i, item))
            near.met.update(writes)
        close([each for each in open_ if each[1] in writes])
    close([*open_])
    return replace(function, items=tuple(item for item in items if item is not None))


def _stored(item: Instruction | str) -> tuple[str, str, str | None, tuple[str, ...]] | None:
    """Return the key that joinable stores share; None for other instructions."""
    if isinstance(item, str) or not _STORES.match(item.mnemonic) or not (place := _PLACE.match(item.operands[0])):
        return None
    return item.mnemonic, place[1], item.source, tuple(item.modifiers)


def _offset(store: Instruction) -> int:
    place = _PLACE.match(store.operands[0])
    return int(place[2] or 0) if place else 0


def _join(items: list[Instruction | str | None], accessed: list[tuple[int, int, Instruction]]) -> None:
    """Replace each run of 16, 8 or 4 adjacent bytes by one instruction at the place of the first access."""
    accessed = sorted(accessed, key=lambda each: each[0])
    while accessed:
        offset, _, first = accessed[0]
        size = size_of(first.mnemonic.rpartition(".")[2])
        near = [each for k, each in enumerate(accessed[: min(8, 16 // size)]) if each[0] == offset + k * size]
        count = next((n for n in (8, 4, 2) if n <= len(near) and 4 <= n * size <= 16), 1)
        run, accessed = accessed[:count], accessed[count:]
        if count > 1:
            at = min(index for _, index, _ in run)
            stores = first.mnemonic.startswith("st")
            for _, index, each in run:
                items[index] = replace(each, mnemonic="joined", operands=()) if stores else None
            head, _, type_ = first.mnemonic.rpartition(".")
            operands = list(first.operands)
            operands[stores] = f"{{{', '.join(each.operands[stores] for _, _, each in run)}}}"
            items[at] = replace(
                first,
                text=first.text if stores else "; ".join(each.text for _, _, each in run),
                mnemonic=f"{head}.apart.v{count}.{type_}",
                operands=tuple(operands),
            )
