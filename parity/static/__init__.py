"""The properties of compiled kernels that are known without running them, side by side for every target."""

from parity.static.findings import Finding, findings
from parity.static.footprint import Footprint, footprints
from parity.static.occupancy import occupancy, waves_of
from parity.static.sass import nvdisasm

__all__ = [
    "Finding",
    "Footprint",
    "findings",
    "footprints",
    "nvdisasm",
    "occupancy",
    "waves_of",
]
