"""Hypothesis strategies for shapes, layouts and launches, and deterministic data streams."""
