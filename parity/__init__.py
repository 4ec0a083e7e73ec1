"""parity: does a HIP port compute what the CUDA kernels compute, value by value?

The Python interface, for notebooks and other programs; what is not named here may change::

    results = parity.Run.of("unary.*", targets=["gfx90a"]).build().execute()
    results.matrix, results.failures, results.frame()
    parity.load("parity-out").frame()

``Run`` is a selection of kernels and targets, ``Settings`` are the settings of its execution, ``find_suite`` finds the
suite of a project. A built run can ``execute``, ``measure`` and ``record``; ``replay`` judges a recording, ``load``
reads the results of ``parity run`` back, ``differences`` lists the changes between two results, and ``explain``
describes a case. ``Inspection`` says what kernels take on each target. Each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parity.application import (
        Difference,
        Measured,
        Prepared,
        Recorded,
        Results,
        Run,
        Settings,
        Stored,
        differences,
        explain,
        load,
        replay,
    )
    from parity.application.static import Inspected, Inspection
    from parity.suite import Suite, find_suite

__all__ = [
    "Difference",
    "Inspected",
    "Inspection",
    "Measured",
    "Prepared",
    "Recorded",
    "Results",
    "Run",
    "Settings",
    "Stored",
    "Suite",
    "differences",
    "explain",
    "find_suite",
    "load",
    "replay",
]

__version__ = "0.1.0"

_PLACES = {
    **dict.fromkeys(__all__, "parity.application"),
    **dict.fromkeys(("Inspected", "Inspection"), "parity.application.static"),
    **dict.fromkeys(("Suite", "find_suite"), "parity.suite"),
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
