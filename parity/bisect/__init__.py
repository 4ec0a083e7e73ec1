"""Bisects a failure or difference: rebuilds a kernel with one compiler option changed at a time."""
