"""What names of arguments say. Host code and kernels share one table."""

from __future__ import annotations

import pytest

from parity.triton_kernels.names import BYTES, INDEX, REAL


@pytest.mark.parametrize("name", ["kv_indptr", "row_start", "starts", "seq_lens", "sort_order", "num_splits", "labels"])
def test_positions_and_lengths_are_whole_numbers(name):
    assert INDEX.fullmatch(name)


@pytest.mark.parametrize("name", ["border", "start", "hidden", "block", "weight"])
def test_other_names_are_not_positions(name):
    assert not INDEX.fullmatch(name)


def test_scale_of_quantized_numbers_is_real():
    assert BYTES.fullmatch("x_quant") and not BYTES.fullmatch("quant_scale")
    assert REAL.fullmatch("quant_scale") and REAL.fullmatch("lr") and not REAL.fullmatch("lrange")
