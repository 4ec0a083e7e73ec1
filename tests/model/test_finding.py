"""Findings as text."""

from parity.model.finding import Finding


def test_finding_without_name_prints_place_and_advice():
    assert str(Finding("warpSize", "a.cu", 3, 9, "is 64 on gfx90a")) == "a.cu:3:9: warpSize: is 64 on gfx90a"
    assert str(Finding("", "a.cu", 3, 1, "the code is computed")) == "a.cu:3:1: the code is computed"
