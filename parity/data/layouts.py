"""Shapes and layouts to draw.

Choices are ordered from simple to involved, because Hypothesis shrinks towards the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from parity.model.layout import Layout, contiguous

if TYPE_CHECKING:  # Hypothesis takes a tenth of a second, and what was drawn before needs none of it
    from hypothesis import strategies as st

__all__ = ["LAUNCHES", "LINES", "STRIDES", "Draw", "Strides", "in_rows", "layout", "pick", "shape"]

T = TypeVar("T")
Draw = Callable[["st.SearchStrategy[Any]"], Any]

LINES = (1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 3073)
"""Lengths that straddle a wavefront, its double, usual blocks, the block of 1024 and grids of two and three blocks."""

PLANES = (
    (2, 2),
    (3, 5),
    (31, 3),
    (33, 2),
    (5, 64),
    (65, 3),
    (16, 32),
    (3, 129),
    (257, 3),
    (2, 513),
    (1, 1025),
    (1023, 2),
)
LAUNCHES = (None, None, None, None, (1, 32), (1, 64), (2, 33), (3, 64), (1, 1), (5, 1024), (4096, 1))
"""Launches to draw: mostly the op's rule, else too few threads (a grid-stride loop goes round), too many, or so many
blocks that a kernel may leave the work to some of them."""


def pick(draw: Draw, options: Sequence[T]) -> T:
    """One of the options; the first is the simplest."""
    from hypothesis import strategies as st

    choice: T = draw(st.sampled_from(options))
    return choice


def shape(draw: Draw) -> tuple[int, ...]:
    """Rank 0 to 5, size-1 and empty dims, and lengths around wavefront, block and grid."""
    kind = pick(draw, ("tiny", "small", "small", "deep", "line", "line", "plane", "scalar", "empty"))
    if kind == "tiny":
        return (pick(draw, (1, 2, 3, 4)),)
    if kind == "small":
        return tuple(pick(draw, (1, 2, 3, 4, 5, 7)) for _ in range(pick(draw, (1, 2, 3))))
    if kind == "deep":
        return tuple(pick(draw, (1, 2, 3, 4)) for _ in range(pick(draw, (4, 5))))
    if kind == "line":
        return (pick(draw, LINES),)
    if kind == "plane":
        return pick(draw, PLANES)
    if kind == "scalar":
        return ()
    return pick(draw, ((0,), (0, 3), (2, 0), (2, 0, 3)))


def layout(draw: Draw, shape: tuple[int, ...], kinds: Sequence[str]) -> Layout:
    """A layout of a shape: one of ``contiguous``, ``transposed``, ``sliced``, ``broadcast``, or ``any`` mix of them."""
    kind = pick(draw, kinds)
    if kind == "contiguous" or not shape:
        return contiguous(shape, pick(draw, (0, 0, 1, 3)))
    everything = kind == "any"
    order = list(range(len(shape)))
    if kind == "transposed" or everything:
        from hypothesis import strategies as st

        order = draw(st.permutations(order)) if len(shape) > 2 else order[::-1]
    repeated = [False] * len(shape)
    if kind == "broadcast" or everything:
        repeated = [pick(draw, (kind == "broadcast", True, False)) for _ in shape]
    steps = [1] * len(shape)
    if kind == "sliced" or everything:
        steps = [pick(draw, (1, 2, 3)) for _ in shape]
    strides, product = [0] * len(shape), 1
    for axis in reversed(order):
        if not repeated[axis]:
            strides[axis] = product * steps[axis]
            product *= max(shape[axis], 1) * steps[axis]
    return Layout(shape, tuple(strides), pick(draw, (0, 1, 5)) if kind in ("sliced", "any") else 0)


def _any(draw: Draw, shape: tuple[int, ...]) -> Layout:
    return layout(draw, shape, ("contiguous", "contiguous", "transposed", "sliced", "broadcast", "any"))


def _distinct(draw: Draw, shape: tuple[int, ...]) -> Layout:
    return layout(draw, shape, ("contiguous", "transposed", "sliced"))


def _dense(draw: Draw, shape: tuple[int, ...]) -> Layout:
    return contiguous(shape, pick(draw, (0, 0, 1, 3)))


def _not_dense(layout: Layout) -> str:
    return "" if layout.is_contiguous else "it has to be contiguous, because the kernel is told no strides of it"


def _aligned(draw: Draw, shape: tuple[int, ...]) -> Layout:
    return contiguous(shape)


def _not_aligned(layout: Layout) -> str:
    return _not_dense(layout) or ("it has to begin where its buffer does, for vectors" if layout.offset else "")


def _rows(draw: Draw, shape: tuple[int, ...]) -> Layout:
    return in_rows(shape, shape[-1] + pick(draw, (0, 0, 1, 7)), pick(draw, (0, 1, 3)))


def in_rows(shape: tuple[int, ...], distance: int, offset: int = 0) -> Layout:
    """Contiguous rows (of the last dim) at a distance, in elements."""
    return Layout(shape, contiguous((*shape[:-1], distance)).strides, offset)


def _not_rows(layout: Layout) -> str:
    if len(layout.shape) < 2:
        return "it has to have rows, so two dims at least"
    if not layout.numel:
        return ""
    if layout != in_rows(layout.shape, layout.strides[-2], layout.offset) or layout.strides[-2] < layout.shape[-1]:
        return "it has to consist of contiguous rows at one distance, which do not overlap, like 4x5:7,1"
    return ""


def _by_rows_or_columns(draw: Draw, shape: tuple[int, ...]) -> Layout:
    by_columns, gap, offset = pick(draw, (False, True)), pick(draw, (0, 0, 1, 7)), pick(draw, (0, 0, 1, 8))
    return Layout(shape, (1, shape[0] + gap) if by_columns else (shape[1] + gap, 1), offset)


@dataclass(frozen=True)
class Strides:
    """The layouts that a kernel takes of one tensor: ``draw`` makes one of a shape, ``complaint`` says why another one
    is not taken, or returns an empty string.
    """

    draw: Callable[[Draw, tuple[int, ...]], Layout]
    complaint: Callable[[Layout], str] = lambda layout: ""


STRIDES: dict[str, Strides] = {
    "any": Strides(_any),
    "distinct": Strides(_distinct),
    "dense": Strides(_dense, _not_dense),
    "aligned": Strides(_aligned, _not_aligned),
    "rows": Strides(_rows, _not_rows),
    "matrix": Strides(_by_rows_or_columns),
}
"""The values of ``Op.strides``: ``any`` (gaps, any order of dims, stride 0), ``distinct`` (no two elements in one
place, for what is written), ``dense`` (contiguous, at any offset), ``aligned`` (contiguous, from the start of the
buffer, which is aligned for any vector), ``rows`` (contiguous rows at any distance), ``matrix`` (rows or columns)."""
