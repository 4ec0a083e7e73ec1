"""Performs the copies and fills of AMD's runtime, which are kernels, on the host.

A copy takes the state of each byte with it: unlike a kernel of the program, it may read bytes that nothing has written,
and change constants.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

import numpy as np

from parity.emulator.memory import READABLE, WRITABLE
from parity.hsa.memory import SharedMemory
from parity.model.code_object import Kernel

PREFIX = "__amd_rocclr_"
"""The prefix of the names of AMD's kernels."""


def performed(kernel: Kernel, args: bytes, memory: SharedMemory) -> bool:
    """Copy or fill memory as a kernel of AMD's runtime does.

    Returns False, and leaves the kernel to the emulator, if it does something else or some bytes are not allocated.
    """
    values = {each.name: args[each.offset : each.offset + each.size] for each in kernel.args}
    match kernel.name.removeprefix(PREFIX):
        case "copyBuffer" if {"src", "dst", "size"} <= values.keys():
            rows = [(_number(values["src"]), _number(values["dst"]), _number(values["size"]))]
        case "copyBufferRect" if {"src", "dst", "srcRect", "dstRect", "size"} <= values.keys():
            rows = list(_rectangle(values))
        case "fillBufferAligned" if {"buf", "pattern", "pattern_size", "alignment", "end_ptr"} <= values.keys():
            return _filled(values, memory)
        case "gwsInit":  # the emulator counts the workgroups itself
            return True
        case _:
            return False
    if not all(memory.is_allocated(at, size) for *places, size in rows for at in places):
        return False
    for row in rows:
        _copy(*row, memory)
    return True


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _rectangle(values: Mapping[str, bytes]) -> Iterator[tuple[int, int, int]]:
    """Yield source, destination and size of each row. A rectangle is its pitch, the size of a slice, and its offset."""
    source, target = (struct.unpack("<4Q", values[name]) for name in ("srcRect", "dstRect"))
    x, y, z, _ = struct.unpack("<4Q", values["size"])
    src, dst = _number(values["src"]) + source[2], _number(values["dst"]) + target[2]
    for k in range(z):
        for j in range(y):
            yield src + k * source[1] + j * source[0], dst + k * target[1] + j * target[0], x


def _copy(source: int, target: int, size: int, memory: SharedMemory) -> None:
    src, dst = memory.part(source, size), memory.part(target, size)
    memory.data[dst] = memory.data[src].copy()
    state = (memory.state[src] & READABLE) | (memory.state[dst] & WRITABLE)
    memory.state[dst] = np.where(state, state, READABLE)


def _filled(values: Mapping[str, bytes], memory: SharedMemory) -> bool:
    begin, end, pattern = (_number(values[name]) for name in ("buf", "end_ptr", "pattern"))
    unit = _number(values["pattern_size"]) * _number(values["alignment"])
    if begin >= end or not unit or not (memory.is_allocated(begin, end - begin) and memory.is_allocated(pattern, unit)):
        return False
    target = memory.part(begin, end - begin)
    memory.data[target] = np.resize(memory.data[memory.part(pattern, unit)], end - begin)
    memory.state[target] |= READABLE
    return True
