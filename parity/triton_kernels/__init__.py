"""Compiles Triton functions for AMD and NVIDIA targets without a GPU. Triton itself runs in a child process only."""
