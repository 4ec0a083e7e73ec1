"""parity inside of pytest: what ``parity.pytest_plugin`` brings in when it is asked for."""

from parity.testing.checking import ParityCheck
from parity.testing.failure import ParityFailure

__all__ = ["ParityCheck", "ParityFailure"]
