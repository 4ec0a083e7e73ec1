"""Static properties of compiled kernels, per target: registers, occupancy, basic blocks, unreached code."""
