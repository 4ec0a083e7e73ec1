"""Implements ``parity.pytest_plugin``, which imports this package only if an option or a fixture needs it."""
