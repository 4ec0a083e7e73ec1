"""Infers the declarations of kernels from their signatures, their PTX, and launches on the CPU.

``prober`` launches kernels and infers specifications, ``skeleton`` declares ops, and ``case_file`` renders them.
"""
