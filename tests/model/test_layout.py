"""Layouts: text form, views, contiguity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.data.layouts import STRIDES, shape
from parity.errors import UsageError
from parity.model.layout import Layout, contiguous


@st.composite
def layouts(draw):
    return STRIDES["any"].draw(draw, shape(draw))


@given(layouts())
def test_layout_text_round_trips(layout):
    assert Layout.parse(str(layout)) == layout


@given(layouts())
def test_view_matches_indices(layout):
    buffer = np.arange(layout.span)
    assert np.array_equal(layout.view(buffer), layout.indices())
    assert layout.numel == 0 or layout.indices().max() == layout.span - 1


@given(st.composite(lambda draw: STRIDES["distinct"].draw(draw, shape(draw)))())
def test_injective_layout_has_distinct_indices(layout):
    assert layout.is_injective
    assert len(np.unique(layout.indices())) == layout.numel


@pytest.mark.parametrize(
    ("text", "shape", "strides", "offset"),
    [
        ("()", (), (), 0),
        ("7", (7,), (1,), 0),
        ("4x5", (4, 5), (5, 1), 0),
        ("4x5:1,4+3", (4, 5), (1, 4), 3),
        ("0x3", (0, 3), (3, 1), 0),
        ("2x3:0,1", (2, 3), (0, 1), 0),
    ],
)
def test_parse_text_returns_layout(text, shape, strides, offset):
    assert Layout.parse(text) == Layout(shape, strides, offset)
    assert str(Layout(shape, strides, offset)) == text


@pytest.mark.parametrize("text", ["", "x", "4x", "4:", "4:1+", "-1", "4x5:1", "4 x 5", "4+a"])
def test_parse_malformed_layout_raises(text):
    with pytest.raises(UsageError, match="layout"):
        Layout.parse(text)


def test_is_contiguous_ignores_irrelevant_strides():
    assert contiguous(()).is_contiguous
    assert Layout((1, 4), (99, 1)).is_contiguous
    assert Layout((3, 1, 4), (4, 0, 1)).is_contiguous
    assert contiguous((0, 2, 0)).is_contiguous
    assert Layout((0, 3), (7, 1)).is_contiguous
    assert not Layout((3, 4), (1, 3)).is_contiguous
    assert not Layout((3, 4), (0, 1)).is_contiguous
    assert not Layout((4,), (2,)).is_contiguous


@pytest.mark.parametrize("text", ["3x4", "3x4:1,3", "2x3x4:1,8,2+5", "2x1x3:1,1,2", "7"])
def test_coordinates_of_positions_find_the_elements_of_a_dense_layout(text):
    layout = Layout.parse(text)
    positions = np.arange(layout.offset, layout.span)
    assert np.array_equal(layout.indices()[layout.coordinates(positions)], positions)
