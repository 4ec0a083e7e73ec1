"""The version of parity, and the folder it is installed in."""

from pathlib import Path

__version__ = "0.1.0"

PACKAGE = Path(__file__).parents[1]
"""The folder of the package ``parity``."""
