"""The arguments that host code of a Triton kernel gets: guesses, corrected by what host code has shown about them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.triton_kernels.host_facts import LAST, Guess, Real, Table
from parity.triton_kernels.host_records import MOST_ELEMENTS, Unusable
from parity.triton_kernels.host_tensors import DTYPES, Tensor
from parity.triton_kernels.names import BOUNDS, BYTES, INDEX, MASK, POSITIONS, REAL, TENSOR

ALL = "all"
"""Has the facts of all tensors of real numbers."""
_OUTER = 2
"""Extent of the outer dims of a tensor with four dims or more, so that a launch has few blocks."""
_FEW = 16
"""Extent of a list of positions at most, so that a launch has few blocks if the extents of other tensors are large."""
_WIDTH, _BITS = re.compile(r"(?i)(?:.*_)?[nw]?_?bits?"), 4
"""Matches numbers of bits of quantized numbers, and the usual one."""


@dataclass
class Guesses:
    """The assumptions about arguments in one run. ``facts`` has the corrections by host code, by argument.

    ``is_small``: The outer dims of all tensors with four dims are small. ``is_open`` is True if the rank of an argument
    was not known.
    """

    facts: dict[str, dict[str, Any]]
    size: tuple[int, int]
    rank: int
    real: str
    optional: bool
    flag: bool
    is_small: bool = True
    is_open: bool = False

    def value(self, key: str, kind: str) -> Any:
        """Return the value of an argument. ``kind`` is the guess if host code has not shown another."""
        facts = self.facts.get(key, {})
        kind, name = facts.get("kind", kind), key.rpartition(".")[2]
        if kind == "tensor":
            return self._tensor(key, name, facts)
        if kind == "list":
            return [self._tensor(key, name, facts) for _ in range(2)]
        if kind == "flag":
            return self.flag
        if kind == "dtype":
            return DTYPES[self.real]
        if kind == "object":
            return GuessedObject(key, self)
        if kind == "table":
            return Table(key, self._entry)
        if kind == "real" or (kind == "number" and REAL.fullmatch(name)):
            return Real(1e-5 if "eps" in name else 0.5).of(key)
        if isinstance(text := facts.get("value"), str):
            return text
        facts = {"value": _BITS, **facts} if _WIDTH.fullmatch(name) else facts
        first, last = self.size
        return Guess(facts.get("value", last if re.search(r"(?i)dim|hidden|_?[dkv]$", name) else first)).of(key)

    def _entry(self, key: str, usual: int) -> Any:
        """Return an entry of a table."""
        return self.value(key, "number") if key in self.facts else Guess(usual).of(key)

    def _tensor(self, key: str, name: str, facts: Mapping[str, Any]) -> Tensor:
        is_index = INDEX.fullmatch(name) is not None
        rank = facts.get("rank", 1 if is_index else self.rank)
        self.is_open |= "rank" not in facts and not is_index
        first, last = self.size
        wide = 1 if first != last and rank < 4 else 2
        shape = (*(first for _ in range(rank - wide)), *(last for _ in range(min(rank, wide))))
        if rank > 3 and (first > 16 or self.is_small):
            shape = (*(_OUTER for _ in range(rank - 2)), first, last)
        if rank == 1 and is_index and first > _FEW:
            shape = (_FEW,)
        if rank == 1 and is_index and BOUNDS.fullmatch(name):
            shape = (shape[0] + 1,)  # where each sequence begins, and where the last one ends
        longer = 0 if is_index else self.facts.get(LAST, {}).get(f"dim{shape[-1]}" if shape else "", 0)
        shape = (*shape[:-1], longer) if longer else shape
        shape = tuple(facts.get(f"dim{i}", extent) for i, extent in enumerate(shape))
        real = self.facts.get(ALL, {}).get("dtype", self.real)
        kind = "int32" if is_index else "bool" if MASK.fullmatch(name) else "uint8" if BYTES.fullmatch(name) else real
        dtype = DTYPES[facts.get("dtype", kind)]
        if np.prod(shape, dtype=float) > MOST_ELEMENTS:
            raise Unusable
        if dtype.held.kind in "iu" and BOUNDS.fullmatch(name):
            array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype.held)
        elif dtype.held.kind in "iu":
            array = (np.arange(int(np.prod(shape))) % min(self.size)).reshape(shape).astype(dtype.held)
        else:
            array = np.ones(shape, dtype.held)
        return Tensor(array, dtype, key)


class GuessedObject:
    """An argument whose attributes are guesses too."""

    def __init__(self, key: str, guesses: Guesses) -> None:
        self._key, self._guesses = key, guesses

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self._guesses.value(
            f"{self._key}.{name}", "tensor" if TENSOR.fullmatch(name) or POSITIONS.fullmatch(name) else "number"
        )
        self.__dict__[name] = value
        return value

    def __getitem__(self, name: Any) -> Any:
        if not isinstance(name, str):
            raise TypeError(name)
        return getattr(self, name)

    def save_for_backward(self, *tensors: Any) -> None:
        self.__dict__["saved_tensors"] = tensors
