"""The properties of compiled kernels that are known without running them, side by side for every target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.footprint.occupancy import occupancy, waves_of  # now, as modules have the names of functions
from parity.footprint.remarks import Remark, remarks
from parity.platform.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from parity.footprint.basic_blocks import places_of
    from parity.footprint.constants import constants_of
    from parity.footprint.measure import Footprint, footprints
    from parity.footprint.sass import nvdisasm
    from parity.footprint.unreached_code import Gap, Kind, gaps_in, reason_of, text_at, unreached

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

__getattr__ = lazy_getattr(
    __name__,
    {
        "constants": "constants_of",
        "basic_blocks": "places_of",
        "measure": "Footprint footprints",
        "unreached_code": "Gap Kind gaps_in reason_of text_at unreached",
        "sass": "nvdisasm",
    },
)
