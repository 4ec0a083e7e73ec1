"""Turns a CUDA source as shipped into a source that a compiler accepts."""
