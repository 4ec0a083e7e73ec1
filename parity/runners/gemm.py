"""Describes a matrix product for a BLAS library, which uses column-major matrices.

A row-major C = A B has the same memory as a column-major C' = B' A'. B is therefore the left operand of the library
call, and the host neither copies nor transposes a matrix.
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

OP = "gemm.matmul"


@dataclass(frozen=True)
class GemmOperand:
    """A column-major operand: ``columns`` columns of ``rows`` elements, with the leading dimension ``leading``.

    ``data`` holds the bytes from the first element to the last, including gaps between the columns. If ``transposed``,
    the product uses the transpose.
    """

    data: Bytes
    rows: int
    columns: int
    leading: int
    transposed: bool


@dataclass(frozen=True)
class GemmProduct:
    """Column-major ``left`` times ``right``, with a result of ``rows`` x ``columns`` elements without gaps.

    Each element is a sum of ``inner`` products. Operands and result share the type named ``dtype``.
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
        """Size of the result in bytes."""
        return self.rows * self.columns * self.itemsize

    @property
    def is_empty(self) -> bool:
        """True if the result has no elements, or if every sum is empty."""
        return not (self.rows and self.columns and self.inner)

    def __str__(self) -> str:
        operations = "".join("T" if matrix.transposed else "N" for matrix in (self.left, self.right))
        return f"{self.dtype} {operations} {self.rows} x {self.columns} x {self.inner}"


def gemm_product(asked: Computation, dtypes: Sequence[str]) -> GemmProduct:
    """Convert a computation for a library that multiplies the given dtypes.

    The computation must have the inputs ``a`` (m, k) and ``b`` (k, n) and an output (m, n), all of one dtype. The
    elements of each row, or of each column, of an input must be contiguous.

    Raises:
        Unsupported: The computation has another op, dtype or memory layout.
    """
    if asked.op != OP:
        raise Unsupported(f"only {OP} is computed, not {asked.op}")
    if set(asked.inputs) != {"a", "b"} or asked.params:
        given = ", ".join([*asked.inputs, *asked.params])
        raise Unsupported(f"only the product of a and b is computed, but the case has {given}")
    a, b = asked.inputs["a"], asked.inputs["b"]
    if asked.dtype.name not in dtypes or {a.dtype, b.dtype} != {asked.dtype.numpy}:
        raise Unsupported(f"no product of {a.dtype} and {b.dtype} in {asked.dtype}; supported: {' '.join(dtypes)}")
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or asked.shape != (a.shape[0], b.shape[1]):
        raise Unsupported(f"no product of the shapes {a.shape} and {b.shape} in {asked.shape}; only (m, k), (k, n)")
    (m, k), n = a.shape, b.shape[1]
    return GemmProduct(asked.dtype.name, asked.dtype.itemsize, n, m, k, left=_matrix("b", b), right=_matrix("a", a))


def _matrix(name: str, array: np.ndarray[Any, Any]) -> GemmOperand:
    (rows, columns), (down, across) = array.shape, (stride / array.itemsize for stride in array.strides)
    leading = _leading(rows, columns, down, across)
    if leading is not None:
        return GemmOperand(span(array), columns, rows, leading, False)
    leading = _leading(columns, rows, across, down)
    if leading is not None:
        return GemmOperand(span(array), rows, columns, leading, True)
    raise Unsupported(
        f"{name} of shape {array.shape} has the strides {array.strides} in bytes; neither its rows nor its columns are "
        "contiguous and in order"
    )


def _leading(lines: int, length: int, between: float, within: float) -> int | None:
    """Return the leading dimension in elements; None if lines have gaps or overlap.

    ``between`` and ``within`` are strides in elements, between lines and within a line. The stride of a dimension of
    size 1 does not matter.
    """
    if (length > 1 and within != 1) or (lines > 1 and (between < length or between % 1)):
        return None
    return max(1, int(between) if lines > 1 else length)


def span(array: np.ndarray[Any, Any]) -> Bytes:
    """Return the bytes from the first element to the last. Strides must be positive."""
    if not array.size:
        return np.empty(0, np.uint8)
    last = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    return as_strided(array, (last // array.itemsize + 1,), (array.itemsize,), writeable=False).view(np.uint8)
