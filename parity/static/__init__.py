"""The properties of compiled kernels that are known without running them, side by side for every target."""

from parity.static.constants import constants_of
from parity.static.flow import places_of
from parity.static.footprint import Footprint, footprints
from parity.static.gaps import Gap, Kind, gaps_in, reason_of, text_at, unreached
from parity.static.occupancy import occupancy, waves_of
from parity.static.remarks import Remark, remarks
from parity.static.sass import nvdisasm

__all__ = [
    "Footprint",
    "Gap",
    "Kind",
    "Remark",
    "constants_of",
    "footprints",
    "gaps_in",
    "nvdisasm",
    "occupancy",
    "places_of",
    "reason_of",
    "remarks",
    "text_at",
    "unreached",
    "waves_of",
]
