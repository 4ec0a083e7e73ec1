"""Marks for parameters of tests."""

import pytest
from _pytest.mark import ParameterSet


def thorough(*values: object) -> ParameterSet:
    """Return parameters that only ``--thorough`` runs."""
    return pytest.param(*values, marks=pytest.mark.thorough)
