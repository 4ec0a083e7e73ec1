"""The process that emulates the GPUs of one program. It answers the requests of ``amdhip64.c``."""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys

from parity.compilers.targets import DEFAULT_TARGETS
from parity.errors import ParityError
from parity.hip.faults import PlantedFault
from parity.hip.runtime import Runtime
from parity.platform.sockets import receive

MEMORY = 4 << 30
"""Default size of device memory in bytes."""

# struct Request and struct Reply of amdhip64.c.
_REQUEST = struct.Struct("<48s24sq12QQ")
_REPLY = struct.Struct("<qQQ")


def main(number: int) -> None:
    """Serve requests on the socket with this file descriptor until the program ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the program, which then closes the socket
    os.dup2(2, 1)  # stdout belongs to the program
    with socket.socket(fileno=number) as connection:
        try:
            _serve(connection, _runtime())
        except ConnectionError:  # the program ended during a request
            return
        except ParityError as error:
            print(f"parity: {error}", file=sys.stderr)
            sys.exit(1)


def _runtime() -> Runtime:
    """Create the runtime with the devices and faults from the environment variables."""
    names = [name for name in os.environ.get("PARITY_HIP_TARGETS", "").split(",") if name] or list(DEFAULT_TARGETS)
    if visible := os.environ.get("HIP_VISIBLE_DEVICES"):
        numbers = [int(number) for number in visible.split(",") if number.strip().isdigit()]
        names = [names[number] for number in numbers if number < len(names)]
    faults = [PlantedFault.parse(text) for text in os.environ.get("PARITY_HIP_FAULTS", "").split()]
    memory = int(os.environ.get("PARITY_HIP_MEMORY") or MEMORY)
    return Runtime(names, memory, faults)


def _serve(connection: socket.socket, runtime: Runtime) -> None:
    while head := receive(connection, _REQUEST.size):
        api, action, device, *arguments, size = _REQUEST.unpack(head)
        data = receive(connection, size)
        error, value, result = runtime.perform(_text(api), _text(action), device, arguments, data)
        connection.sendall(_REPLY.pack(error, value, len(result)))
        connection.sendall(result)


def _text(field: bytes) -> str:
    return field.rstrip(b"\0").decode()
