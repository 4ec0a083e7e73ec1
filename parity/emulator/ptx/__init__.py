"""Executes PTX, the code of CUDA kernels, on the CPU with the memory and the checks of ``parity.emulator``."""

from parity.emulator.ptx.basic_blocks import control_flow
from parity.emulator.ptx.device import PtxDevice
from parity.emulator.ptx.pipeline import optimized_functions

__all__ = ["PtxDevice", "control_flow", "optimized_functions"]
