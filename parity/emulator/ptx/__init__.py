"""Executes PTX on the CPU: the code of CUDA kernels, with the checks and the memory of ``parity.emulator``."""

from parity.emulator.ptx.basic_blocks import control_flow
from parity.emulator.ptx.device import PtxDevice, optimized_functions

__all__ = ["PtxDevice", "control_flow", "optimized_functions"]
