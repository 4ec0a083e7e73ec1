"""The buffer through which kernels send requests to the host, such as printed text.

``runtime/requests.cpp`` handles the requests. The layout is the one that ROCm's device libraries expect (ockl:
hostcall_impl.cl).
"""

from __future__ import annotations

import struct

from parity.emulator.runtime_headers import constants
from parity.model.code_object import Kernel

ARGUMENT = "hidden_hostcall_buffer"
"""The hidden argument that holds the address of the buffer."""
SIZE: int = constants("requests.h")["MAILBOX"]
"""Bytes of the buffer."""
_EVENT, _SIGNAL, _HEADERS, _PAYLOADS = 64, 128, 256, 512
"""Offsets in the buffer, which the host chooses."""


def prepared(at: int) -> bytes:
    """Return the content of the buffer at an address, as the HSA runtime prepares it."""
    content = bytearray(SIZE)
    struct.pack_into("<6Q", content, 0, at + _HEADERS, at + _PAYLOADS, at + _SIGNAL, 1, 0, 0)
    struct.pack_into("<QqQI", content, _SIGNAL, 1, 0, at + _EVENT, 1)  # amd_signal_t
    return bytes(content)


def with_own(kernel: Kernel, args: bytes, at: int) -> bytes:
    """Return arguments that a runtime filled in, with the address of the device's own buffer; 0 keeps the runtime's."""
    for hidden in kernel.hidden:
        if at and hidden.kind == ARGUMENT:
            args = args[: hidden.offset] + at.to_bytes(8, "little") + args[hidden.offset + 8 :]
    return args
