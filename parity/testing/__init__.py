"""The implementation of ``parity.pytest_plugin``, which imports it when an option or a fixture asks for it."""

from parity.testing.checking import ParityCheck
from parity.testing.failure import ParityFailure

__all__ = ["ParityCheck", "ParityFailure"]
