"""Assertions that an output passes or fails against an expected value."""

import numpy as np

from parity.compare.comparison import compare


def passes(expected, got, vendor="amd"):
    verdict = compare(expected, np.asarray(got), vendor=vendor)
    assert verdict.passed, verdict
    return verdict


def fails(expected, got, kind="value", vendor="amd"):
    verdict = compare(expected, np.asarray(got), vendor=vendor)
    assert not verdict.passed
    assert verdict.kind == kind, verdict
    return verdict
