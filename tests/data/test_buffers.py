"""Buffers that are too large to hold."""

import numpy as np
import pytest

from parity.data.buffers import SPARSE_TILE, Memory, RepeatedArray
from parity.model.case import Tensor
from parity.model.dtypes import dtype
from parity.model.layout import Layout


@pytest.mark.parametrize(
    "index", [(), (np.array([4, 0]),), (slice(None), np.array([2])), tuple(np.array([[4, 0, 1], [0, 2, 2], [3, 1, 0]]))]
)
@pytest.mark.parametrize("text", ["5x3x4", "5x3x4:1,4,1", "5x3x4:13,4,1+2"])
def test_part_of_repeated_array_equals_part_of_whole_array(text, index):
    layout, tile = Layout.parse(text), np.arange(7)
    whole = layout.view(np.resize(tile, layout.span))
    found = RepeatedArray(tile, layout)[index]
    assert found.shape == whole[index].shape and np.array_equal(found, whole[index])


@pytest.mark.parametrize(("count", "sparse"), [(SPARSE_TILE, 0), (2**33, 2**33)])
def test_buffer_of_sparse_case_holds_the_values_that_repeat(count, sparse):
    buffer = Memory("x", dtype("f32"), Tensor(Layout.parse(str(count)), "normal", 0), sparse=True).buffer()
    assert (len(buffer.data), buffer.sparse) == (SPARSE_TILE, sparse)
