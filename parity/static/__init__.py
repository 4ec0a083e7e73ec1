"""The properties of compiled kernels that are known without running them, side by side for every target."""

from parity.static.footprint import Footprint, footprints
from parity.static.occupancy import occupancy, waves_of
from parity.static.remarks import Remark, remarks
from parity.static.sass import nvdisasm

__all__ = [
    "Footprint",
    "Remark",
    "footprints",
    "nvdisasm",
    "occupancy",
    "remarks",
    "waves_of",
]
