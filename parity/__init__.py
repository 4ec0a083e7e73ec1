"""parity: does a HIP port compute what the CUDA kernels compute, value by value?"""

__version__ = "0.1.0"
