"""Runs whole ROCm programs without a GPU: an HSA runtime for AMD's HIP runtime, which executes in the emulator."""
