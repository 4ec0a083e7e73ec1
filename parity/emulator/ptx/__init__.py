"""Executes PTX, the code of CUDA kernels, on the CPU with the memory and the checks of ``parity.emulator``."""
