"""Shared by the tests of reference values: every bit pattern of a half type, and a judge."""

import numpy as np
import pytest

from parity.compare import Verdict, compare
from parity.dtypes import DType


@pytest.fixture(autouse=True)
def _quiet():
    """Devices under test overflow and divide by zero on purpose."""
    with np.errstate(all="ignore"):
        yield


def every(kind: DType) -> np.ndarray:
    """All 65536 values of a half type."""
    return np.arange(1 << 16, dtype=np.uint16).view(kind.numpy)


def judge(expected, got, vendor="amd") -> Verdict:
    return compare(expected, np.asarray(got), vendor=vendor)
