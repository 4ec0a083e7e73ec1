"""Draws values for scalar parameters."""

from __future__ import annotations

import math

from parity.data.layouts import Draw
from parity.data.streams import elements
from parity.data.values import special_values
from parity.model.dtypes import DType

USUAL = (1.0, 0.0, -1.0, 0.5, 2.0, -0.0, 3.0)

EXACT = (1.0, 2.0, -1.0, 4.0, 0.5)
"""Values with which sums and products of small whole numbers stay exact."""


def parameter(draw: Draw, kind: DType, values: tuple[float, ...] = (), *, exact: bool = False) -> float | int:
    """Draw a value: a usual value, one of ``values``, a limit, NaN or a random value; for integers a special value.

    ``exact`` restricts the draw to ``EXACT``, unless the op declares ``values``.
    """
    from hypothesis import strategies as st

    if kind.is_float and exact and not values:
        return float(EXACT[draw(st.integers(0, len(EXACT) - 1))])
    if kind.is_float:
        tiny = 2.0 ** (kind.emin - kind.precision + 1)
        largest = float(kind.max)
        usual = (*USUAL, *values, math.nan, math.inf, -math.inf, largest, -largest, tiny)
        index = draw(st.integers(0, len(usual) + 11))
        drawn = usual[index] if index < len(usual) else float(elements("normal", kind, index, 1)[0])
        return float(kind.convert(drawn))
    table = special_values(kind)
    return int(table[draw(st.integers(0, len(table) - 1))])
