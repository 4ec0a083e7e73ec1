"""Builds every module of a suite for every target."""
