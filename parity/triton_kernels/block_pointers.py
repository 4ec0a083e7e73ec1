"""Gives Triton the block pointers that Triton 3.9 removed: ``tl.make_block_ptr`` and ``tl.advance``.

Many public kernels use them. As in Triton 3.8, an access becomes an access by pointers to all elements of the block,
with a mask for the dims in ``boundary_check``. ``child.py`` uses this. It imports nothing of parity.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import triton.language as tl
from triton.language import core

_builtin: Callable[[Callable[..., Any]], Callable[..., Any]] = core.builtin
_REMOVED = "Block pointers have been removed"


@dataclass(eq=False)
class _BlockPointer(core.base_value):  # type: ignore[misc]
    """A block of a tensor: ``values`` are the pointer to it, its shape, strides and offsets. ``block`` is a shape."""

    values: Sequence[Any]
    block: Sequence[int]

    @property
    def type(self) -> _BlockPointerType:
        return _BlockPointerType([each.type for each in self.values], self.block)

    @property
    def dtype(self) -> Any:
        return self.values[0].dtype

    def _set_name(self, builder: Any, name: str) -> None:
        pass

    def _flatten_ir(self, handles: list[Any]) -> None:
        for each in self.values:
            each._flatten_ir(handles)

    def elements(self, checked: Any, semantic: Any) -> tuple[Any, Any]:
        """Return pointers to the elements, and the mask for the dims in ``checked``."""
        chosen = _plain(checked)
        chosen = [chosen] if isinstance(chosen, int) else [each % len(self.block) for each in chosen]
        rank, mask = len(self.block), None
        pointers, *parts = self.values
        dims = zip(self.block, parts[:rank], parts[rank:-rank], parts[-rank:], strict=True)
        for dim, (extent, shape, stride, offset) in enumerate(dims):
            place = semantic.add(offset, semantic.arange(0, extent), False)
            for other in range(rank):
                place = place if other == dim else semantic.expand_dims(place, other)
            place = semantic.broadcast_impl_shape(place, self.block)
            pointers = semantic.add(pointers, semantic.mul(place, stride, False), False)
            if dim in chosen:
                inside = semantic.and_(semantic.greater_equal(place, 0), semantic.less_than(place, shape))
                mask = inside if mask is None else semantic.and_(mask, inside)
        return pointers, mask


@dataclass
class _BlockPointerType(core.base_type):  # type: ignore[misc]
    values: Sequence[Any]
    block: Sequence[int]

    @property
    def element_ty(self) -> Any:
        return self.values[0].element_ty

    def mangle(self) -> str:
        return f"B{'_'.join(each.mangle() for each in self.values)}_{'x'.join(map(str, self.block))}B"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        for each in self.values:
            each._flatten_ir_types(builder, out)

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[_BlockPointer, int]:
        values = []
        for each in self.values:
            value, cursor = each._unflatten_ir(handles, cursor)
            values.append(value)
        return _BlockPointer(values, self.block), cursor


def _plain(value: Any) -> Any:
    """Return a value of the language as one of Python."""
    value = getattr(value, "value", value) if isinstance(value, core.constexpr) else value
    return [_plain(each) for each in value] if isinstance(value, core.tuple | tuple | list) else value


def install() -> None:
    """Add block pointers to Triton's language if it does not have them."""
    if _REMOVED not in inspect.getsource(core.make_block_ptr):
        return
    load, store = tl.load, tl.store

    @_builtin
    def make_block_ptr(
        base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any, _semantic: Any = None
    ) -> Any:
        wide = [_semantic.cast(_semantic.to_tensor(each), tl.int64) for each in (*shape, *strides)]
        places = [_semantic.cast(_semantic.to_tensor(each), tl.int32) for each in offsets]
        return _BlockPointer([base, *wide, *places], _plain(block_shape))

    @_builtin
    def advance(base: Any, offsets: Any, _semantic: Any = None) -> Any:
        kept, before = base.values[: -len(base.block)], base.values[-len(base.block) :]
        moved = [_semantic.add(a, _semantic.to_tensor(b), False) for a, b in zip(before, offsets, strict=True)]
        return _BlockPointer([*kept, *(_semantic.cast(each, tl.int32) for each in moved)], base.block)

    @_builtin
    def load_block(
        pointer: Any, mask: Any = None, other: Any = None, boundary_check: Any = (), padding_option: Any = "",
        cache_modifier: Any = "", eviction_policy: Any = "", volatile: Any = False, _semantic: Any = None,
    ) -> Any:  # fmt: skip
        if isinstance(pointer, _BlockPointer):
            pointer, mask = pointer.elements(boundary_check, _semantic)
            padding = {"zero": 0.0, "nan": float("nan")}.get(_plain(padding_option))
            other = padding if mask is not None else None
        return load(
            pointer, mask, other, cache_modifier=cache_modifier, eviction_policy=eviction_policy, volatile=volatile,
            _semantic=_semantic,
        )  # fmt: skip

    @_builtin
    def store_block(
        pointer: Any, value: Any, mask: Any = None, boundary_check: Any = (),
        cache_modifier: Any = "", eviction_policy: Any = "", _semantic: Any = None,
    ) -> Any:  # fmt: skip
        if isinstance(pointer, _BlockPointer):
            pointer, mask = pointer.elements(boundary_check, _semantic)
        return store(
            pointer, value, mask, cache_modifier=cache_modifier, eviction_policy=eviction_policy, _semantic=_semantic
        )

    for module in (tl, core):
        module.make_block_ptr, module.advance = make_block_ptr, advance
    tl.load, tl.store = load_block, store_block
