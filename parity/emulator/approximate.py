"""The results that approximate instructions give in a launch (``runtime/approximate.h``).

A GPU may give any result that its manual allows, but always the same result for the same operand. So a launch has one
kind of ``ApproximateResults``, and a number, ``draw``, that chooses among the allowed results.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from enum import IntEnum

from parity.emulator.runtime_headers import constants, structure

_APPROXIMATE = constants("approximate.h")
_FUNCTIONS = ("rcp", "rsq", "sqrt", "exp", "log")
_TYPES = ("f16", "f32", "f64")
_Documented = structure("approximate.h", "Documented")
Drawing = structure("approximate.h", "Drawing")
"""How a launch draws results: ``results``, the seed, and the address of an ``error_table``."""


class ApproximateResults(IntEnum):
    """The results that approximate instructions give."""

    NEAREST = _APPROXIMATE["NEAREST"]
    GFX1100 = _APPROXIMATE["GFX1100"]
    DOCUMENTED = _APPROXIMATE["DOCUMENTED"]

    def __str__(self) -> str:
        return {
            self.NEAREST: "the nearest numbers",
            self.GFX1100: "what gfx1100 computes",
            self.DOCUMENTED: "results drawn from all that AMD's manual allows",
        }[self]


def error_table(errors: Mapping[str, tuple[float, bool]]) -> ctypes.Array[ctypes.Structure]:
    """Return the documented errors of all functions and types, for the runtime.

    Args:
        errors: by instruction, for example ``v_rcp_f32``: the largest error in ULP, and whether the result for a
            fraction of all ones is the nearest number. A missing instruction has no error.
    """
    names = sorted(_FUNCTIONS, key=lambda name: int(_APPROXIMATE[name.upper()]))
    rows = [errors.get(f"v_{name}_{kind}", (0.0, False)) for name in names for kind in _TYPES]
    return (_Documented * len(rows))(*(_Documented(*row) for row in rows))
