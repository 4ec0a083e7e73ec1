"""The data flow of PTX from nvcc, also compared with the declarations of the suite."""

from __future__ import annotations

import pytest

from parity.build.modules import build, build_suite
from parity.inference.data_flow import BEHIND, Flow
from parity.inference.ptx_dataflow import flows

HEAD = "struct Both { const float* x; float* out; int n; };\n__device__ __noinline__ void put(float* p) { *p = 1; }\n"
INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
KERNELS = {
    "scale": ("const float* x, float* out, float by, int n", "if (i < n) out[i] = x[i] * by;"),
    "axpy": (
        "float* y, const float* x, unsigned long n",
        "for (unsigned long at = i; at < n; at += gridDim.x * blockDim.x) y[at] += x[at];",
    ),
    "rows": (
        "const double* x, double* out, int height, int width",
        "int r = blockIdx.y; if (r < height && i < width) out[r * width + i] = x[r * width + i];",
    ),
    "scatter": ("const int* ids, const float* x, float* out, int n", "if (i < n) out[ids[i]] = x[i];"),
    "append": (
        "const float* x, float* out, int* size, int n",
        "if (i < n && x[i] > 0) out[atomicAdd(size, 1)] = x[i];",
    ),
    "binned": (
        "const int* of, int* sizes, int* out, int n",
        "if (i < n) { int k = atomicAdd(&sizes[of[i]], 1); if (k < 8) out[of[i] * 8 + k] = i; }",
    ),
    "sorted": ("const int* of, int* next, int* out, int n", "if (i < n) out[atomicAdd(&next[of[i]], 1)] = i;"),
    "by_block": ("int* next, int* out, int n", "if (i < n) out[atomicAdd(&next[blockIdx.x], 1)] = i;"),
    "count": ("const unsigned char* x, unsigned* bins, int n", "if (i < n) atomicAdd(&bins[x[i]], 1u);"),
    "again": ("float* out, int n", "if (i < n) out[i] = i; __syncthreads(); if (i < n) out[i] = out[n - 1 - i] * 2;"),
    "in_place": ("const float* x, float* out, int n", "if (i < n) out[i] = -(x ? x : out)[i];"),
    "fields": ("Both all", "if (i < all.n) all.out[i] = all.x[i];"),
    "called": ("float* out", "put(out + i);"),
    "tile": (
        "const float* x, float* out, int n",
        "__shared__ float t[256]; t[threadIdx.x] = i < n ? x[i] : 0; __syncthreads();"
        "if (i < n) out[i] = t[255 - threadIdx.x];",
    ),
    "dims": (
        "const int* sizes, int num_dims, const float* x, float* out, int n",
        "if (i >= n) return; int rest = i, at = 0;"
        "for (int d = 0; d < num_dims; d++) { at = at * 2 + rest % sizes[d]; rest /= sizes[d]; } out[i] = x[at];",
    ),
    "strided": (
        "const int* x, const int* by, const int* count, int* out, int n",
        "if (i < n) out[i] = x[i] % by[1] / by[0] + (count[i] > 0 ? x[i] / count[i] : 0) + x[i] / n;",
    ),
    "letters": (
        "const char* x, int* bins, int n",
        "if (i >= n) return; int at = x[i] - 'a'; if (at >= 0 && at < 26) atomicAdd(&bins[at / 4], 1);",
    ),
    "bright": ("const unsigned char* x, unsigned char* out, int n", "if (i < n && x[i] > 128) out[i] = x[i] / 2;"),
    "tiles": (
        "const __half* x, __half* out, int n",
        "nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> a;"
        "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, __half> sum;"
        "nvcuda::wmma::load_matrix_sync(a, x + i, n); nvcuda::wmma::fill_fragment(sum, a.x[0]);"
        "nvcuda::wmma::store_matrix_sync(out + i, sum, n, nvcuda::wmma::mem_row_major);",
    ),
    "segments": (
        "const int* begin, const long long* ends, const int* near, const float* x, float* out, int n",
        "if (i >= n) return; float sum = near[i] * near[i + 1];"
        "for (int j = begin[i]; j < begin[i + 1]; j++) sum += x[j];"
        "const long long rows = ends[i] - (i ? ends[i - 1] : 0); out[i] = sum / rows;",
    ),
    "padded": (
        "const int* bins, float* out, int n",
        "const int length = bins[i + 1] - bins[i]; if (n < length) out[i] = n;",
    ),
    "by_warps": (
        "const float* x, float* sums, int n",
        "if (i < n) atomicAdd(&sums[i / warpSize % 4], x[i]);",
    ),
    "waves": ("const double* x, double* y, int n", "if (i < n) y[i] = sin(x[i]) + cosf(x[i]);"),
    "warp_sums": (
        "const float* x, float* sums, int n",
        "sums[i / warpSize] = __shfl_down_sync(~0u, x[i], 16);",
    ),
    "parted": (
        "const int* bins, int* out, int n",
        "const int length = bins[i + 1] - bins[i]; out[i] = n % length;",
    ),
    "rays": (
        "const int* rays, const float* x, float* out, int n",
        "if (i >= n) return; const int start = rays[3 * i + 1], count = rays[3 * i + 2]; float sum = 0;"
        "for (int j = 0; j < count; j++) sum += x[start + j]; out[rays[3 * i]] = sum;",
    ),
    "table": (
        "const long long* rays, int row, int column, const float* x, float* out, int n",
        "if (i >= n) return; const long long* at = rays + i * row + column; const int start = *at, count = at[column];"
        "const int last = start + count - 1; for (int j = start; j <= last; j++) out[j] = x[j] - x[last];",
    ),
    "pairs": (
        "const int* pairs, const float* x, float* out, int n",
        "if (i >= n) return; const int start = pairs[2 * i], count = pairs[2 * i + 1]; float sum = 0;"
        "for (int j = 0; j < count; j++) sum += x[start + j]; out[i] = sum;",
    ),
    "corners": (
        "const int* corners, const float* x, float* out, int n, int most",
        "if (i >= n) return; const int a = corners[3 * i], b = corners[3 * i + 1], c = corners[3 * i + 2];"
        "if (a < most && b < most && c < most) out[i] = x[a] + x[b] - x[c];",
    ),
    "copied": (
        "const __half* x, __half* out",
        "__shared__ __half2 t[128]; __pipeline_memcpy_async(t + threadIdx.x, x + 2 * i, 4); __pipeline_commit();"
        "__pipeline_wait_prior(0); out[i] = t[threadIdx.x].y;",
    ),
    "carried": (
        "const float4* x, int2* out, const float* by, int n",
        "if (i >= n) return; float4 four = x[i]; int2 two; __half2 *h = (__half2*)&four, *to = (__half2*)&two;"
        "to[0] = __hfma2(h[0], h[1], h[2]); to[1] = __hadd2(h[3], __float2half2_rn(by[i])); out[i] = two;",
    ),
    "halves": ("const __half* x, __half* out, int n", "if (i < n) out[i] = __hmul(x[i], x[i]);"),
}


pytestmark = pytest.mark.usefixtures("with_nvcc")


@pytest.fixture(scope="module")
def found(tmp_path_factory, cache):
    folder = tmp_path_factory.mktemp("flows")
    lines = (
        f'extern "C" __global__ void __launch_bounds__(128) {name}({takes}) {{ {INDEX} {does} }}\n'
        for name, (takes, does) in KERNELS.items()
    )
    (folder / "k.cu").write_text(f"#include <cuda_pipeline.h>\n#include <mma.h>\n{HEAD}{''.join(lines)}")
    (built,) = build(folder, targets=["sm_90"], cache=cache)
    assert built.error is None, built.error
    return flows(built.code_object.listing)


def roles(flow: Flow) -> dict[object, str]:
    """Return the role of each pointer, by position, or by position and byte for fields of structures."""
    return {
        place if byte == 0 else (place, byte): "in" if not use.writes else "both" if use.is_input else "out"
        for (place, byte), use in flow.uses.items()
    }


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("scale", {0: "in", 1: "out"}),
        ("axpy", {0: "both", 1: "in"}),
        ("rows", {0: "in", 1: "out"}),
        ("scatter", {0: "in", 1: "in", 2: "both"}),  # elements without an id keep their value
        ("count", {0: "in", 1: "both"}),
        ("again", {0: "out"}),  # only reads what it has written
        ("in_place", {0: "in", 1: "out"}),
        ("fields", {0: "in", (0, 8): "out"}),
        ("tile", {0: "in", 1: "out"}),
        ("dims", {0: "in", 2: "in", 3: "out"}),
        ("tiles", {0: "in", 1: "out"}),
        ("halves", {0: "in", 1: "out"}),  # after inline assembly, which contains braces
    ],
)
def test_flows_pointers_are_read_written_or_both(found, kernel, expected):
    assert roles(found[kernel]) == expected
    assert not found[kernel].escaped


@pytest.mark.parametrize(
    ("kernel", "number", "direct", "others"),
    [
        ("scale", 3, {0, 1}, set()),
        ("axpy", 2, {0, 1}, set()),
        ("rows", 2, set(), {0, 1}),
        ("rows", 3, set(), {0, 1}),
        ("scatter", 3, {0, 1}, set()),
        ("tile", 2, {0, 1}, set()),
    ],
)
def test_flows_number_bounds_index_directly_or_in_part(found, kernel, number, direct, others):
    bound = found[kernel].bounds[number, 0]
    assert {place for place, _ in bound.direct} == direct
    assert {place for place, _ in bound.pointers} - direct == others


def test_flows_length_of_loop_over_dims_is_not_bound(found):
    bound = found["dims"].bounds.get((1, 0))
    assert bound is None or not bound.direct


def test_flows_elements_are_compared_with_integers(found):
    assert found["letters"].wholes == {(0, 0): (122, 123, 97)} and {128, 129} & {*found["bright"].wholes[0, 0]}
    assert not found["count"].wholes and not found["rows"].wholes


def test_flows_divisors_are_elements_without_a_check_for_zero(found):
    assert found["strided"].divisors == {(1, 0)}
    assert found["dims"].divisors == {(0, 0)} and not found["letters"].divisors


def test_flows_factors_are_elements_multiplied_with_elements(found):
    assert found["segments"].factors == {(2, 0)}
    assert not found["strided"].factors and not found["dims"].factors


def test_flows_offsets_are_neighbors_that_bound_a_range(found):
    assert found["segments"].offsets == {(0, 0), (1, 0)}
    assert found["padded"].offsets == found["parted"].offsets == found["parted"].parted == {(0, 0)}
    assert not found["padded"].parted and not found["rows"].offsets


def test_flows_warps_that_exchange_nothing_have_parts_of_the_work(found):
    assert [name for name, flow in found.items() if flow.by_warps] == ["by_warps"]
    assert found["warp_sums"].crosses and found["tiles"].crosses


def test_flows_tables_of_cuda_are_not_variables(found):
    assert not found["waves"].variables and not found["waves"].tables


def test_flows_positions_from_several_counters(found):
    """One counter leads threads to different positions; several do not, unless a position has another part."""
    assert [name for name, flow in found.items() if flow.counted] == ["sorted", "by_block"]


def test_flows_segments_are_rows_of_a_position_and_a_count(found):
    assert {name for name, flow in found.items() if flow.segments == {(0, 0)}} == {"rays", "table"}
    assert not any(found[name].segments for name in ("pairs", "corners", "segments", "padded", "parted", "strided"))


def test_flows_asynchronous_copies_have_a_width(found):
    assert {key[0]: use.width for key, use in found["copied"].uses.items()} == {0: 4, 1: 2}


def test_flows_halves_in_wider_elements_have_their_type(found):
    assert {key[0]: {*use.types} for key, use in found["carried"].uses.items()} == {0: {"f16"}, 1: {"f16"}, 2: {"f32"}}


def test_flows_passed_pointer_escapes(found):
    assert found["called"].escaped == {(0, 0)} and not found["called"].uses


def test_flows_types_launch_bounds_strides_and_axes(found):
    scale, rows = found["scale"], found["rows"]
    assert (scale.types, scale.threads, scale.strided, scale.axes) == (
        ("u64", "u64", "f32", "u32"),
        (128, 1, 1),
        False,
        {"x"},
    )
    assert found["axpy"].strided and rows.axes == {"x", "y"}
    assert [sorted(rows.uses[place, 0].types) for place in (0, 1)] == [["f64"], ["f64"]]


@pytest.mark.parametrize("module", ["affine", "sort", "ternary"])
def test_flows_roles_match_declarations_of_suite(suite, module):
    (built,) = build_suite(suite, [module], ["sm_90"])
    seen = flows(built.code_object.listing)
    for entry in suite.kernel_entries:
        if entry.op.module == module:
            flow, op = seen[entry.kernel], entry.op
            expected = {**dict.fromkeys(op.inputs, "in"), **dict.fromkeys(op.outputs, "out")}
            words = [word.partition(":")[0] for word in op.args.split()]
            found = {words[place]: role for place, role in roles(flow).items() if words[place] in expected}
            assert found == expected, entry.kernel
            if "numel" in words:
                assert flow.bounds[words.index("numel"), 0].direct, entry.kernel


SELECTED = """.visible .entry chosen(
	.param .u64 .ptr .global .align 1 chosen_param_0,
	.param .u64 .ptr .global .align 1 chosen_param_1,
	.param .u32 chosen_param_2
)
{
	ld.param.b32 	%r1, [chosen_param_2];
	setp.gt.s32 	%p1, %r1, 0;
	mov.b64 	%rd1, chosen_param_0;
	mov.b64 	%rd2, chosen_param_1;
	selp.b64 	%rd3, %rd1, %rd2, %p1;
	ld.param.b64 	%rd4, [%rd3];
	st.global.b32 	[%rd4], %r1;
	ret;
}
"""


def test_pointer_is_loaded_from_a_selected_address():
    """Triton 3.9 selects the address of an argument, and then loads the argument."""
    uses = flows(SELECTED)["chosen"].uses
    assert {key: use.writes for key, use in uses.items()} == {(0, 0): {"b32"}, (1, 0): {"b32"}}


FIELDS = """
.visible .entry fields(.param .align 8 .b8 fields_param_0[32])
{
	mov.b64 %rd1, fields_param_0;
	add.s64 %rd2, %rd1, 8;
	ld.param.u64 %rd3, [%rd2+16];
	cvta.to.global.u64 %rd4, %rd3;
	ld.param.u32 %r1, [%rd2];
	st.global.u32 [%rd4], %r1;
	ret;
}
"""


def test_fields_are_loaded_behind_the_address_of_a_structure():
    flow = flows(FIELDS)["fields"]
    assert {key: use.writes for key, use in flow.uses.items()} == {(0, 24): {"u32"}} and (0, 8) in flow.loaded


TABLES = """
.global .align 8 .u64 _ZTV4Ball[1] = {generic(results)};
.global .align 4 .b8 precalc_xorwow_matrix[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.global .align 4 .u32 results[4] = {1};
.visible .entry filled(.param .u32 filled_param_0)
{
	ld.param.u32 %r1, [filled_param_0];
	mov.u64 %rd1, _ZTV4Ball;
	mov.u64 %rd2, precalc_xorwow_matrix;
	mov.u64 %rd3, results;
	st.global.u32 [%rd3], %r1;
	ret;
}
"""


def test_tables_of_virtual_functions_and_of_libraries_are_no_results():
    assert set(flows(TABLES)["filled"].variables) == {"results"}


READ_STRUCTURE = """
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2)
{
	ld.param.u64 %rd1, [k_param_0];
	ld.param.u64 %rd2, [k_param_1];
	ld.param.u64 %rd3, [k_param_2];
	cvta.to.global.u64 %rd4, %rd1;
	cvta.to.global.u64 %rd5, %rd2;
	cvta.to.global.u64 %rd6, %rd3;
	ld.global.u32 %r1, [%rd4];
	ld.global.f32 %f1, [%rd4+4];
	ld.global.u32 %r2, [%rd5];
	ld.global.s32 %r3, [%rd5+4];
	st.global.f32 [%rd6], %f1;
	ret;
}
"""


def test_structure_that_is_only_read_has_fields_of_several_types():
    """Two integers may be an array."""
    loaded = flows(READ_STRUCTURE)["k"].loaded
    assert {(place, at - BEHIND): kind for (place, at), kind in loaded.items() if at >= BEHIND} == {
        (0, 0): "u32",
        (0, 4): "f32",
    }
