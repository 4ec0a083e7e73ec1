"""Plants faults in kernels, and measures how many of them the cases catch."""
