"""The properties of an emulated GPU, in the layout of HIP's struct and attributes."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from parity.compilers.targets import Target
from parity.hip.library import DEVICE_NAME

CLOCK_KHZ = 1_000_000

# The fields of hipDeviceProp_t that are set: offset in HIP 6 and 7 (hipDeviceProp_tR0600), offset in older versions,
# and format (struct module).
_PROPERTIES_BYTES, _OLD_PROPERTIES_BYTES = 1472, 792
_PROPERTIES: dict[str, tuple[int, int | None, str]] = {
    "name": (0, 0, "256s"),
    "total_memory": (288, 256, "Q"),
    "shared_bytes": (296, 264, "Q"),
    "registers": (304, 272, "i"),
    "wavefront": (308, 276, "i"),
    "threads": (320, 280, "i"),
    "block": (324, 284, "3i"),
    "grid": (336, 296, "3i"),
    "clock_khz": (348, 308, "i"),
    "major": (360, 328, "i"),
    "minor": (364, 332, "i"),
    "processors": (388, 336, "i"),
    "bus": (584, 368, "i"),
    "unified_addresses": (604, None, "i"),
    "l2_bytes": (616, 340, "i"),
    "threads_per_processor": (624, 344, "i"),
    "architecture": (1160, 396, "256s"),
}

# The supported values of hipDeviceAttribute_t.
ATTRIBUTES = {
    5: "clock_khz",
    19: "l2_bytes",
    23: "major",
    56: "threads",
    57: "threads_per_processor",
    61: "minor",
    63: "processors",
    67: "bus",
    71: "registers",
    74: "shared_bytes",
    87: "wavefront",
    **{26 + i: f"block {i}" for i in range(3)},
    **{29 + i: f"grid {i}" for i in range(3)},
}


def properties(target: Target, number: int, memory: int) -> dict[str, Any]:
    """Return the properties of a GPU by the names in ``_PROPERTIES``."""
    limits = target.limits
    return {
        "name": f"{DEVICE_NAME} ({target})".encode(),
        "architecture": target.name.encode(),
        "total_memory": memory,
        "shared_bytes": target.lds_bytes,
        "registers": 65536,
        "wavefront": target.wavefront,
        "threads": 1024,
        "block": (1024, 1024, 1024),
        "grid": (2**31 - 1, 2**16 - 1, 2**16 - 1),
        "clock_khz": CLOCK_KHZ,
        "major": target.generation,
        "minor": target.isa // 100 % 10,
        "processors": 1,
        "bus": number + 1,
        "unified_addresses": 1,
        "l2_bytes": 1 << 20,
        "threads_per_processor": limits.simds * limits.waves * target.wavefront if limits else 0,
    }


def as_struct(values: Mapping[str, Any], *, old: bool) -> bytes:
    """Return the struct ``hipDeviceProp_t``, in the layout from before HIP 6 if ``old``."""
    content = bytearray(_OLD_PROPERTIES_BYTES if old else _PROPERTIES_BYTES)
    for name, (offset, old_offset, format) in _PROPERTIES.items():
        value = values[name]
        at = old_offset if old else offset
        if at is not None:
            struct.pack_into(f"<{format}", content, at, *(value if isinstance(value, tuple) else (value,)))
    return bytes(content)
