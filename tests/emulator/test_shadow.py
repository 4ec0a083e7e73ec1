"""Shadow runs: every operation rounds up or down, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from parity.build.modules import build
from parity.emulator.amdgpu.listing import parse_instruction
from parity.emulator.amdgpu.shadow import (
    classify_arithmetic,
    foreign_types,
    integer_divisions,
    is_reordering,
    round_to_nearest,
)
from parity.emulator.shadow_runs import EACH_LANE, SHADOW_RUNS
from parity.model.dtypes import dtype
from parity.model.launch import Arithmetic, Buffer, Launch, Pointer, Scalar
from parity.runners import SupportsShadows, runner, shadow_session

SOURCE = """
#include <cuda_bf16.h>
#define EACH int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n)
extern "C" __global__ void ratio_f32(const float* x, float* out, int n) { EACH out[i] = x[i] / 3.0f; }
extern "C" __global__ void apart_f32(const float* x, float* out, int n) { EACH out[i] = x[i] * x[i] - 1.0f; }
extern "C" __global__ void turns_f32(const float* x, float* out, int n) { EACH out[i] = x[i] * 0.1f - x[i] * 0.7f; }
extern "C" __global__ void whole_f32(const float* x, float* out, int n) { EACH out[i] = x[(i * 7) / 3 % n] * 2.0f; }
extern "C" __global__ void every_f32(const float* x, float* out, int n) {
    EACH { float y = x[i]; if (i % 2) y /= 3.0f; out[i] = y + __shfl_xor(y, 1) * 0.0f; }
}
extern "C" __global__ void through_f32(const float* x, float* out, int n) { EACH out[i] = float(_Float16(x[i])); }
extern "C" __global__ void copy_f32(const float* x, float* out, int n) { EACH out[i] = x[i]; }
extern "C" __global__ void larger_f32(const float* x, float* out, int n) { EACH out[i] = fmaxf(x[i], 0.5f); }
extern "C" __global__ void half_bf16(const __nv_bfloat16* x, __nv_bfloat16* out, int n) {
    EACH out[i] = __float2bfloat16(__bfloat162float(x[i]) * 0.3f);
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory, cache):
    """Return a function that compiles a source for a target."""

    def of(source, target):
        folder = tmp_path_factory.mktemp("shadow")
        (folder / "some.cu").write_text(source)
        (built,) = build(folder, ["some"], [target], cache=cache)
        assert built.error is None, built.error
        return built.code_object

    return of


@pytest.fixture(scope="module")
def code(compiled):
    return compiled(SOURCE, "gfx1100")


@pytest.fixture(scope="module")
def session():
    return runner("emulated").open("gfx1100")


def shadows(session, code, kernel, values, kind="f32"):
    """Return the outputs of a kernel: the nearest results, then a row for each shadow run."""
    x = np.array(values, dtype(kind).numpy)
    buffers = {"x": Buffer(dtype(kind), x), "out": Buffer(dtype(kind), np.zeros_like(x), writable=True)}
    args = (Pointer("x"), Pointer("out"), Scalar(dtype("i32"), len(x)))
    found = session.shadows(code, Launch(kernel, (1, 1, 1), (64, 1, 1), args), buffers)
    assert not [each.fault for each in (found.nearest, *found.moved, *found.narrowed) if each.fault]
    runs = [found.nearest, *found.moved]
    return np.array([each.buffers["out"].astype(np.float64) for each in runs]), len(found.narrowed)


def test_shadow_quotient_rounds_up_and_down_and_resets_direction(session, code):
    runs, _ = shadows(session, code, "ratio_f32", [1.0, 2.0, 3.0])
    assert len(runs) == 1 + len(SHADOW_RUNS)
    third = 1 / 3
    assert runs[:, 0].min() < third < runs[:, 0].max()
    assert runs[:, 0].max() - runs[:, 0].min() <= 8 * 2.0**-25
    assert runs[0, 2] == 1.0
    assert np.float32(1) / np.float32(3) == np.float32(0.33333334)  # the host rounds to nearest again


def test_shadow_multiply_add_rounds_product_separately(session, code):
    x = 1 + 2.0**-12
    runs, _ = shadows(session, code, "apart_f32", [x])
    exact = x * x - 1
    assert abs(runs[0, 0] - exact) <= 2.0**-36  # fused: one rounding, near 2**-11
    assert np.abs(runs[:, 0] - exact).max() >= 2.0**-25  # separate: the product is rounded near 1


def test_shadow_patterns_reveal_errors_that_cancel_in_one_direction(session, code):
    runs, _ = shadows(session, code, "turns_f32", [1.0, 3.0, 5.0])
    spread = runs.max(0) - runs.min(0)
    assert (spread >= np.array([0.5, 2, 2]) * 2.0**-24).all()


PACKED = """
typedef float Two __attribute__((ext_vector_type(2)));
extern "C" __global__ void apart_f32(const float* x, float* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    Two from = {x[i], x[i]}, factors = {0.6f, 0.7f}, products;
    asm("v_pk_mul_f32 %0, %1, %2" : "=v"(products) : "v"(from), "v"(factors));
    out[i] = products.y - products.x;
}
"""


def test_halves_of_a_packed_operation_round_in_different_directions_in_some_runs(compiled):
    """Otherwise, the difference of two products does not move, however far off it is."""
    runs, _ = shadows(runner("emulated").open("gfx90a"), compiled(PACKED, "gfx90a"), "apart_f32", [5.1, 5.3])
    spread = runs.max(0) - runs.min(0)
    assert (spread >= 2 * 2.0**-22).all()


@pytest.mark.parametrize(("kernel", "kind"), [("every_f32", "f32"), ("half_bf16", "bf16")])
def test_shadow_lanes_round_independently_in_some_runs(session, code, kernel, kind):
    runs, _ = shadows(session, code, kernel, [1.0] * 32, kind)
    if kernel == "every_f32":
        assert (runs[:, ::2] == 1.0).all()  # lanes that are inactive at the operation
    mixed = [len(set(row[1::2])) > 1 for row in runs]
    assert not any(mixed[: -sum(bool(number & EACH_LANE) for number in SHADOW_RUNS)])
    assert sum(mixed) >= 2


def test_shadow_runs_keep_integer_divisions_and_exact_products(session, code):
    runs, _ = shadows(session, code, "whole_f32", [0.1, 0.2, 0.3, 0.4, 0.5])
    assert len(runs) > 1 + len(SHADOW_RUNS)  # additional runs were tried
    assert (runs == runs[0]).all()
    assert list(runs[0].astype(np.float32)) == list(np.float32([0.2, 0.6, 1.0, 0.6, 1.0]))


def test_shadow_bf16_conversion_with_integers_rounds_up_and_down(session, code):
    runs, narrowed = shadows(session, code, "half_bf16", [1.0, -1.0], "bf16")
    assert narrowed == 2
    for column in (0, 1):
        low, high = sorted(set(runs[:, column]))
        assert low < runs[0, 1 - column] * -1 + 2.0**-9 and high - low == 2.0**-9


def test_classify_returns_arithmetic_of_code(session, code):
    def of(kernel):
        return session.arithmetic(code, Launch(kernel, (1, 1, 1), (64, 1, 1), ()))

    assert of("copy_f32") is Arithmetic.MOVES
    assert of("larger_f32") is Arithmetic.COMPARES
    assert of("ratio_f32") is of("apart_f32") is of("half_bf16") is Arithmetic.ROUNDS
    assert classify_arithmetic("\tv_rndne_f32_e32 v0, v1\n") is Arithmetic.COMPARES
    assert classify_arithmetic("\tv_dual_mul_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4\n") is Arithmetic.ROUNDS
    once = "\tv_cvt_f16_f32_e32 v0, v1\n\tv_cvt_pkrtz_f16_f32_e64 v2, v3, v4\n\tv_max_f32_e32 v1, v1, v1\n"
    assert classify_arithmetic(once) is Arithmetic.COMPARES
    assert classify_arithmetic(f"{once}\tv_cvt_f32_f64_e32 v1, v[2:3]\n") is Arithmetic.ROUNDS
    assert classify_arithmetic(f"{once}\tv_add_f32_e32 v1, v2, v3\n") is Arithmetic.ROUNDS
    assert classify_arithmetic("\tglobal_atomic_add_f32 v0, v1, s[0:1]\n") is Arithmetic.ROUNDS


def test_shadow_session_exists_for_amd_targets():
    assert isinstance(shadow_session("gfx90a"), SupportsShadows)
    assert shadow_session("sm_90x") is None


def test_integer_divisions_are_found_by_reciprocal():
    listing = """
v_cvt_f32_u32_e32 v1, s4
v_mul_f32_e32 v2, v8, v9
v_rcp_iflag_f32_e32 v1, v1
v_mul_f32_e32 v1, 0x4f7ffffe, v1
v_cvt_u32_f32_e32 v1, v1
v_mul_f32_e32 v1, v1, v2
v_rcp_f32_e32 v3, v2
"""
    items = [parse_instruction(text, 1, None, None) for text in listing.strip().splitlines()]
    assert integer_divisions(items) == {0, 2, 3, 4}


SUM = """
#include <cuda_fp16.h>
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef float f4 __attribute__((ext_vector_type(4)));
extern "C" __global__ void sum_f16(const __half* x, float* out) {  // of 16 numbers, by a matrix core
#ifdef __gfx90a__
    h4 a, b;
    for (int j = 0; j < 4; ++j) a[j] = reinterpret_cast<const _Float16*>(x)[threadIdx.x / 16 * 4 + j], b[j] = 1;
    f4 d = {0, 0, 0, 0};
    d = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, d, 0, 0, 0);
    if (threadIdx.x == 0) *out = d[0];
#endif
}
"""


@pytest.fixture(scope="module")
def sums(compiled):
    """Return a function that adds numbers with a matrix core of gfx90a; it returns the sums of each kind of run."""
    code, session = compiled(SUM, "gfx90a"), runner("emulated").open("gfx90a")
    listing = round_to_nearest(code.listing, "sum_f16", ("f32",))

    def of(*numbers, lacks_f32=False):
        sum_f16 = replace(code, stored=listing, digest="nearest") if lacks_f32 else code
        x = np.array([*numbers, *[0] * (16 - len(numbers))], np.float16)
        out = Buffer(dtype("f32"), np.zeros(1, np.float32), writable=True)
        launch = Launch("sum_f16", (1, 1, 1), (64, 1, 1), (Pointer("x"), Pointer("out")))
        found = session.shadows(sum_f16, launch, {"x": Buffer(dtype("f16"), x), "out": out})
        groups = ((found.nearest,), found.moved, found.unflushed)
        return [{float(each.buffers["out"][0]) for each in some} for some in groups]

    return of


def test_shadow_matrix_sum_changes_if_order_loses_term(sums):
    """A tensor core that aligns all terms to the largest term returns 0."""
    tiny = 2.0**-14
    (nearest,), moved, _ = sums(2.0**14, -(2.0**14), tiny)
    assert nearest == tiny
    assert min(moved) <= 0 and max(moved) - min(moved) <= 16 * 2.0**-8


def test_shadow_runs_keep_exact_matrix_sum(sums):
    assert sums(*range(-5, 11))[:2] == [{40.0}, {40.0}]
    assert sums(2.0**14, -(2.0**14), 2.0**-6)[:2] == [{2.0**-6}, {2.0**-6}]


def test_unflushed_runs_keep_subnormal_numbers(sums):
    """CUDA's matrix cores keep them; gfx90a's do not (divergence D25). Its f32 sums may be of a type that PTX lacks."""
    assert sums(2.0**-20) == sums(2.0**-20, lacks_f32=True) == [{0.0}, {0.0}, {2.0**-20}]


def test_overflow_far_beyond_range_is_infinite_in_every_run(session, code):
    (nearest, *runs), _ = shadows(session, code, "through_f32", [1e30, -1e5, 65510.0, 1.0001])
    assert np.isinf(runs).all(0).tolist() == [True, True, False, False]
    assert {float(run[2]) for run in runs} == {65504.0, np.inf} and nearest[2] == 65504


def test_types_that_ptx_lacks_round_to_nearest(session, code):
    _, _, body = code.listing.partition("\nthrough_f32:")
    assert foreign_types(body.partition(".Lfunc_end")[0], "mul.rn.f32 %f1, %f2, %f3;") == ("f16",)
    assert foreign_types("v_cvt_f16_f32_e32 v0, v1", "cvt.rn.f16.f32 %h1, %f1;") == ()
    listing = round_to_nearest(code.listing, "through_f32", ("f16",))
    (nearest, *runs), _ = shadows(session, replace(code, stored=listing, digest="other"), "through_f32", [1.0001, 0.3])
    assert (np.array(runs) == nearest).all()


@pytest.mark.parametrize(
    ("code", "reordering"),
    [
        (
            "\tv_fma_f32 v0, v1, v2, v3\n\ts_cbranch_execz .LBB0_2\n\tv_add_f32 v0, v0, v1\n.LBB0_2:\n\ts_endpgm\n",
            False,
        ),
        (".LBB0_1:\n\tv_add_f32 v0, v0, v1\n\ts_cbranch_scc1 .LBB0_1\n", True),
        ("\tds_add_f32 v0, v1\n", True),
        ("\tv_add_f32_dpp v0, v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf\n", True),
        ("\tv_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]\n", True),
        ("\tglobal_atomic_add_f32 v0, v1, s[0:1]\n", True),
    ],
)
def test_reordering_code_has_loops_or_exchanges_numbers(code, reordering):
    assert is_reordering(code) == reordering
