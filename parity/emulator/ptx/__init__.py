"""Executes PTX on the CPU: the code of CUDA kernels, with the checks and the memory of ``parity.emulator``."""

from parity.emulator.ptx.blocks import flow
from parity.emulator.ptx.device import PtxDevice
from parity.emulator.ptx.language import functions_of

__all__ = ["PtxDevice", "flow", "functions_of"]
