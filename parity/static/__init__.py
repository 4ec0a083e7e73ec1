"""The properties of compiled kernels that are known without running them, side by side for every target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.later import later
from parity.static.occupancy import occupancy, waves_of  # now, as modules have the names of functions
from parity.static.remarks import Remark, remarks

if TYPE_CHECKING:
    from parity.static.constants import constants_of
    from parity.static.flow import places_of
    from parity.static.footprint import Footprint, footprints
    from parity.static.gaps import Gap, Kind, gaps_in, reason_of, text_at, unreached
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

__getattr__ = later(
    __name__,
    {
        "constants": "constants_of",
        "flow": "places_of",
        "footprint": "Footprint footprints",
        "gaps": "Gap Kind gaps_in reason_of text_at unreached",
        "sass": "nvdisasm",
    },
)
