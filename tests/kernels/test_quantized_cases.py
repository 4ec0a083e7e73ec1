"""Cases of the quantized ops: they call every kernel as the original host code does, and are small and varied."""

import math

import pytest
from entry_table import entries, passed_as

from parity.data.sampling import sample
from parity.errors import UsageError
from parity.model.launch import Pointer
from parity.reference import Limits
from parity.suite.loading import find_suite

SUITE = find_suite()
OPS = [op for op in SUITE.ops.values() if op.module == "quantized"]
PRODUCTS = [op for op in OPS if "w" in op.inputs]
OF_BLOCKS = [op for op in PRODUCTS if op.writes and op.inputs["y"] == "q8_1"]
by_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
by_parameters = pytest.mark.parametrize


def first(op):
    return op.types[0].split(",")


def shape_of(op, case):
    return op.view(case).shape


def multiply_adds(op, case):
    return op.work(case).operations // 2


def test_quantized_ops_cover_every_kernel_of_table():
    kernels = [entry.kernel for op in OPS for entry in op.entries()]
    assert len(kernels) == 142
    assert sorted(kernels) == sorted(entries()["quantized"])


@by_op
def test_launch_arguments_match_types_of_table(op):
    for entry in op.entries():
        case = op.named_cases(entry.dtypes)[0][1]
        launch, wanted = op.call(case).launch, entries()["quantized"][entry.kernel]
        assert launch.kernel == entry.kernel
        assert len(launch.args) == len(wanted)
        for argument, c_type in zip(launch.args, wanted, strict=True):
            assert isinstance(argument, Pointer) == c_type.endswith("*")
            if not isinstance(argument, Pointer):
                assert len(argument.bytes) == passed_as(c_type).size


@by_op
def test_expected_value_of_case_has_shape_and_dtype_of_output(op):
    dtypes = first(op)
    drawn = sample(op.cases(dtypes), 3, 12)
    assert len(drawn) == 12
    for case in (*drawn, *(case for _, case in (*op.named_cases(dtypes), *op.bench_cases(dtypes, small=True)))):
        assert op.parse(str(case)) == case
        call = op.call(case)
        expected = call.expected()
        assert expected.value.shape == shape_of(op, case) == call.layout.shape
        assert expected.value.dtype == call.buffers["out"].dtype.numpy
        if expected.bounds:
            bounds = expected.bounds(Limits("amd"))
            assert bounds.above.shape == expected.value.shape
            assert (bounds.above >= 0).all()


@by_op
def test_drawn_cases_are_small_and_varied(op):
    cases = sample(op.cases(first(op)), 4, 80)
    assert max(multiply_adds(op, case) for case in cases) <= 1.3e6
    assert len({shape_of(op, case) for case in cases}) >= 8
    assert {tensor.layout.offset for case in cases for name, tensor in case.tensors} >= {0, 1, 3}


@pytest.mark.parametrize("op", PRODUCTS, ids=lambda op: op.name)
def test_named_cases_of_small_integers_allow_no_error(op):
    for dtypes in (types.split(",") for types in op.types):
        probes = [
            case for _, case in op.named_cases(dtypes) if case.tensor("w").data == case.tensor("y").data == "small"
        ]
        assert len(probes) >= 3
        for case in probes:
            assert not op.call(case).expected().bounds(Limits("amd")).above.any(), case


@pytest.mark.parametrize("op", OF_BLOCKS, ids=lambda op: op.name)
def test_drawn_products_include_padding_and_unused_weights(op):
    cases = [case.layouts for case in sample(op.cases(first(op)), 5, 120)]
    assert any(each["w"].shape[0] > each["out"].shape[1] for each in cases)
    assert any(each["out"].strides[0] > each["out"].shape[1] for each in cases)
    padding = [(each["y"].shape[1], each["y"].strides[0]) for each in cases]
    assert any(length < distance for length, distance in padding)
    assert any(length == distance for length, distance in padding)
    assert all(distance % 16 == 0 for _, distance in padding)
    assert any(each["out"].shape[1] % 2 for each in cases)


def launch_of(text):
    case = SUITE.parse(f"quantized.{text}")
    launch = SUITE.op(case.op).call(case).launch
    return launch.grid, launch.block, [a.value for a in launch.args if not isinstance(a, Pointer)]


@by_parameters(
    ("text", "grid", "block", "values"),
    [
        ("dequantize[q4_1,f32](x=9~normal@0 out=288)", (2, 1, 1), (32, 1, 1), [9]),
        ("dequantize_q5[q5_1,f16](x=17~normal@0 out=544)", (2, 1, 1), (256, 1, 1), [544]),
        ("dequantize_k[q6_K,f32](x=3~normal@0 out=768)", (3, 1, 1), (64, 1, 1), []),
        ("dequantize_k_by_32[q8_K,f32](x=3~normal@0 out=768)", (3, 1, 1), (32, 1, 1), []),
        ("get_rows[q5_0](table=3x17~normal@0 ids=4~ramp@0 out=4x544)", (4, 2, 1), (256, 1, 1), [544, 17 * 22]),
        ("get_rows_of_floats[bf16](table=3x257~normal@0 ids=4~ramp@0 out=4x257)", (4, 2, 1), (256, 1, 1), [257, 514]),
        ("get_rows_k[q3_K](table=3x2~normal@0 ids=4~ramp@0 out=4x512)", (4, 2, 1), (64, 1, 1), [512, 220]),
        ("get_rows_k_by_32[q4_K](table=3x2~normal@0 ids=4~ramp@0 out=4x512)", (4, 2, 1), (32, 1, 1), [512, 288]),
        ("mul_vec[q8_0](w=4x2~small@0 y=64~small@0 out=3)", (3, 1, 1), (32, 1, 1), [64, 3]),
        ("mul_vec_q5_k[q5_K](w=4x2~small@0 y=512~small@0 out=3)", (3, 1, 1), (32, 1, 1), [512]),
        ("mul_mat_vec_1[q4_0](w=5x3~small@0 y=1x3:16,1~small@0 out=1x5)", (5, 1, 1), (32, 4, 1), [96, 5, 512, 5]),
        (
            "mul_mat_vec_4[q4_0](w=6x3~small@0 y=4x16~small@0 out=4x5:7,1)",
            (3, 1, 1),
            (32, 4, 1),
            [96, 5, 512, 7],
        ),
        (
            "mul_mat_vec_k_5[q2_K](w=6x3~small@0 y=5x32~small@0 out=5x6)",
            (3, 1, 1),
            (32, 2, 1),
            [768, 6, 1024, 6],
        ),
        (
            "mul_mat_q4[q4_0](w=129x1~small@0 y=65x16~small@0 out=65x129)",
            (2, 2, 1),
            (32, 4, 1),
            [32, 129, 65, 512, 129],
        ),
        (
            "mul_mat_q5_q8[q8_0](w=64x1~small@0 y=129x16~small@0 out=129x64)",
            (1, 2, 1),
            (32, 4, 1),
            [32, 64, 129, 512, 64],
        ),
        (
            "mul_mat_q3_k[q3_K](w=129x1~small@0 y=128x16~small@0 out=128x129)",
            (2, 1, 1),
            (32, 4, 1),
            [256, 129, 128, 512, 129],
        ),
        (
            "mul_mat_q6_k[q6_K](w=65x1~small@0 y=65x16~small@0 out=65x65)",
            (2, 2, 1),
            (32, 4, 1),
            [256, 65, 65, 512, 65],
        ),
        ("quantize_q8_1[f32](x=3x513~normal@0)", (4, 3, 1), (256, 1, 1), [513, 1024]),
        (
            "indexed_moe_forward[q8_0](w=3x5x4~small@0 y=2x1x16~small@0 ids=2x4~ramp@0)",
            (5, 2, 4),
            (32, 4, 1),
            [5, 128, 2, 4, 512, 1],
        ),
        (
            "indexed_moe_forward_k[q4_K](w=3x5x1~small@0 y=2x4x8:64,16,1~small@0 ids=2x4~ramp@0)",
            (5, 2, 4),
            (32, 4, 1),
            [5, 256, 2, 4, 512, 4],
        ),
    ],
)
def test_launch_matches_original_host_code(text, grid, block, values):
    assert launch_of(text) == (grid, block, values)


@by_parameters(
    ("text", "reason"),
    [
        ("mul_mat_vec_2[q4_0](w=5x3~small@0 y=3x3~small@0 out=3x5)", "vectors == 2 must hold; here vectors=3"),
        (
            "mul_mat_vec_2[q4_0](w=4x3~small@0 y=2x3~small@0 out=2x5)",
            "rows <= w_rows must hold; here rows=5, w_rows=4",
        ),
        ("mul_mat_vec_2[q4_0](w=5x3~small@0 y=2x2~small@0 out=2x5)", "here k_y=2, used=3"),
        ("mul_mat_k[q4_K](w=5x3~small@0 y=2x3~small@0 out=2x5)", "here k_y=3, used=24"),
        ("mul_mat_k[q4_K](w=5x3:4,1~small@0 y=2x24~small@0 out=2x5)", "contiguous"),
        ("mul_mat_k[q4_K](w=5x3~small@0 y=2x24:1,2~small@0 out=2x5)", "contiguous rows"),
        ("mul_mat_k[q4_K](w=5x3~small@0 y=2x24:0,1~small@0 out=2x5)", "do not overlap"),
        ("mul_mat_k[q4_K](w=0x3~small@0 y=2x24~small@0 out=2x0)", "a launch needs 1 or more along every dim"),
        ("mul_vec[q4_0](w=5x3~small@0 y=96~small@0 out=5)", "here columns=96"),
        (
            "mul_vec[q4_0](w=5x2~small@0 y=32~small@0 out=5)",
            "columns is 32, where columns = 32\\*k makes it 64",
        ),
        ("quantize_q8_1[f32](x=3~small@0)", "x has 1 dims"),
        ("dequantize[q4_0,f32](x=4:2~small@0 out=128)", "contiguous"),
        ("dequantize[q4_0,f32](x=4~small@0 out=129)", "out has 129 along dim 0, where n=4 makes it 128"),
        ("get_rows[q4_0](table=4x2:3,1~small@0 ids=3~ramp@0 out=3x64)", "contiguous"),
        (
            "indexed_moe_forward[q8_0](w=3x5x4~small@0 y=2x3x16~small@0 ids=2x4~ramp@0)",
            r"inputs in \(1, topk\) must hold; here inputs=3, topk=4",
        ),
        (
            "indexed_moe_forward[q8_0](w=3x5x4~small@0 y=2x1x3~small@0 ids=2x4~ramp@0)",
            "here k_y=3, used=4",
        ),
    ],
)
def test_parse_quantized_case_with_inconsistent_arguments_raises(text, reason):
    with pytest.raises(UsageError, match=reason):
        SUITE.parse(f"quantized.{text}")


@pytest.mark.parametrize("op", PRODUCTS, ids=lambda op: op.name)
def test_bench_cases_of_products_are_large(op):
    for _, case in op.bench_cases(first(op)):
        assert multiply_adds(op, case) >= 4096 * 4096
        assert op.work(case).bytes >= multiply_adds(op, case) / 128  # two bits per weight, shared by 32 vectors


@pytest.mark.parametrize("op", OF_BLOCKS, ids=lambda op: op.name)
def test_bench_cases_of_products_use_vector_counts_of_kernel(op):
    measured = {shape_of(op, case) for _, case in op.bench_cases(first(op))}
    _, vec, count = op.name.rpartition("_") if "mul_mat_vec" in op.name else ("", "", "")
    assert measured == ({(int(count), 4096)} if vec else {(1, 4096), (32, 4096)})


def test_bench_case_of_dequantize_k_writes_16_mi_values():
    op = SUITE.op("quantized.dequantize_k")
    (case,) = (case for _, case in op.bench_cases(("q2_K", "f16")))
    assert math.prod(shape_of(op, case)) == 2**24
    assert op.work(case).bytes == 2**16 * 84 + 2**25
