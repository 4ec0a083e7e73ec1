"""Shared fixtures for the tests of reference values."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _quiet():
    """Ignore NumPy's warnings: the simulated devices overflow and divide by zero on purpose."""
    with np.errstate(all="ignore"):
        yield
