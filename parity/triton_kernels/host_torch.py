"""Stands for PyTorch while host code runs without it.

``TORCH`` has what host code needs to allocate outputs and to compute grids. Other names are placeholders. This file
imports nothing of parity but its neighbours.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parity.triton_kernels.host_facts import Size
from parity.triton_kernels.host_tensors import DTYPES, SHORT, Array, Device, DType, Tensor, dims, plain, tensor, wrapped
from parity.triton_kernels.loading import Placeholder

_F32, _I64 = DTYPES["float32"], DTYPES["int64"]


def _filled(fill: Any) -> Callable[..., Tensor]:
    def create(*shape: Any, dtype: Any = None, size: Any = None, **_: Any) -> Tensor:
        kind = dtype if isinstance(dtype, DType) else _F32
        return Tensor(np.full(dims(shape or (size,)), fill, kind.held), kind)

    return create


def _filled_like(fill: Any) -> Callable[..., Tensor]:
    def create(like: Tensor, dtype: Any = None, **_: Any) -> Tensor:
        kind = dtype if isinstance(dtype, DType) else like.dtype
        array = np.full_like(like.array, fill, dtype=kind.held)
        return Tensor(array, kind, like.key)

    return create


def _full(shape: Any, value: Any, dtype: Any = None, **_: Any) -> Tensor:
    return _filled(value)(shape, dtype=dtype or (_F32 if isinstance(value, float) else _I64))


def _empty_strided(shape: Any, strides: Any, dtype: Any = None, **_: Any) -> Tensor:
    size = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    held = np.ones(size, (dtype or _F32).held)
    places = [each * held.itemsize for each in strides]
    return Tensor(np.lib.stride_tricks.as_strided(held, tuple(shape), places), dtype or _F32)


def _arange(*ends: Any, dtype: Any = None, **_: Any) -> Tensor:
    return tensor(np.arange(*map(plain, ends)), dtype)


class Context:
    """The context of an autograd function, and any other object whose attributes host code sets."""

    needs_input_grad: Any = (True,) * 64
    saved_tensors: Sequence[Any] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder(name)


class Function:
    """An autograd function, which calls ``forward``."""

    @classmethod
    def apply(cls, *values: Any) -> Any:
        forward: Any = cls.forward  # type: ignore[attr-defined]
        return forward(Context(), *values)


class Module:
    """A module of a network."""

    def __call__(self, *values: Any, **named: Any) -> Any:
        return self.forward(*values, **named)  # type: ignore[attr-defined]


class Scope:
    """A context manager and decorator without an effect."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> Scope:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def __call__(self, function: Any) -> Any:
        return function


def _decorator(*first: Any, **named: Any) -> Any:
    """Return a function unchanged, or a decorator that does."""
    return first[0] if len(first) == 1 and not named and isinstance(first[0], types.FunctionType) else _decorator


class _Namespace(types.ModuleType):
    """A module whose unknown names are placeholders."""

    def __init__(self, name: str, **names: Any) -> None:
        super().__init__(name)
        self.__dict__.update(names)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        elementwise = getattr(Tensor, name, None) or (isinstance(getattr(np, name, None), np.ufunc) and name)
        if elementwise and self.__name__ == "torch":
            return lambda first, *what, **named: (
                getattr(first, name)(*what, **named) if isinstance(first, Tensor) else getattr(np, name)(first, *what)
            )
        return Placeholder(f"{self.__name__}.{name}")


def _joined(join: Callable[..., Array]) -> Callable[..., Tensor]:
    def call(tensors: Any, dim: int = 0, **_: Any) -> Tensor:
        parts = list(tensors)
        return Tensor(join([each.array for each in parts], axis=dim), parts[0].dtype)

    return call


def _reduce(name: str) -> Callable[..., Any]:
    return lambda first, *what, **named: getattr(first, name)(*what, **named)


def _broadcast(*tensors: Tensor) -> list[Tensor]:
    arrays = np.broadcast_arrays(*(each.array for each in tensors))
    return [Tensor(array, each.dtype) for array, each in zip(arrays, tensors, strict=True)]


_PROPERTIES = types.SimpleNamespace(
    multi_processor_count=8, major=8, minor=0, warp_size=32, name="NVIDIA A100", gcnArchName="", total_memory=1 << 34
)
_CUDA = _Namespace(
    "torch.cuda", device=Scope, stream=Scope, device_count=lambda: 1, is_available=lambda: True,
    current_device=lambda: 0, get_device_capability=lambda *_: (8, 0), get_device_properties=lambda *_: _PROPERTIES,
    get_device_name=lambda *_: "NVIDIA A100",
    amp=_Namespace("torch.cuda.amp", custom_fwd=_decorator, custom_bwd=_decorator),
)  # fmt: skip
_LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0, "float8_e4m3fnuz": 240.0, "float16": 65504.0}


def _largest(kind: DType) -> float:
    """The largest number of a dtype."""
    return _LARGEST.get(kind.title, 3.4e38)


TORCH = _Namespace(
    "torch", **DTYPES, **{short: DTYPES[name] for short, name in SHORT.items()},
    Tensor=Tensor, dtype=DType, Size=Size, device=lambda name="cuda:0", *_: Device(name),
    tensor=tensor, as_tensor=tensor,
    empty=_filled(1), ones=_filled(1), zeros=_filled(0), rand=_filled(1), randn=_filled(1), full=_full,
    empty_like=_filled_like(1), ones_like=_filled_like(1), zeros_like=_filled_like(0), rand_like=_filled_like(1),
    randn_like=_filled_like(1), full_like=lambda like, value, **named: _filled_like(value)(like, **named),
    empty_strided=_empty_strided, arange=_arange, cat=_joined(np.concatenate), stack=_joined(np.stack),
    cumsum=lambda x, dim=0, **_: wrapped(np.cumsum(x.array, axis=dim), x), is_tensor=lambda x: isinstance(x, Tensor),
    diff=lambda x, **_: wrapped(np.diff(x.array), x), contiguous_format="contiguous", channels_last="channels_last",
    preserve_format="preserve", strided="strided", sum=_reduce("sum"), max=_reduce("max"), min=_reduce("min"),
    amax=_reduce("max"), mean=_reduce("mean"),
    inf=math.inf, pi=math.pi, __version__="2.11.0",
    no_grad=Scope, enable_grad=Scope, inference_mode=Scope, is_grad_enabled=lambda: True, cuda=_CUDA,
    is_autocast_enabled=lambda *_: False, get_default_dtype=lambda: _F32,
    iinfo=lambda kind: np.iinfo(kind.held if kind.held.kind in "iu" else "i4"),
    broadcast_shapes=lambda *shapes: Size(np.broadcast_shapes(*shapes)), broadcast_tensors=_broadcast,
    finfo=lambda kind: types.SimpleNamespace(
        max=_largest(kind), min=-_largest(kind), eps=1e-7, tiny=1e-38, bits=8 * kind.itemsize
    ),
    utils=_Namespace("torch.utils", _triton=_Namespace("torch.utils._triton", has_triton=lambda: True)),
    version=_Namespace("torch.version", hip=None, cuda="12.8"),
    autograd=_Namespace("torch.autograd", Function=Function), nn=_Namespace("torch.nn", Module=Module),
    amp=_Namespace("torch.amp", custom_fwd=_decorator, custom_bwd=_decorator, autocast=Scope),
    compiler=_Namespace("torch.compiler", disable=_decorator, is_compiling=lambda: False, allow_in_graph=_decorator),
    library=_Namespace(
        "torch.library", custom_op=_decorator, triton_op=_decorator, wrap_triton=lambda kernel: kernel,
        register_fake=_decorator,
    ),
)  # fmt: skip


_HIP = _Namespace("torch", **{**vars(TORCH), "version": _Namespace("torch.version", hip="6.4", cuda=None)})


def importer(backend: str) -> Callable[[str], Any]:
    """Return what finds the module of a dotted name that begins with torch, for ``cuda`` or ``hip``."""

    def imported(name: str) -> Any:
        found: Any = TORCH if backend == "cuda" else _HIP
        for part in name.split(".")[1:]:
            found = getattr(found, part)
        return found

    return imported
