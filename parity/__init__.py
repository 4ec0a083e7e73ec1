"""parity: does a HIP port compute what the CUDA kernels compute, value by value?

The Python interface for notebooks and other programs. Only the names in this module are stable::

    results = parity.Run.of("unary.*", targets=["gfx90a"]).build().execute()
    results.matrix, results.failures, results.frame()
    parity.load("parity-out").frame()

``Run`` is a selection of kernels and targets, ``Settings`` are the settings of its execution, ``find_suite`` finds the
suite of a project. ``Run.build`` compiles; ``execute`` runs the cases, ``measure`` and ``record`` take the built run.
``capture`` records the kernel launches of this process on an NVIDIA GPU. ``replay`` judges a recording, ``load`` reads
the results of ``parity run``, ``differences`` lists the changes between two results, and ``explain`` describes a case.
``Inspection`` reports the resources that kernels use on each target.
Each name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.platform.lazy_imports import lazy_getattr
from parity.platform.version import __version__

if TYPE_CHECKING:
    from parity.application.explanation import explain
    from parity.application.footprints import Inspected, Inspection
    from parity.application.measuring import Measured, measure
    from parity.application.recording import Recorded, record
    from parity.application.run import Prepared, Results, Run, Settings, replay
    from parity.application.stored_results import Stored, load
    from parity.captures.injection import capture
    from parity.report.changes import Difference, differences
    from parity.suite.loading import Suite, find_suite

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
    "__version__",
    "capture",
    "differences",
    "explain",
    "find_suite",
    "load",
    "measure",
    "record",
    "replay",
]

__getattr__ = lazy_getattr(__name__, __file__)
