"""Captures: the kernel launches of a CUDA program as a file, and as the cases of a suite."""
