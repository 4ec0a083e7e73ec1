"""Fixtures that the whole test suite shares."""

from __future__ import annotations

from pathlib import Path

import pytest

from parity.suite import Suite, load_suite

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def suite() -> Suite:
    """The suite of this repository."""
    return load_suite(ROOT / "kernels", ROOT / "cases")
