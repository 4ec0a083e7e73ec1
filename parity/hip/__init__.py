"""Runs HIP programs without a GPU: a libamdhip64 whose module API executes kernels in the emulator."""

from parity.hip.library import DEVICE_NAME, LIMITATIONS, environment, library

__all__ = ["DEVICE_NAME", "LIMITATIONS", "environment", "library"]
