"""Implements ``parity.pytest_plugin``, which imports this package only if an option or a fixture needs it."""

from parity.testing.checking import ParityCheck
from parity.testing.failure import ParityFailure

__all__ = ["ParityCheck", "ParityFailure"]
