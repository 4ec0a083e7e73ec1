"""Shrinking of cases without tensors."""

from types import SimpleNamespace

from parity.engine.shrinking import _single_elements


def test_case_without_tensors_has_no_single_elements():
    checked = SimpleNamespace(case=SimpleNamespace(layouts={}), verdict=SimpleNamespace(first=None))
    assert list(_single_elements(checked)) == []
