"""The order in which declarations of a Triton kernel are tried."""

from dataclasses import replace

from parity.inference.skeleton import Skeleton
from parity.inference.triton_inference import _OUTSIDE, _enlarged, _with_launches, _with_other

OUTSIDE = f"{_OUTSIDE} write of 4 bytes"


def scaled(name, most=9):
    """Return a declaration that becomes larger after each failure."""

    def larger(place):
        return replace(Skeleton(f"{name}{place}", name), again=lambda _: larger(place + 1) if place < most else None)

    return larger(0)


def names(one, reason):
    """Return the names of the declarations that are tried if all of them fail for a reason."""
    found = []
    while one := one.again(reason):
        found.append(one.name)
    return found


def test_other_data_are_tried_with_larger_tensors_before_the_usual_attempts():
    one = _with_other(scaled("drawn", 2), lambda single: scaled("launched"), _OUTSIDE)
    assert names(one, OUTSIDE) == ["launched0", "launched1", "launched2", "drawn1", "drawn2"]
    assert names(one, "another reason") == ["drawn1", "drawn2"]


def test_larger_tensors_are_tried_before_larger_launches():
    launches = [lambda single: scaled("a", 0), lambda single: scaled("b", 0)]
    one = _enlarged(scaled("one", 4), 3, lambda last: _with_launches(last, launches))
    assert names(one, OUTSIDE) == ["one1", "one2", "one3", "a0", "b0", "one4"]
    assert names(one, "another reason") == ["one1", "one2", "one3", "one4"]
