"""Element types: one row per type, with the numbers that the error bounds need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np

from parity.errors import UsageError, nearest

__all__ = ["DTYPES", "DType", "dtype", "of_array"]


@dataclass(frozen=True)
class DType:
    """An element type.

    ``precision`` is p, the number of significand bits with the hidden one; ``emin`` the exponent of the smallest
    normal number. Both are 0 for integers. Unit roundoff is u = 2**-p; the smallest subnormal is 2**(emin - p + 1).
    A float type that ``saturates`` has no infinities: what lies beyond its largest value becomes that.
    """

    name: str
    numpy: np.dtype[Any]
    kind: Literal["float", "int", "uint"]
    precision: int = 0
    emin: int = 0
    saturates: bool = False

    @property
    def itemsize(self) -> int:
        """Size of one element in bytes."""
        return self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def bits(self) -> np.dtype[Any]:
        """The unsigned integer type of the same size, for bit patterns."""
        return np.dtype(f"u{self.itemsize}")

    @property
    def max(self) -> float | int:
        """Largest finite value."""
        if self.is_float:
            return float(ml_dtypes.finfo(self.numpy).max)  # type: ignore[no-untyped-call]
        return int(np.iinfo(self.numpy).max)

    @property
    def min(self) -> float | int:
        """Smallest (most negative) finite value."""
        return -self.max if self.is_float else int(np.iinfo(self.numpy).min)

    def convert(self, values: Any) -> np.ndarray[Any, Any]:
        """Numbers as an array of this type, in the way of a host program: to nearest, integers keep their low bits."""
        with np.errstate(all="ignore"):
            array = np.asarray(values, np.float64) if self.is_float else np.asarray(values)
            if self.saturates:
                array = np.clip(array, self.min, self.max)
            return array.astype(self.numpy)

    def __str__(self) -> str:
        return self.name


DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        DType("u8", np.dtype(np.uint8), "uint"),
        DType("u32", np.dtype(np.uint32), "uint"),
        DType("u64", np.dtype(np.uint64), "uint"),
        DType("i16", np.dtype(np.int16), "int"),
        DType("i32", np.dtype(np.int32), "int"),
        DType("i64", np.dtype(np.int64), "int"),
        DType("f8_e4m3", np.dtype(ml_dtypes.float8_e4m3fn), "float", 4, -6, saturates=True),
        DType("f16", np.dtype(np.float16), "float", 11, -14),
        DType("bf16", np.dtype(ml_dtypes.bfloat16), "float", 8, -126),
        DType("f32", np.dtype(np.float32), "float", 24, -126),
        DType("f64", np.dtype(np.float64), "float", 53, -1022),
    )
}

_BY_NUMPY = {d.numpy: d for d in DTYPES.values()}


def dtype(name: str) -> DType:
    """The type of that name.

    Raises:
        UsageError: no such type.
    """
    try:
        return DTYPES[name]
    except KeyError:
        raise UsageError(f"unknown dtype {name!r}; known: {' '.join(DTYPES)}{nearest(name, DTYPES)}") from None


def of_array(array: np.ndarray[Any, Any] | np.generic) -> DType:
    """The type of the elements of an array or NumPy scalar."""
    return _BY_NUMPY[array.dtype]
