"""An emulated NVIDIA GPU."""

from __future__ import annotations

from parity.emulator.device import Device
from parity.emulator.language import Language
from parity.emulator.ptx.language import Ptx

__all__ = ["PtxDevice"]


class PtxDevice(Device):
    """An emulated NVIDIA GPU with its own memory. See ``Device`` for the arguments.

    The seed of a launch draws the order of threads of a warp that diverge.
    """

    _language: Language = Ptx()
