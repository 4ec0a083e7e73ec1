"""What can be said of compiled kernels without running them, side by side for every target."""

from parity.static.findings import Finding, findings
from parity.static.footprint import Footprint, footprints
from parity.static.occupancy import LIMITS, Limits, limits_of, occupancy
from parity.static.sass import nvdisasm

__all__ = [
    "LIMITS",
    "Finding",
    "Footprint",
    "Limits",
    "findings",
    "footprints",
    "limits_of",
    "nvdisasm",
    "occupancy",
]
