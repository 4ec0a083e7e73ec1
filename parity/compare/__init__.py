"""Compares outputs with expected values: special values, error bounds, known divergences, patterns of errors."""
