"""A matrix product as libraries of column-major matrices are asked for it.

Row-major C = A B is the same memory as column-major C' = B' A', so B is the left operand there, and a row-major matrix
is its own transpose: nothing is copied or turned around on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from parity.errors import Unsupported
from parity.model.launch import Computation
from parity.runners.redzone import Bytes

__all__ = ["OP", "GemmOperand", "GemmProduct", "gemm_product"]

OP = "gemm.matmul"


@dataclass(frozen=True)
class GemmOperand:
    """An operand in column-major memory: ``columns`` of ``rows`` elements each, ``leading`` elements apart.

    ``data`` are the bytes from its first element to its last, those between the columns among them. ``transposed`` says
    that the product takes the transpose.
    """

    data: Bytes
    rows: int
    columns: int
    leading: int
    transposed: bool


@dataclass(frozen=True)
class GemmProduct:
    """Column-major ``left`` times ``right``: ``rows`` x ``columns`` elements of a dtype, without gaps.

    Sums are of ``inner`` products. ``dtype`` is the name of the type of both operands and of the result.
    """

    dtype: str
    itemsize: int
    rows: int
    columns: int
    inner: int
    left: GemmOperand
    right: GemmOperand

    @property
    def nbytes(self) -> int:
        """Bytes of the result."""
        return self.rows * self.columns * self.itemsize

    @property
    def is_empty(self) -> bool:
        """True if nothing is multiplied: there is no element, or every sum is empty."""
        return not (self.rows and self.columns and self.inner)

    def __str__(self) -> str:
        turned = "".join("T" if matrix.transposed else "N" for matrix in (self.left, self.right))
        return f"{self.dtype} {turned} {self.rows} x {self.columns} x {self.inner}"


def gemm_product(asked: Computation, dtypes: Sequence[str]) -> GemmProduct:
    """The product that a computation is, for a library that multiplies these dtypes.

    Inputs ``a`` (m, k) and ``b`` (k, n) and an output (m, n) of one dtype; each input has rows or columns without gaps
    between their elements.

    Raises:
        Unsupported: it is another op, dtype or memory layout.
    """
    if asked.op != OP:
        raise Unsupported(f"only {OP} is computed, and {asked.op} is not")
    if set(asked.inputs) != {"a", "b"} or asked.params:
        given = ", ".join([*asked.inputs, *asked.params])
        raise Unsupported(f"only the product of a and b is computed, and the case has {given}")
    a, b = asked.inputs["a"], asked.inputs["b"]
    if asked.dtype.name not in dtypes or {a.dtype, b.dtype} != {asked.dtype.numpy}:
        raise Unsupported(f"no product of {a.dtype} and {b.dtype} in {asked.dtype}; there are {' '.join(dtypes)}")
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or asked.shape != (a.shape[0], b.shape[1]):
        raise Unsupported(f"no product of the shapes {a.shape} and {b.shape} in {asked.shape}; only (m, k), (k, n)")
    (m, k), n = a.shape, b.shape[1]
    return GemmProduct(asked.dtype.name, asked.dtype.itemsize, n, m, k, left=_matrix("b", b), right=_matrix("a", a))


def _matrix(name: str, array: np.ndarray[Any, Any]) -> GemmOperand:
    (rows, columns), (down, across) = array.shape, (stride / array.itemsize for stride in array.strides)
    leading = _leading(rows, columns, down, across)
    if leading is not None:
        return GemmOperand(_span(array), columns, rows, leading, False)
    leading = _leading(columns, rows, across, down)
    if leading is not None:
        return GemmOperand(_span(array), rows, columns, leading, True)
    raise Unsupported(
        f"{name} of shape {array.shape} has the strides {array.strides} in bytes; neither its rows nor its columns lie "
        "without gaps and one after the other"
    )


def _leading(lines: int, length: int, between: float, within: float) -> int | None:
    """Elements from the begin of a line to that of the next; None if these are no lines, or overlap.

    The stride of a dim of size 1 is ignored.
    """
    if (length > 1 and within != 1) or (lines > 1 and (between < length or between % 1)):
        return None
    return max(1, int(between) if lines > 1 else length)


def _span(array: np.ndarray[Any, Any]) -> Bytes:
    """The bytes from the first element to the last, as they lie. Strides are positive."""
    if not array.size:
        return np.empty(0, np.uint8)
    last = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    return as_strided(array, (last // array.itemsize + 1,), (array.itemsize,), writeable=False).view(np.uint8)
