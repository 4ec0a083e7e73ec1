"""Draws shapes and layouts.

Options are ordered from simple to complex, because Hypothesis shrinks towards the first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from parity.model.layout import Layout, contiguous

if TYPE_CHECKING:  # importing Hypothesis takes 0.1 s, and cached cases do not need it
    from hypothesis import strategies as st

T = TypeVar("T")
Draw = Callable[["st.SearchStrategy[Any]"], Any]

LINES = (
    *(1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257),
    *(1023, 1024, 1025, 2047, 2048, 2049, 3073, 4095, 4097),
)
"""Lengths around the sizes of a wavefront, two wavefronts, usual blocks, and one to four blocks of 1024."""

PLANES = (
    *((2, 2), (3, 5), (33, 2), (65, 3), (3, 129), (257, 3), (2, 513), (1, 1025), (1023, 2)),
    *((16, 32), (33, 31), (17, 65), (64, 15), (5, 9, 33), (3, 2, 5, 31)),
)
"""Shapes with one large extent, and with several."""

LAUNCHES = (None, None, None, None, (1, 32), (1, 64), (2, 33), (3, 64), (1, 1), (5, 1024), (4096, 1))
"""Launches to draw. Most keep the op's rule (None). The rest have too few threads, which makes grid-stride loops
iterate, too many threads, or so many blocks that some may stay idle.
"""


@dataclass(frozen=True)
class _Options:
    """The options of a choice. Options with the same text are the same."""

    text: str
    options: Sequence[Any] = field(compare=False)


@functools.lru_cache(maxsize=4096)  # Hypothesis prepares a strategy when it is first drawn from
def _choice(among: _Options) -> st.SearchStrategy[Any]:
    from hypothesis import strategies as st

    return st.sampled_from(among.options)


def pick(draw: Draw, options: Sequence[T]) -> T:
    """Draw one of the options. Shrinking leads to the first."""
    choice: T = draw(_choice(_Options(repr(options), options)))
    return choice


def shape(draw: Draw) -> tuple[int, ...]:
    """Draw a shape: rank 0 to 5, size-1 and empty dims, and lengths around the sizes of wavefronts and blocks."""
    kind = pick(draw, ("tiny", "small", "small", "deep", "line", "line", "plane", "plane", "scalar", "empty"))
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
    """Draw a layout of one of the kinds: contiguous, transposed, sliced, broadcast, or ``any`` combination."""
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


def _dense(draw: Draw, shape: tuple[int, ...]) -> Layout:
    return contiguous(shape, pick(draw, (0, 0, 1, 3)))


def _not_dense(layout: Layout) -> str:
    return "" if layout.is_contiguous else "it must be contiguous, because the kernel does not get its strides"


def _not_aligned(layout: Layout) -> str:
    return _not_dense(layout) or ("it must start at the start of its buffer, for vectors" if layout.offset else "")


def _rows(draw: Draw, shape: tuple[int, ...]) -> Layout:
    return in_rows(shape, shape[-1] + pick(draw, (0, 0, 1, 7)), pick(draw, (0, 1, 3)))


def in_rows(shape: tuple[int, ...], distance: int, offset: int = 0) -> Layout:
    """Return a layout of contiguous rows (along the last dim), whose starts are ``distance`` elements apart."""
    return Layout(shape, contiguous((*shape[:-1], distance)).strides, offset)


def _not_rows(layout: Layout) -> str:
    if len(layout.shape) < 2:
        return "it must have rows, so at least two dims"
    if not layout.numel:
        return ""
    if layout != in_rows(layout.shape, layout.strides[-2], layout.offset) or layout.strides[-2] < layout.shape[-1]:
        return "it must consist of contiguous rows at equal distance that do not overlap, such as 4x5:7,1"
    return ""


def _by_rows_or_columns(draw: Draw, shape: tuple[int, ...]) -> Layout:
    by_columns, gap, offset = pick(draw, (False, True)), pick(draw, (0, 0, 1, 7)), pick(draw, (0, 0, 1, 8))
    return Layout(shape, (1, shape[0] + gap) if by_columns else (shape[1] + gap, 1), offset)


@dataclass(frozen=True)
class Strides:
    """The layouts that a kernel accepts for a tensor.

    ``draw`` draws a layout of a shape. ``complaint`` says why the kernel does not accept a layout, or returns an empty
    string.
    """

    draw: Callable[[Draw, tuple[int, ...]], Layout]
    complaint: Callable[[Layout], str] = lambda layout: ""


STRIDES: dict[str, Strides] = {
    "any": Strides(partial(layout, kinds=("contiguous", "contiguous", "transposed", "sliced", "broadcast", "any"))),
    "distinct": Strides(partial(layout, kinds=("contiguous", "transposed", "sliced"))),
    "dense": Strides(_dense, _not_dense),
    "aligned": Strides(lambda draw, shape: contiguous(shape), _not_aligned),
    "rows": Strides(_rows, _not_rows),
    "matrix": Strides(_by_rows_or_columns),
}
"""Names for ``Op.strides``.

- ``any``: gaps, any order of dims, and stride 0.
- ``distinct``: no two elements at the same position, for tensors that are written.
- ``dense``: contiguous, at any offset.
- ``aligned``: contiguous from the start of the buffer, which is aligned for any vector type.
- ``rows``: contiguous rows at any distance.
- ``matrix``: contiguous rows or columns at any distance.
"""
