"""The process that executes the kernels of one program. It serves the requests of ``runtime/server.c``."""

from __future__ import annotations

import gc
import os
import signal
import socket
import struct
from enum import IntEnum
from pathlib import Path

from parity.hsa.memory import SharedMemory
from parity.platform.sockets import receive
from parity.platform.subprocesses import processors

_REQUEST = struct.Struct("<Q12QQ")
_REPLY = struct.Struct("<qQQ")


class Action(IntEnum):
    """The requests, as ``enum Action`` of ``runtime/hsa.h`` numbers them."""

    ALLOCATE = 1
    FREE = 2
    MAP = 3
    LOAD = 4
    UNLOAD = 5
    VARIABLE = 6
    LAUNCH = 7
    FINISH = 8


_ANSWERED = (Action.LOAD, Action.VARIABLE, Action.LAUNCH, Action.FINISH)


def main(connection: int, data: int, state: int) -> None:
    """Serve requests on a socket until the program ends; the other files hold the device's memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the program, which then closes the socket
    memory = SharedMemory(data, state)
    with socket.socket(fileno=connection) as link:
        try:
            _serve(link, memory)
        except ConnectionError:  # the program ended during a request
            return


def _serve(link: socket.socket, memory: SharedMemory) -> None:
    from parity.hsa.executor import Executor  # after the first allocations, because it takes most of the time

    names = os.environ["PARITY_HSA_TARGETS"].split(",")
    report = os.environ.get("PARITY_HSA_REPORT")
    checks = os.environ.get("PARITY_HSA_CHECK", "all")
    cores = int(os.environ.get("PARITY_HSA_JOBS") or processors())
    executor = Executor(memory, names, checks, cores, Path(report) if report else None)
    gc.freeze()  # server.c disables the collector; imported objects are kept anyway
    gc.enable()
    while head := receive(link, _REQUEST.size):
        number, *values, size = _REQUEST.unpack(head)
        action = Action(number)
        status, value, result = executor.perform(action.name.lower(), values, receive(link, size) if size else b"")
        if action in _ANSWERED:
            link.sendall(_REPLY.pack(status, value, len(result)) + result)
