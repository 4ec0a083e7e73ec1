"""The source of a Triton function describes its parameters. Triton is not needed."""

from __future__ import annotations

import pytest

from parity.inference.triton_source import choices, dtypes, likely_strides, triton_kernels

SOURCE = """
@triton.jit
def helper(x):
    return x + 1

@triton.jit
def kernel(out, x, rows_idx, packed, stride_xm, stride_xk, n, eps, n_scale, ROUND: tl.constexpr, HAS_BIAS: tl.constexpr,
           KIND: tl.constexpr, BLOCK: tl.constexpr = 64, dtype: tl.constexpr = tl.float32):
    pid = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    row = tl.load(rows_idx + pid)
    from_row = x + row * stride_xm
    value = tl.load(from_row + i * stride_xk, mask=i < n) + helper(eps)
    bits = tl.load(packed + i)
    low = bits & 15
    group = pid // n_scale
    if ROUND:
        value += low
    if KIND == "silu":
        value = value * 2
    tl.store(out + pid * n + i, value, mask=i < n)

def host(x, table, block):
    kernel[(x.shape[0],)](x, x, table, table, x.stride(0), x.stride(-1), 10, eps=1e-5, ROUND=True, BLOCK=block)
"""


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(SOURCE)
    (found,) = triton_kernels([path], [path])
    return found


def test_kernel_is_launched_function_and_not_helper(kernel):
    assert kernel.name == "kernel" and [each.name for each in kernel.arguments][-2] == "eps"


def test_pointers_are_what_loads_and_stores_begin_with(kernel):
    assert [each.name for each in kernel.parameters if each.is_pointer] == ["out", "x", "rows_idx", "packed"]


def test_elements_in_addresses_and_bit_operations_are_integers(kernel):
    found = dtypes(kernel, "f16")
    assert (found["x"], found["rows_idx"], found["packed"], found["n"], found["eps"], found["n_scale"]) == (
        "f16", "i32", "i32", "i32", "f32", "i32"
    )  # fmt: skip


ADDRESS = """
@triton.jit
def moved(out, x, first, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    begin = tl.load(first + i)
    places = x + begin[:, None] * n + i[None, :]
    weight = tl.load(out + i)
    tl.store(out + i, tl.load(places + 1) + tl.sum(tl.load(x + i), 0) + weight)
"""


def test_elements_in_stored_address_are_integers(tmp_path):
    (tmp_path / "moved.py").write_text(ADDRESS)
    (found,) = triton_kernels([tmp_path / "moved.py"], [])
    assert dtypes(found, "f16") == {"out": "f16", "x": "f16", "first": "i32", "n": "i32"}


HELPERS = """
@triton.jit
def place(table, start, i):
    return tl.load(table + start + i)

@triton.jit
def kernel(x, order, begins, locks, ranks, n):
    i = tl.arange(0, 16)
    start = tl.load(begins + tl.program_id(0))
    limit = tl.minimum(tl.load(ranks), n)
    row = x + place(order, start, i) * 4
    while tl.atomic_cas(locks, 0, 1) == 1:
        pass
    for k in range(tl.cdiv(limit, 16)):
        tl.store(row + k, 0.0)

def host(x):
    kernel[(1,)](x, x, x, x, x, 4)
"""


def test_helpers_and_atomics_show_pointers_and_integers(tmp_path):
    (tmp_path / "source.py").write_text(HELPERS)
    (found,) = triton_kernels([tmp_path / "source.py"], [tmp_path / "source.py"])
    assert [each.name for each in found.parameters if each.is_pointer] == ["x", "order", "begins", "locks", "ranks"]
    types = dtypes(found, "f16")
    assert types["x"] == "f16" and {types[name] for name in ("begins", "locks", "ranks")} == {"i32"}


def test_helpers_of_another_file_show_pointers(tmp_path):
    helper, kernel = HELPERS.partition("@triton.jit\ndef kernel")[::2]
    (tmp_path / "helpers.py").write_text(helper)
    (tmp_path / "source.py").write_text(f"from project.helpers import place\n@triton.jit\ndef kernel{kernel}")
    (found,) = triton_kernels([tmp_path / "source.py"], [*tmp_path.iterdir()])
    assert "order" in [each.name for each in found.parameters if each.is_pointer]


def test_constants_come_from_launches_comparisons_and_names(kernel):
    found = choices(kernel, "f16", flags=False, size=32)
    assert found == {"ROUND": True, "HAS_BIAS": False, "KIND": "silu", "BLOCK": 64, "dtype": "tl.float16"}


def test_constants_with_names_of_real_numbers_may_be_whole(tmp_path):
    source = "@triton.jit\ndef kernel(x, eps_exp: tl.constexpr):\n    tl.store(x, 1 << eps_exp)\n"
    (tmp_path / "source.py").write_text(source)
    (found,) = triton_kernels([tmp_path / "source.py"], [])
    assert choices(found, "f32", flags=False, size=32) == {"eps_exp": 0.5}
    assert choices(found, "f32", flags=False, size=32, wholes=True) == {"eps_exp": 32}


def test_parameters_with_methods_are_descriptors_of_host_code(tmp_path):
    body = "    block = made.load([0])\n    out.store([0], desc.load([0]) + block)\n"
    head = "@triton.jit\ndef kernel(x, desc, out):\n    made = tl.make_tensor_descriptor(x, [1], [1], [1])\n"
    (tmp_path / "source.py").write_text(head + body)
    (found,) = triton_kernels([tmp_path / "source.py"], [])
    assert found.descriptors == ("desc", "out")


def test_launch_passes_texts_of_arguments(kernel):
    (launch,) = kernel.launches
    assert launch.arguments[4:7] == ("x.stride(0)", "1", "10")


def test_strides_of_tensor_grow_towards_the_first():
    assert likely_strides(["x", "stride_xm", "stride_xk", "y_row_stride"]) == {
        "stride_xk": 1, "stride_xm": 128, "y_row_stride": 128
    }  # fmt: skip


DEQUANTIZED = """
@triton.jit
def kernel(out, base_tensor, packed, weight_scales, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    block = tl.make_block_ptr(base=base_tensor + n, shape=(n,), strides=(1,), offsets=(0,), block_shape=(BLOCK,),
                              order=(0,))
    scale = tl.load(weight_scales + i)
    value = tl.load(packed + i)
    value = (value >> 4) & 15
    value = value * scale
    tl.store(out + i, value + tl.load(block))
"""


def test_base_of_block_is_a_pointer_and_scale_of_shifted_bits_is_real(tmp_path):
    (tmp_path / "source.py").write_text(DEQUANTIZED)
    (kernel,) = triton_kernels([tmp_path / "source.py"], [])
    assert [each.name for each in kernel.parameters if each.is_pointer] == [
        "out",
        "base_tensor",
        "packed",
        "weight_scales",
    ]
    found = dtypes(kernel, "f16")
    assert found["packed"] == "i32" and found["weight_scales"] == "f16"
