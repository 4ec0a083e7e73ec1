"""``threadIdx.x`` as a number, and what only looks like it."""

import pytest

from parity.porting.thread_coordinates import with_plain_coordinates


def test_coordinates_are_numbers_wherever_a_template_looks_at_them():
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
def test_other_things_of_these_names_are_left_alone(text):
    assert with_plain_coordinates(text) == text


@pytest.mark.parametrize(
    "before", ["void h() { dim3 blockDim; }", "void h(dim3 blockDim);", "void h(dim3 blockDim) { f(blockDim); }"]
)
def test_a_name_is_the_programs_own_only_in_its_scope(before):
    assert with_plain_coordinates(f"{before} f(blockDim.x)") == f"{before} f(unsigned(blockDim.x))"


def test_what_is_compared_is_not_assigned():
    assert with_plain_coordinates("if (blockDim.x == 3)") == "if (unsigned(blockDim.x) == 3)"
