"""HIP without a GPU: a libamdhip64 that runs kernels in the emulator, for any program of HIP's module API."""

from parity.hip.library import DEVICE_NAME, LIMITATIONS, environment, library

__all__ = ["DEVICE_NAME", "LIMITATIONS", "environment", "library"]
