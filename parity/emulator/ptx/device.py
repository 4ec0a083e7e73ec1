"""An emulated NVIDIA GPU."""

from __future__ import annotations

from parity.emulator.device import Device
from parity.emulator.language import Language
from parity.emulator.ptx.language import Ptx


class PtxDevice(Device):
    """An emulated NVIDIA GPU with its own memory. See ``Device`` for the arguments.

    ``LaunchOptions.seed`` also permutes the order of the diverged threads of a warp.
    """

    _language: Language = Ptx()
