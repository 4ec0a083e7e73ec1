"""Describes a launch that host code makes as data. This file imports nothing of parity but its neighbours."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parity.triton_kernels.host_facts import Contradiction, Number
from parity.triton_kernels.host_tensors import DTYPES, DType, Tensor
from parity.triton_kernels.names import IEEE

_MOST_BLOCKS, MOST_ELEMENTS = 4096, 1 << 21
"""Limits of a launch that can be emulated."""
_MOST_VALUES = 64
"""Elements of a tensor of integers to describe one by one."""
_BLOCK = re.compile(r"(?i)block|tile|chunk|size|^b[a-z]$|^bt$")
_NOT_ZERO = 0.5
"""Replaces the number 0.0, which hides what a kernel multiplies with it."""
_TRITON_NAMES = {
    **{each.name: each.title for each in DTYPES.values() if each.itemsize > 1 or each.held.kind in "iu"},
    "i1": "int1",
}
"""Names of types in Triton's language."""


class Unusable(BaseException):
    """A launch that parity cannot declare, or that is too large."""


class Launched(BaseException):
    """The launch that was looked for. Host code cannot catch it."""

    def __init__(self, launch: dict[str, Any]) -> None:
        self.launch = launch


def launched(kernel: Mapping[str, Any], called: Any, grid: Any, args: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Raise ``Launched`` if this is a launch of the kernel. Other launches do nothing."""
    decorators, function = layers(called)
    if function.__name__ != kernel["function"] or not Path(function.fn.__code__.co_filename).samefile(kernel["file"]):
        return
    names = function.arg_names
    values = {**dict(zip(names, args, strict=False)), **{key: v for key, v in named.items() if key in names}}
    options = {key: v for key, v in named.items() if key not in names}
    for layer in decorators:
        if configs := getattr(layer, "configs", None):
            chosen = smallest(_pruned(layer, configs, values))
            values |= {key: v for key, v in chosen.kwargs.items() if key in names}
            options |= {key: v for key, v in chosen.kwargs.items() if key not in names}
            options |= {"num_warps": chosen.num_warps, "num_stages": chosen.num_stages}
        for name, rule in (getattr(layer, "values", None) or {}).items():
            values[name] = rule(values)
    for each in function.params:
        if each.name not in values and each.default is not inspect.Parameter.empty:
            values[each.name] = each.default
        elif each.name not in values and each.is_constexpr:  # a decorator that is not known here sets it
            values[each.name] = 64 if _BLOCK.search(each.name) else 1
        value: Any = values.get(each.name)
        if type(value).__name__ == "TensorWrapper":
            kind = next((kind for kind in DTYPES.values() if kind.name == _short(value.dtype)), value.base.dtype)
            value = values[each.name] = Tensor(value.base.array, kind, value.base.key)
        if isinstance(value, Tensor) and value.key and (each.is_constexpr or each.name in kernel["numbers"]):
            raise Contradiction(value.key, "kind", "number")
        if isinstance(value, Number) and value.key and each.name in kernel["texts"]:
            raise Contradiction(value.key, "value", kernel["texts"][each.name])
        if isinstance(value, Number) and value.key and each.name in kernel["pointers"]:
            raise Contradiction(value.key, "kind", "tensor")
        if isinstance(value, Tensor) and value.key and each.name in kernel["indices"] and value.dtype.is_floating_point:
            raise Contradiction(value.key, "dtype", "int32")
    blocks = grid(values) if callable(grid) else grid
    blocks = tuple(int(each) for each in (blocks if isinstance(blocks, tuple | list) else (blocks,)))
    if not 0 < int(np.prod(blocks)) <= _MOST_BLOCKS:
        raise Unusable
    raise Launched(_described(function, values, options, blocks))


def layers(function: Any) -> tuple[list[Any], Any]:
    """Return the decorators of a function from the outermost one, such as ``Autotuner``, and the function itself."""
    found = []
    while not hasattr(function, "params"):
        found.append(function)
        function = function.fn
    return found, function


def _short(dtype: Any) -> str:
    """Return the short name of a type of Triton: ``i32`` for ``int32``."""
    return str(dtype).replace("uint", "u").replace("int", "i")


def smallest(configs: Sequence[Any]) -> Any:
    """Return the configuration of ``@triton.autotune`` with the smallest numbers."""
    return min(configs, key=lambda each: sum(v for v in each.kwargs.values() if isinstance(v, int)))


def _pruned(layer: Any, configs: Sequence[Any], values: Mapping[str, Any]) -> Sequence[Any]:
    """Return the configurations that the project's own rule leaves."""
    if prune := getattr(layer, "early_config_prune", None):
        try:
            return prune(configs, dict(values)) or configs
        except Exception:
            return configs
    return configs


def _described(
    function: Any, values: Mapping[str, Any], options: Mapping[str, Any], grid: tuple[int, ...]
) -> dict[str, Any]:
    """Return a launch as data."""
    constants, arguments = dict[str, Any](), list[dict[str, Any]]()
    for each in function.params:
        value = values[each.name]
        if isinstance(value, Tensor) and not each.is_constexpr:
            arguments.append({"name": each.name, **_tensor(value)})
        elif value is None or each.is_constexpr or isinstance(value, bool | str):
            constant = constant_value(value)
            constants[each.name] = IEEE.get(constant, constant) if isinstance(constant, str) else constant
        elif isinstance(value, int | np.integer):
            kind = "i32" if -(1 << 31) <= value < 1 << 31 else "i64"
            arguments.append({"name": each.name, "type": kind, "value": str(int(value))})
        elif isinstance(value, float | np.floating):
            arguments.append({"name": each.name, "type": "fp32", "value": repr(float(value) or _NOT_ZERO)})
        else:
            raise Unusable(f"{each.name}: {value!r}")
    if not any(each["elements"] for each in arguments if "elements" in each):
        raise Unusable
    return {
        "constants": constants,
        "options": {k: v if isinstance(v, bool) else int(v) for k, v in options.items() if isinstance(v, int)},
        "arguments": arguments,
        "grid": grid,
    }


def _tensor(value: Tensor) -> dict[str, Any]:
    """Describe a tensor that a launch passes, and the numbers in a tensor of integers."""
    held = value.reachable()
    if not 0 < held.size <= MOST_ELEMENTS:
        raise Unusable
    found: dict[str, Any] = {
        "type": f"*{'u8' if value.dtype.name == 'i1' else value.dtype.name}",
        "elements": held.size,
    }
    if value.dtype.name == "i1":
        found |= {"least": 0, "most": 1}
    elif held.dtype.kind in "iu":
        steps = np.diff(held.astype(np.int64))
        found |= {"least": int(held.min()), "most": int(held.max()), "rises": bool((steps >= 0).all())}
        found["distinct"] = len(np.unique(held)) == held.size
        found["values"] = held.ravel().tolist() if held.size <= _MOST_VALUES else []
        found["ramps"] = bool((held.ravel() == np.arange(held.size) % (int(held.max()) + 1)).all())
    return found


def constant_value(value: Any) -> Any:
    """Return the value of a constexpr parameter as a declaration has it."""
    while type(value).__name__ == "constexpr":
        value = value.value
    if isinstance(value, DType) or type(value).__name__ == "dtype":  # PyTorch's or Triton's
        return f"tl.{_TRITON_NAMES.get(value.name) or value.name.replace('fp8', 'float8')}"
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float):
        return float(value)  # not a guess, which the compiler would contradict
    if value is None or isinstance(value, str):
        return value
    raise Unusable(repr(value))
