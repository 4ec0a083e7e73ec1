"""Tensors on the CPU that stand for PyTorch's while host code runs without it: shapes, strides and small integers.

Elements of floating-point tensors do not matter and are mostly 1. This file imports nothing of parity but its
neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from parity.triton_kernels.host_facts import Contradiction, Rank, Size
from parity.triton_kernels.loading import Placeholder

Array = np.ndarray[Any, Any]


class DType:
    """A dtype of PyTorch. ``name`` is Triton's name; ``held`` is the type of the elements in memory here."""

    def __init__(self, title: str, name: str, held: Any, itemsize: int) -> None:
        self.title, self.name, self.held, self.itemsize = title, name, np.dtype(held), itemsize
        self.is_floating_point = self.held.kind == "f"
        self.is_complex, self.is_signed = False, self.held.kind != "u"

    def __repr__(self) -> str:
        return f"torch.{self.title}"


_DTYPES = [
    *(DType(f"float{n}", f"fp{n}", f"f{n // 8}", n // 8) for n in (16, 32, 64)),
    DType("bfloat16", "bf16", "f4", 2),
    *(DType(f"int{n}", f"i{n}", f"i{n // 8}", n // 8) for n in (8, 16, 32, 64)),
    *(DType(f"uint{n}", f"u{n}", f"u{n // 8}", n // 8) for n in (8, 16, 32, 64)),
    DType("bool", "i1", "bool", 1),
    DType("float8_e4m3fn", "fp8e4nv", "f4", 1),
    DType("float8_e5m2", "fp8e5", "f4", 1),
    DType("float8_e4m3fnuz", "fp8e4nv", "f4", 1),  # no NVIDIA GPU has fp8e4b8
]
DTYPES = {each.title: each for each in _DTYPES}
_F32, _I64, _BOOL = DTYPES["float32"], DTYPES["int64"], DTYPES["bool"]
SHORT = {"half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32", "long": "int64"}


class Device(str):
    """A device such as ``cuda:0``."""

    @property
    def type(self) -> str:
        return self.partition(":")[0]

    @property
    def index(self) -> int:  # type: ignore[override]
        return int(self.partition(":")[2] or 0)


class Sorted(NamedTuple):
    """What PyTorch's ``sort`` and ``topk`` return."""

    values: Tensor
    indices: Tensor


class Tensor:
    """A tensor. ``key`` names the argument that it is, or has the shape of."""

    is_cuda, is_cpu, requires_grad, is_leaf, layout = True, False, True, True, "strided"
    grad: Any = None
    is_sparse = is_quantized = is_meta = is_mps = is_xpu = False
    device = Device("cuda:0")

    def __init__(self, array: Array, dtype: DType, key: str = "") -> None:
        self.array, self.dtype, self.key = array, dtype, key

    # --- shape ---
    @property
    def shape(self) -> Size:
        return Size(self.array.shape).of(self.key)

    def size(self, dim: Any = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    @property
    def ndim(self) -> Rank:
        return Rank(self.array.ndim).of(self.key)

    def dim(self) -> Rank:
        return self.ndim

    def stride(self, dim: Any = None) -> Any:
        strides = [each // max(1, self.array.itemsize) for each in self.array.strides]
        if dim is None:
            return Size(strides)
        return strides[self.shape.checked(int(dim))]

    def numel(self) -> int:
        return int(self.array.size)

    nelement = numel

    def element_size(self) -> int:
        return self.dtype.itemsize

    itemsize = property(element_size)

    @property
    def nbytes(self) -> int:
        return self.array.size * self.dtype.itemsize

    def is_contiguous(self, **_: Any) -> bool:
        return bool(self.array.flags.c_contiguous)

    def is_floating_point(self) -> bool:
        return bool(self.dtype.is_floating_point)

    def storage_offset(self) -> int:
        return self._place()[1]

    def data_ptr(self) -> int:
        return 1 << 20

    def __len__(self) -> int:
        return int(self.shape[0])

    def _place(self) -> tuple[Array, int]:
        """The array that owns the memory, and the first element in it."""
        base = self.array
        while isinstance(base.base, np.ndarray):
            base = base.base
        start = self.array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return base, start // max(1, self.array.itemsize)

    def reachable(self) -> Array:
        """The elements from the first one to the end of the memory."""
        base, start = self._place()
        return base.reshape(-1, copy=False)[start:] if base.flags.c_contiguous else self.array.reshape(-1)

    # --- other views and copies ---
    def _like(self, array: Array) -> Tensor:
        return Tensor(array, self.dtype, self.key if array.shape == self.array.shape else "")

    def view(self, *shape: Any) -> Tensor:
        if len(shape) == 1 and isinstance(shape[0], DType):
            wide, narrow = self.dtype.itemsize, shape[0].itemsize
            last = (*self.array.shape[:-1], self.array.shape[-1] * wide // narrow)
            return Tensor(np.ones(last, shape[0].held), shape[0])
        return self._like(self.array.reshape(dims(shape)))

    reshape = unflatten = view

    def view_as(self, other: Tensor) -> Tensor:
        return self.view(*other.array.shape)

    def flatten(self, start: int = 0, end: int = -1) -> Tensor:
        shape, end = self.array.shape, end % max(1, self.array.ndim)
        return self._like(self.array.reshape((*shape[:start], -1, *shape[end + 1 :])))

    def permute(self, *axes: Any) -> Tensor:
        order = dims(axes)
        if self.key and len(order) != self.array.ndim:
            raise Contradiction(self.key, "rank", len(order))
        return self._other(self.array.transpose(order))

    def _other(self, array: Array) -> Tensor:
        return Tensor(array, self.dtype)

    def transpose(self, one: int, other: int) -> Tensor:
        for dim in (one, other):
            self.shape.checked(dim)
        return self._other(self.array.swapaxes(one, other))

    swapaxes = transpose

    def t(self) -> Tensor:
        return self._other(self.array.T)

    @property
    def T(self) -> Tensor:  # noqa: N802, of PyTorch
        return self.t()

    @property
    def mT(self) -> Tensor:  # noqa: N802, of PyTorch
        return self.transpose(-1, -2)

    def unsqueeze(self, dim: int) -> Tensor:
        return self._other(np.expand_dims(self.array, dim))

    def squeeze(self, dim: int | None = None) -> Tensor:
        shape = self.array.shape
        return self._other(self.array.squeeze(dim) if dim is None or shape[dim] == 1 else self.array)

    def expand(self, *shape: Any) -> Tensor:
        wanted = dims(shape)
        own = (1,) * (len(wanted) - self.array.ndim) + self.array.shape
        full = tuple(o if d == -1 else d for d, o in zip(wanted, own, strict=True))
        return self._other(np.broadcast_to(self.array, full))

    def expand_as(self, other: Tensor) -> Tensor:
        return self.expand(*other.array.shape)

    def chunk(self, count: int, dim: int = 0) -> tuple[Tensor, ...]:
        return tuple(self._other(each) for each in np.array_split(self.array, count, axis=dim))

    def split(self, size: Any, dim: int = 0) -> tuple[Tensor, ...]:
        extent = self.array.shape[dim]
        ends = np.cumsum(size)[:-1] if isinstance(size, Sequence) else np.arange(size, extent, size)
        return tuple(self._other(each) for each in np.split(self.array, ends, axis=dim))

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        return tuple(self._other(each) for each in np.moveaxis(self.array, dim, 0))

    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        return self._other(np.moveaxis(np.moveaxis(self.array, dim, 0)[start : start + length], 0, dim))

    def __getitem__(self, place: Any) -> Tensor:
        return self._other(np.asarray(self.array[plain(place)]))

    def __setitem__(self, place: Any, value: Any) -> None:
        self.array[plain(place)] = plain(value)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.unbind())

    def contiguous(self, **_: Any) -> Tensor:
        return self if self.is_contiguous() else self._like(np.ascontiguousarray(self.array))

    def clone(self, **_: Any) -> Tensor:
        return self._like(self.array.copy())

    def repeat(self, *counts: Any) -> Tensor:
        return self._other(np.tile(self.array, dims(counts)))

    def repeat_interleave(self, count: Any, dim: int | None = None, **_: Any) -> Tensor:
        return self._other(np.repeat(self.array, plain(count), axis=dim))

    def to(self, *what: Any, dtype: Any = None, **_: Any) -> Tensor:
        for each in (*what, dtype):
            kind = each if isinstance(each, DType) else each.dtype if isinstance(each, Tensor) else None
            if kind is not None and kind is not self.dtype:
                return Tensor(self.array.astype(kind.held), kind, self.key)
        return self

    type = to

    # --- pairs of elements and their places ---
    def sort(self, dim: int = -1, descending: bool = False, **_: Any) -> Sorted:
        order = np.argsort(self.array, axis=dim, kind="stable")
        return self._placed(np.flip(order, axis=dim) if descending else order, dim)

    def topk(self, count: int, dim: int = -1, **_: Any) -> Sorted:
        return self._placed(np.take(np.argsort(-self.array, axis=dim), range(int(count)), axis=dim), dim)

    def _placed(self, order: Array, dim: int) -> Sorted:
        return Sorted(self._other(np.take_along_axis(self.array, order, axis=dim)), Tensor(order, _I64))

    # --- new tensors ---
    def _new(self, shape: Sequence[Any], named: Any, fill: Any) -> Tensor:
        dtype = named.get("dtype") or self.dtype
        return Tensor(np.full(dims(shape), fill, dtype.held), dtype)

    def new_empty(self, *shape: Any, **named: Any) -> Tensor:
        return self._new(shape, named, 1)

    new_ones = new_empty

    def new_zeros(self, *shape: Any, **named: Any) -> Tensor:
        return self._new(shape, named, 0)

    def new_full(self, shape: Any, fill: Any, **named: Any) -> Tensor:
        return self._new((shape,), named, fill)

    def new_tensor(self, data: Any, **named: Any) -> Tensor:
        return tensor(data, dtype=named.get("dtype") or self.dtype)

    # --- values ---
    def item(self) -> Any:
        return self.array.reshape(-1)[0].item()

    def tolist(self) -> Any:
        return self.array.tolist()

    def _scalar(self) -> Any:
        if self.array.size != 1:
            raise (
                Contradiction(self.key, "kind", "number") if self.key else ValueError("a tensor with several elements")
            )
        return self.item()

    def __bool__(self) -> bool:
        return bool(self._scalar()) if self.array.size == 1 or self.key else True

    def __int__(self) -> int:
        return int(self._scalar())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self._scalar())

    def __hash__(self) -> int:
        return id(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in SHORT or name == "bfloat16" or name == "bool":
            return lambda *_, **__: self.to(DTYPES[SHORT.get(name, name)])
        method = getattr(self.array, name, None)
        if callable(method) and name not in ("fill", "resize", "byteswap", "dump", "put"):
            return lambda *what, **named: self._reduced(method, what, named)
        if name in _UNKNOWN_ARE_SAME or name.endswith("_"):
            return lambda *_, **__: self
        elementwise = getattr(np, name, None)
        if isinstance(elementwise, np.ufunc):
            return lambda *what, **_: wrapped(elementwise(self.array, *map(plain, what)), self)
        return lambda *_, **__: self

    def _reduced(self, method: Callable[..., Any], what: Sequence[Any], named: dict[str, Any]) -> Any:
        """Call a method of NumPy that has the name of one of PyTorch."""
        axes = {"axis" if key == "dim" else "keepdims" if key == "keepdim" else key: v for key, v in named.items()}
        axes.pop("dtype", None)
        return wrapped(method(*map(plain, what), **{key: plain(v) for key, v in axes.items()}), self)


_UNKNOWN_ARE_SAME = ("cuda", "cpu", "detach", "data", "pin_memory")


def _operator(name: str) -> Callable[[Tensor, Any], Any]:
    def apply(self: Tensor, *other: Any) -> Any:
        if any(isinstance(each, Placeholder) or each is None for each in other):
            return self
        with np.errstate(all="ignore"):
            return wrapped(getattr(self.array, name)(*map(plain, other)), self)

    return apply


_OPERATORS = """
add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod pow rpow and rand or ror xor
lshift rshift lt le gt ge eq ne neg invert abs matmul
"""
for _name in _OPERATORS.split():
    setattr(Tensor, f"__{_name}__", _operator(f"__{_name}__"))


def plain(value: Any) -> Any:
    """Return a value with arrays in place of tensors."""
    if isinstance(value, tuple | list) and not isinstance(value, Size):
        return type(value)(map(plain, value))
    return value.array if isinstance(value, Tensor) else value.held if isinstance(value, DType) else value


def wrapped(value: Any, like: Tensor) -> Any:
    if value is NotImplemented:
        return value
    array = np.asarray(value)
    kind = like.dtype
    if array.dtype != kind.held:
        kind = next((each for each in _DTYPES if each.held == array.dtype), _F32)
    return Tensor(array, kind, like.key if array.shape == like.array.shape else "")


def dims(shape: Sequence[Any]) -> tuple[int, ...]:
    flat = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    return tuple(int(each) for each in flat)


def tensor(data: Any, dtype: DType | None = None, **_: Any) -> Tensor:
    """Return a tensor with elements."""
    array = np.asarray(plain(data))
    kind = dtype or (_I64 if array.dtype.kind in "iu" else _BOOL if array.dtype.kind == "b" else _F32)
    return Tensor(array.astype(kind.held), kind)


def is_of_tensor(name: str) -> bool:
    """Return whether an attribute is probably one of a tensor, and not of another object."""
    known = name in vars(Tensor) or name in SHORT or name in _UNKNOWN_ARE_SAME
    return known or hasattr(np, name) or hasattr(np.ndarray, name) or name.endswith("_")
