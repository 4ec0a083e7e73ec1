"""Translates AMDGPU listings to C++ and executes them on the CPU."""
