"""Any library of the array API standard as a runner of parity.

``--runner array-api`` computes with array_api_strict, ``--runner array-api=torch`` with PyTorch, and so on for numpy,
cupy, jax.numpy, dask.array: whatever array_api_compat or the library itself gives the functions of the standard.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from parity.runners import Computation, Evidence, Probe, Unsupported

DTYPES = {
    "u8": "uint8", "u32": "uint32", "i16": "int16", "i32": "int32", "i64": "int64", "f32": "float32", "f64": "float64",
}  # fmt: skip
"""The types of the standard, which has no half types and no f8."""

FUNCTIONS = {
    "binary.add": "add", "binary.sub": "subtract", "binary.mul": "multiply", "binary.maximum": "maximum",
    "binary.minimum": "minimum", "binary.eq": "equal", "binary.ne": "not_equal", "binary.lt": "less",
    "binary.le": "less_equal", "binary.gt": "greater", "binary.ge": "greater_equal", "unary.neg": "negative",
    "unary.abs": "abs", "unary.sign": "sign", "unary.ceil": "ceil", "unary.floor": "floor", "unary.round": "round",
    "unary.sqr": "square", "unary.sqrt": "sqrt", "unary.exp": "exp", "unary.log": "log",
    "unary.sin": "sin", "unary.cos": "cos", "unary.tanh": "tanh", "gemm.matmul": "matmul",
}  # fmt: skip
"""Ops that are one function of the standard."""

# Ops that take more: called with the library, the arrays, then the parameters as arrays.
RECIPES: dict[str, Callable[..., Any]] = {
    "affine.affine": lambda xp, x, mul, add: x * mul + add,
    "binary.div": lambda xp, x, y: _floats(xp, x) / y,
    "cast.convert": lambda xp, x: x,
    "reduce.max": lambda xp, x, reduced: xp.max(_rows(xp, x, reduced), axis=-1),
    "reduce.min": lambda xp, x, reduced: xp.min(_rows(xp, x, reduced), axis=-1),
    "ternary.where": lambda xp, condition, x, y: xp.where(condition != 0, x, y),
    "unary.copy": lambda xp, x: xp.asarray(x, copy=True),
    "unary.relu": lambda xp, x: xp.maximum(x, xp.zeros_like(x)),
    "unary.recip": lambda xp, x: 1 / x,
    "unary.powf": lambda xp, x, exponent: x**exponent,
    "unary.sigmoid": lambda xp, x: 1 / (1 + xp.exp(-x)),
    "unary.silu": lambda xp, x: x / (1 + xp.exp(-x)),
}

LIBRARY = "array_api_strict"


class ArrayApi:
    """A library, by the name of its module."""

    name, evidence, vendor = "array-api", Evidence.LIBRARY, "host"

    def __init__(self, library: str = LIBRARY) -> None:
        self.library = library

    def probe(self) -> Probe:
        try:
            self._namespace()
        except ImportError as error:
            return Probe(False, str(error), f"install the package of {self.library}, or name another library")
        return Probe(True)

    def targets(self) -> tuple[str, ...]:
        return (self.library,)

    def describe(self) -> dict[str, str]:
        return {self.library: str(getattr(importlib.import_module(self.library), "__version__", "unknown"))}

    def compute(self, target: str, asked: Computation) -> np.ndarray[Any, Any]:
        names = [_name(array.dtype) for array in asked.inputs.values()] + [asked.dtype.name]
        if lacking := sorted(set(names) - set(DTYPES)):
            raise Unsupported(f"the array API standard has no {' and '.join(lacking)}")
        xp = self._namespace()
        arrays = [xp.asarray(array.copy()) for array in asked.inputs.values()]
        params = [xp.asarray(param) if param.dtype.kind == "f" else int(param) for param in asked.params.values()]
        if asked.op in RECIPES:
            result = RECIPES[asked.op](xp, *arrays, *params)
        elif asked.op in FUNCTIONS:
            result = getattr(xp, FUNCTIONS[asked.op])(*arrays)
        else:
            raise Unsupported(f"the array API standard has no {asked.op}")
        return np.asarray(np.from_dlpack(xp.astype(result, getattr(xp, DTYPES[asked.dtype.name]))))

    def _namespace(self) -> ModuleType:
        """The library itself, or what array_api_compat makes of it."""
        try:
            return importlib.import_module(f"array_api_compat.{self.library}")
        except ModuleNotFoundError as error:
            if error.name != f"array_api_compat.{self.library}":
                raise
            return importlib.import_module(self.library)


def _floats(xp: ModuleType, x: Any) -> Any:
    if not xp.isdtype(x.dtype, "real floating"):
        raise Unsupported("the array API standard divides floats only")
    return x


def _rows(xp: ModuleType, x: Any, reduced: int) -> Any:
    """The array with its last ``reduced`` dims as one."""
    if 0 in x.shape:
        raise Unsupported("the array API standard leaves the maximum of nothing undefined")
    return xp.reshape(x, (*x.shape[: x.ndim - reduced], -1))


def _name(dtype: np.dtype[Any]) -> str:
    """The name that parity has for a NumPy type."""
    return f"{dtype.kind}{8 * dtype.itemsize}" if dtype.isbuiltin == 1 else dtype.name
