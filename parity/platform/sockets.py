"""Reads from sockets."""

from __future__ import annotations

import socket


def receive(connection: socket.socket, size: int) -> bytes:
    """Receive ``size`` bytes; returns no bytes if the other end has closed the connection."""
    parts = bytearray(size)
    view, done = memoryview(parts), 0
    while done < size:
        received = connection.recv_into(view[done:])
        if not received:
            return b""
        done += received
    return bytes(parts)
