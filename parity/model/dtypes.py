"""Element types, with the numbers that error bounds need, and formats of quantized blocks."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import ml_dtypes
import numpy as np

from parity.errors import UsageError, nearest
from parity.platform.files import read_table

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class DType:
    """An element type.

    An element of kind ``block`` is a block of quantized values that share scales. Its NumPy type is a structure with
    the fields in memory, little-endian and without gaps.

    Attributes:
        precision: p, the number of significand bits including the hidden bit; 0 for integers. The unit roundoff is
            u = 2**-p, the smallest subnormal number 2**(emin - p + 1).
        emin: exponent of the smallest normal number; 0 for integers.
        saturates: True for a float type without infinities. Larger values become its largest value.
        values: number of values in a block.
    """

    name: str
    numpy: np.dtype[Any]
    kind: Literal["float", "int", "uint", "block"]
    precision: int = 0
    emin: int = 0
    saturates: bool = False
    values: int = 1

    @functools.cached_property
    def itemsize(self) -> int:
        """Size of one element in bytes."""
        return self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_block(self) -> bool:
        return self.kind == "block"

    @functools.cached_property
    def bits(self) -> np.dtype[Any]:
        """The unsigned integer type of the same size, for bit patterns; raw bytes for a block."""
        return np.dtype(f"V{self.itemsize}" if self.is_block else f"u{self.itemsize}")

    @property
    def max(self) -> float | int:
        """Largest finite value.

        Raises:
            UsageError: the type is a block.
        """
        self._require_number()
        if self.is_float:
            return float(ml_dtypes.finfo(self.numpy).max)  # type: ignore[no-untyped-call]
        return int(np.iinfo(self.numpy).max)

    @property
    def min(self) -> float | int:
        """Most negative finite value.

        Raises:
            UsageError: the type is a block.
        """
        self._require_number()
        return -self.max if self.is_float else int(np.iinfo(self.numpy).min)

    def convert(self, values: Any) -> np.ndarray[Any, Any]:
        """Convert numbers to an array of this type. Rounds once, to nearest, ties to even; integers keep low bits.

        Raises:
            UsageError: the type is a block.
        """
        self._require_number()
        with np.errstate(all="ignore"):
            array = np.asarray(values, np.float64) if self.is_float else np.asarray(values)
            if self.saturates:
                array = np.clip(array, self.min, self.max)
            if self.is_float and self.numpy.kind != "f":  # a type of ml_dtypes, which rounds to f32 first
                array = _to_odd(array)
            return array.astype(self.numpy)

    def _require_number(self) -> None:
        if self.is_block:
            raise UsageError(f"{self} is not a number: it is a block of {self.values} values")

    def __str__(self) -> str:
        return self.name


def _to_odd(x: Array) -> Array:
    """Round float64 to odd in float32. Rounding the result to at most 22 bits then equals a single rounding.

    Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008.
    """
    nearest = x.astype(np.float32)
    error = np.abs(nearest.astype(np.float64)) - np.abs(x)
    bits = nearest.view(np.int32)
    even = bits & 1 == 0
    return np.asarray(bits + (even & (error < 0)) - (even & (error > 0)), np.int32).view(np.float32)


def _numpy(text: str) -> np.dtype[Any]:
    """Return the NumPy type of a name, or of the fields of a block: name, type and, for an array, length."""
    fields = [field.split(":") for field in text.split()]
    if len(fields) == 1:
        return np.dtype(text)
    return np.dtype([(name, kind, *map(int, length)) for name, kind, *length in fields])


def _dtype(row: Mapping[str, str]) -> DType:
    precision, emin, values = (int(row[name] or 0) for name in ("precision", "emin", "values"))
    kind: Any = row["kind"]
    return DType(row["name"], _numpy(row["numpy"]), kind, precision, emin, row["saturates"] == "yes", values or 1)


DTYPES = {row["name"]: _dtype(row) for row in read_table(Path(__file__).with_suffix(".csv"))}
"""All element types by name: numbers, and the blocks of the formats in GGUF files (ggml-common.h; q8_1 as in CUDA)."""

NUMBERS = {name: each for name, each in DTYPES.items() if not each.is_block}

_BY_NUMPY = {d.numpy: d for d in DTYPES.values()}


def dtype(name: str) -> DType:
    """Return the type with that name.

    Raises:
        UsageError: no such type exists.
    """
    try:
        return DTYPES[name]
    except KeyError:
        raise UsageError(f"unknown dtype {name!r}; known: {' '.join(DTYPES)}{nearest(name, DTYPES)}") from None


def resolve_dtype(kind: str, types: Mapping[str, DType]) -> DType:
    """Return the type that a type variable is bound to, or the type with that name.

    Raises:
        UsageError: ``kind`` is neither a variable in ``types`` nor the name of a type.
    """
    return types.get(kind) or dtype(kind)


def array_dtype(array: np.ndarray[Any, Any] | np.generic) -> DType:
    """Return the type of the elements of an array or NumPy scalar."""
    return _BY_NUMPY[array.dtype]
