"""Shapes and layouts. Every function draws one dict of layouts, one per tensor, that fit together.

Choices are ordered from simple to involved, because Hypothesis shrinks towards the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from parity.layout import Layout, contiguous

__all__ = ["LAUNCHES", "Draw", "aligned", "broadcasting", "dense", "destination", "line", "rows"]

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[Any]], Any]

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


def broadcasting(draw: Draw, names: Sequence[str]) -> dict[str, Layout]:
    """One shape for all tensors, each with a layout of its own, stride-0 dims included."""
    common = shape(draw)
    kinds = ("contiguous", "contiguous", "transposed", "sliced", "broadcast", "any")
    return {name: layout(draw, common, kinds) for name in names}


def destination(draw: Draw, names: Sequence[str]) -> dict[str, Layout]:
    """One shape for all tensors; layouts in which no two elements share a place, so each may be written."""
    common = shape(draw)
    return {name: layout(draw, common, ("contiguous", "transposed", "sliced")) for name in names}


def dense(draw: Draw, names: Sequence[str]) -> dict[str, Layout]:
    """One shape for all tensors, each contiguous, at any offset."""
    common = shape(draw)
    return {name: contiguous(common, pick(draw, (0, 0, 1, 3))) for name in names}


def aligned(draw: Draw, names: Sequence[str]) -> dict[str, Layout]:
    """One shape for all tensors, each contiguous from the start of its buffer, which is aligned for any vector."""
    common = shape(draw)
    return {name: contiguous(common) for name in names}


def line(draw: Draw, names: Sequence[str]) -> dict[str, Layout]:
    """One-dimensional contiguous tensors of one length, at any offset."""
    size = pick(draw, (*LINES, 0))
    return {name: contiguous((size,), pick(draw, (0, 1, 3))) for name in names}


def rows(draw: Draw, names: Sequence[str]) -> dict[str, Layout]:
    """Matrices of one shape whose rows are contiguous and lie at a distance of their own."""
    size = pick(draw, (*PLANES, (1, 1), (1, 5), (4, 1), (0, 3), (3, 0)))
    return {name: Layout(size, (size[1] + pick(draw, (0, 1, 7)), 1), pick(draw, (0, 1, 3))) for name in names}
