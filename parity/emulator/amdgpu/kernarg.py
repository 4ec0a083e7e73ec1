"""The data that a launch passes to an AMD kernel: the argument segment and the dispatch packet."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from parity.emulator.amdgpu.isa_names import names
from parity.emulator.language import LaunchShape
from parity.emulator.memory import Allocation
from parity.errors import UsageError
from parity.model.code_object import Kernel, first_difference

# Hidden arguments for features that the emulator lacks. They point to addresses without memory, so the first use is a
# fault. A kernel that calls through pointers has all of them, whether it uses them or not.
_UNSUPPORTED = names("unsupported argument")
_UNSUPPORTED_AT, _UNSUPPORTED_BYTES = 0x7D00_0000_0000, 1 << 32
_UNSUPPORTED_POINTERS = {name: _UNSUPPORTED_AT + i * _UNSUPPORTED_BYTES for i, name in enumerate(_UNSUPPORTED)}
GRID_BARRIER = _UNSUPPORTED_POINTERS["hidden_multigrid_sync_arg"]
"""The address that a barrier of the grid accesses in a launch that is not cooperative."""


def pack(kernel: Kernel, values: Sequence[Allocation | int | bytes | np.generic | None]) -> bytes:
    """Return the explicit arguments of a kernel as they are in its argument segment.

    A pointer is an ``Allocation``, an address or ``None`` (null). An argument by value is a NumPy scalar, bytes or an
    int.

    Raises:
        UsageError: an argument differs from the kernel's metadata.
    """
    raws: list[bytes] = []
    given: list[tuple[int, bool | None]] = []
    for i, value in enumerate(values):
        if isinstance(value, Allocation):
            raws.append(struct.pack("<Q", value.address))
        elif value is None:
            raws.append(bytes(8))
        elif isinstance(value, int):
            size = kernel.args[i].size if i < len(kernel.args) else 8
            raws.append((value % (1 << 8 * size)).to_bytes(size, "little"))
        else:
            raws.append(value if isinstance(value, bytes) else value.tobytes())
        pointer = isinstance(value, Allocation) or value is None
        given.append((len(raws[-1]), None if isinstance(value, int) else pointer))
    if problem := first_difference(kernel, given):
        raise UsageError(problem)
    segment = bytearray(kernel.explicit_bytes)
    for argument, raw in zip(kernel.args, raws, strict=True):
        segment[argument.offset : argument.offset + argument.size] = raw
    return bytes(segment)


def argument_segment(kernel: Kernel, args: bytes, shape: LaunchShape, mailbox: int) -> bytes:
    """Return the argument segment: the explicit and the hidden arguments at the places that the metadata states."""
    grid, block = shape.grid, shape.block
    known = _UNSUPPORTED_POINTERS | {
        **{f"hidden_block_count_{axis}": grid[i] - bool(shape.rest[i]) for i, axis in enumerate("xyz")},
        **{f"hidden_group_size_{axis}": block[i] for i, axis in enumerate("xyz")},
        **{f"hidden_remainder_{axis}": shape.rest[i] for i, axis in enumerate("xyz")},
        "hidden_grid_dims": max((i + 1 for i in range(3) if grid[i] * block[i] > 1), default=1),
        "hidden_dynamic_lds_size": shape.shared_bytes,
        "hidden_hostcall_buffer": mailbox,
    }
    segment = bytearray(args.ljust(kernel.kernarg_bytes, b"\0"))
    for argument in kernel.hidden:
        if value := known.get(argument.kind, 0):
            segment[argument.offset : argument.offset + argument.size] = value.to_bytes(argument.size, "little")
    return bytes(segment)


def dispatch_packet(kernel: Kernel, shape: LaunchShape, kernarg: int) -> bytes:
    """Return the ``hsa_kernel_dispatch_packet_t`` of a launch; its grid sizes count work-items."""
    sizes = zip(shape.grid, shape.block, shape.rest, strict=True)
    items = [blocks * threads - (threads - rest if rest else 0) for blocks, threads, rest in sizes]
    lds = kernel.lds_bytes + shape.shared_bytes
    return struct.pack("<6H5I3Q", 0, 3, *shape.block, 0, *items, kernel.scratch_bytes, lds, 0, kernarg, 0) + bytes(8)


def unsupported_feature(address: int) -> str | None:
    """Return the feature whose hidden argument points to this address, if the emulator lacks it."""
    which = (address - _UNSUPPORTED_AT) // _UNSUPPORTED_BYTES
    return [*_UNSUPPORTED.values()][which] if 0 <= which < len(_UNSUPPORTED) else None
