"""The properties of an emulated GPU, in the layout of HIP's struct and attributes."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.compilers.targets import Target
from parity.hip.library import DEVICE_NAME
from parity.platform.files import read_rows

_PROPERTIES_BYTES, _OLD_PROPERTIES_BYTES = 1472, 792


@dataclass(frozen=True)
class _Property:
    """A row of ``properties.csv``: a field of ``hipDeviceProp_t`` that is set.

    Attributes:
        name: The property.
        offset: The place of the field in HIP 6 and 7 (``hipDeviceProp_tR0600``).
        old_offset: The place in older versions, if they have the field.
        format: The type of the field, for the struct module.
        attributes: The values of ``hipDeviceAttribute_t`` for the elements of the property.
        value: The elements, if all GPUs have the same.
    """

    name: str
    offset: int
    old_offset: int | None
    format: str
    attributes: tuple[str, ...]
    value: tuple[str, ...]


_PROPERTIES = read_rows(Path(__file__).with_suffix(".csv"), _Property)
ATTRIBUTES = {int(value): (row.name, i) for row in _PROPERTIES for i, value in enumerate(row.attributes)}
"""The property, and the index of its element, by the supported values of ``hipDeviceAttribute_t``."""


def properties(target: Target, number: int, memory: int) -> dict[str, Any]:
    """Return the properties of a GPU by name."""
    limits = target.limits
    return {
        **{row.name: tuple(map(int, row.value)) for row in _PROPERTIES},
        "name": f"{DEVICE_NAME} ({target})".encode(),
        "architecture": target.name.encode(),
        "total_memory": memory,
        "shared_bytes": target.lds_bytes,
        "wavefront": target.wavefront,
        "major": target.generation,
        "minor": target.isa // 100 % 10,
        "bus": number + 1,
        "threads_per_processor": limits.simds * limits.waves * target.wavefront if limits else 0,
    }


def as_struct(values: Mapping[str, Any], *, old: bool) -> bytes:
    """Return the struct ``hipDeviceProp_t``, in the layout from before HIP 6 if ``old``."""
    content = bytearray(_OLD_PROPERTIES_BYTES if old else _PROPERTIES_BYTES)
    for row in _PROPERTIES:
        value = values[row.name]
        at = row.old_offset if old else row.offset
        if at is not None:
            struct.pack_into(f"<{row.format}", content, at, *(value if isinstance(value, tuple) else (value,)))
    return bytes(content)
