"""Runs HIP programs without a GPU: a libamdhip64 whose module API executes kernels in the emulator."""
