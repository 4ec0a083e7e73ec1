"""Conversion of ``threadIdx.x`` and similar coordinates to plain numbers."""

import pytest

from parity.porting.thread_coordinates import with_plain_coordinates


def test_coordinate_in_expression_becomes_unsigned():
    plain = with_plain_coordinates("f(threadIdx.x, blockDim . y); g(my.threadIdx_x, gridDim)")
    assert plain == "f(unsigned(threadIdx.x), unsigned(blockDim . y)); g(my.threadIdx_x, gridDim)"


@pytest.mark.parametrize(
    "text",
    [
        "void launch() { dim3 blockDim; blockDim.x = 256; k<<<1, blockDim>>>(blockDim.x); }",
        "void launch(dim3 gridDim, const dim3& blockDim) { f(gridDim.x, blockDim.y); }",
        "{ const dim3 gridDim((n + 1) / 2, f(n)), blockDim(256); f(gridDim.x * blockDim.x); }",
        "auto [x, y] = f(); { auto blockDim = g(); h(blockDim.x); }",
        "attributes->blockDim.x; attributes.gridDim.y; mine::blockIdx.z",
        "blockDim.x = 3; blockDim.y += 2; blockDim.z++;",
        '// threadIdx.x\nprintf("threadIdx.x"); /* blockIdx.x */',
    ],
)
def test_coordinate_name_of_other_entity_is_unchanged(text):
    assert with_plain_coordinates(text) == text


@pytest.mark.parametrize(
    "before", ["void h() { dim3 blockDim; }", "void h(dim3 blockDim);", "void h(dim3 blockDim) { f(blockDim); }"]
)
def test_coordinate_outside_scope_of_local_name_becomes_unsigned(before):
    assert with_plain_coordinates(f"{before} f(blockDim.x)") == f"{before} f(unsigned(blockDim.x))"


def test_coordinate_in_comparison_becomes_unsigned():
    assert with_plain_coordinates("if (blockDim.x == 3)") == "if (unsigned(blockDim.x) == 3)"
