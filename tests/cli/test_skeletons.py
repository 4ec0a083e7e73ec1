"""Declarations that ``parity init`` writes for existing kernels."""

from __future__ import annotations

import ast
import shutil

import pytest

from parity.suite.loading import load_suite

KERNELS = """
extern "C" __global__ void scale_f32(float* x, float alpha, int n) { if (threadIdx.x < n) x[threadIdx.x] *= alpha; }
extern "C" __global__ void add_f32(const float* a, const float* b, float* out, size_t numel) {
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < numel) out[i] = a[i] + b[i];
}
extern "C" __global__ void add_f64(const double* a, const double* b, double* out, size_t numel) {
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < numel) out[i] = a[i];
}
"""


def test_init_kernel_is_judged_once_reference_is_added(parity, tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "plain.cu").write_text(
        'extern "C" __global__ void twice_f32(const float* x, float* out, int n) {\n'
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) out[i] = 2.0f * x[i];\n}\n"
    )
    monkeypatch.chdir(tmp_path)
    result = parity("init", "--kernels", "src")
    assert (
        result.code == 0
        and "wrote cases/plain.py" in result.out
        and "look through cases, then parity run" in result.out
    )
    result = parity("run", "-v", "--runner", "emulated", "--target", "gfx1100", "--examples", "3")
    assert result.code == 3 and "only memory checked x3" in result.out, result.out + result.err
    path = tmp_path / "cases" / "plain.py"
    text = path.read_text().replace("# reference=...", "reference=lambda x: Expected(x * 2)")
    path.write_text(
        text.replace("from parity.op import Op", "from parity.op import Op\nfrom parity.reference import Expected")
    )
    result = parity("run", "-v", "--target", "gfx1100", "--examples", "3")
    assert result.code == 0 and "twice  f32  pass" in result.out, result.out + result.err


PICKED = """
extern "C" __global__ void pick_{0}_{1}(const {2}* which, const {3}* a, const {3}* b, {3}* out, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = which[i] ? a[i] : b[i];
}}
"""


@pytest.mark.thorough
def test_init_type_variables_follow_all_kernels(parity, tmp_path):
    kinds = {"u8": "unsigned char", "u32": "unsigned", "f64": "double"}
    (tmp_path / "kernels").mkdir()
    both = (PICKED.format(s, t, kinds[s], kinds[t]) for s in ("u8", "u32") for t in ("u8", "f64"))
    (tmp_path / "kernels" / "picked.cu").write_text("".join(both))
    assert parity("init", tmp_path).code == 0
    text = (tmp_path / "cases" / "picked.py").read_text()
    assert 'inputs={"which": "S", "a": "T", "b": "T"},\n    outputs={"out": "T"}' in text, text


@pytest.mark.thorough
def test_init_kernels_that_differ_in_dtypes_are_one_op(parity, tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "more.cu").write_text(KERNELS)
    assert parity("init", tmp_path).code == 0
    text = (tmp_path / "cases" / "more.py").read_text()
    ast.parse(text)
    assert 'kernel="add_{T}",\n    types=("f32", "f64"),\n    args="a b out numel:u64",' in text
    assert 'kernel="scale_{T}"' in text and 'args="x alpha n:i32' in text and 'params={"alpha": "T"}' in text
    assert max(map(len, text.splitlines())) <= 120


def test_init_kernel_without_outputs_is_omitted(parity, tmp_path, monkeypatch):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "fills.cu").write_text(
        "__global__ void noop() {}\n"
        'extern "C" __global__ void ones_f32(float* out, int n) {\n'
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) out[i] = 1.0f;\n}\n"
    )
    monkeypatch.chdir(tmp_path)
    assert parity("init").code == 0
    text = (tmp_path / "cases" / "fills.py").read_text()
    assert "# noop(): it has no output that it is given, so nothing can be compared" in text
    assert '    shapes="out: n",  # a guess' in text
    result = parity("run", "-v", "--runner", "emulated", "--target", "gfx1100", "--examples", "3")
    assert "only memory checked x3" in result.out and "FAIL" not in result.out, result.out + result.err


@pytest.mark.thorough
def test_init_reads_types_of_kernels_with_cpp_linkage(parity, library):
    folder = library("activations")
    shutil.rmtree(folder / "parity")
    assert "wrote" in parity("init").out  # the settings exist; missing files are written
    (path,) = (folder / "parity").glob("*.py")
    text = path.read_text()
    assert 'source="activations/swiglu-fused.v2.cu"' in text and 'outputs={"lo": "f32", "hi": "f32"}' in text
    assert 'kernel="ops::swiglu<{T}>"' in text and 'spelling={"f32": "float", "f16": "__half"}' in text
    assert "has a [tool.parity] already" in parity("init").err


def test_init_declares_every_kernel_of_suite_module(parity, kernels, tmp_path):
    for path in kernels.glob("*.cu"):
        if path.stem != "affine":
            path.unlink()
    assert parity("init", tmp_path).code == 0
    suite = load_suite(kernels, tmp_path / "cases")
    assert {"affine_bf16", "affine_i64"} <= {entry.kernel for entry in suite.entries}


SEEN = """
extern "C" __global__ void __launch_bounds__(64)
smooth(float* state, const float* noise, float factor, unsigned extent) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < extent) state[i] = state[i] * factor + noise[i];
}
extern "C" __global__ void picture(const double* from, double* to, int height, int width) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < height && c < width) to[r * width + c] = from[r * width + c];
}
"""


def test_init_with_nvcc_uses_ptx(parity, tmp_path, with_nvcc):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "seen.cu").write_text(SEEN)
    assert parity("init", tmp_path).code == 0
    smooth, picture = (tmp_path / "cases" / "seen.py").read_text().split("picture_op")
    assert 'args="state noise factor extent:u32=numel"' in smooth and 'params={"factor": "f32"}' in smooth
    assert 'inputs={"noise": "f32"},\n    updates={"state": "f32"},\n' in smooth and "block=64," in smooth
    assert 'inputs={"from_": "f64"},\n    outputs={"to_": "f64"},\n' in picture
    assert 'args="from_ to_ height:i32 width:i32",\n    shapes="from_: height width; to_: height width",' in picture
    assert 'grid="ceil(width/16), ceil(height/16)",' in picture and "=numel" not in picture


JUDGED = """
__global__ void copy4(int4* to, const int4* from, size_t n) {
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}
__global__ void scale4(float* x, float by, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i >= n) return;
    float4 v = *reinterpret_cast<float4*>(x + i);
    v.x *= by, v.y *= by, v.z *= by, v.w *= by;
    *reinterpret_cast<float4*>(x + i) = v;
}
__global__ void lengths(const float3* p, float* length, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) length[i] = sqrtf(p[i].x * p[i].x + p[i].y * p[i].y + p[i].z * p[i].z);
}
__global__ void norm(float* out, float* mean, const float* inp, const float* weight, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    for (int j = 0; j < cols; j++) sum += inp[i * cols + j];
    mean[i] = sum / cols;
    for (int j = 0; j < cols; j++) out[i * cols + j] = (inp[i * cols + j] - mean[i]) * weight[j];
}
__global__ void least(float* value) { *value = -1e30f; }
__global__ void total(const float* input, float* output, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < count ? fabsf(input[i]) : 0;
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_down_sync(~0u, v, o, 32));
    if (threadIdx.x % 32 == 0) atomicMax((int*)output, __float_as_int(v));
}
__global__ void backward(float* d, const float* losses, const float* probs, int batch, int time, int vocabulary) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * time * vocabulary) return;
    int b = i / (time * vocabulary), t = i / vocabulary % time;
    d[i] += probs[i] * losses[b * time + t];
}
__global__ void means(float* mean, const float* inp, int n, int cols) {
    __shared__ float shared[256];
    int row = blockIdx.x, t = threadIdx.x;
    float sum = 0;
    for (int i = t; i < cols; i += 256) sum += inp[row * cols + i];
    shared[t] = sum;
    __syncthreads();
    for (int i = 0; i < 256 && t == 0; i++) mean[row] = i ? mean[row] + shared[i] : shared[0];
}
#include <cuda_bf16.h>
__global__ void twice_each(const __nv_bfloat162* pairs, __nv_bfloat162* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sums[i] = __hadd2(pairs[i], pairs[i]);
}
__global__ void rotary(const float* x, const float* angles, float* out, unsigned rows, unsigned width, unsigned d) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, row = i / (width / 2), in_row = i % (width / 2);
    if (2 * i >= rows * width) return;
    unsigned one = row * width + in_row / (d / 2) * d + in_row % (d / 2), other = one + d / 2;
    out[one] = x[one] * angles[in_row] - x[other];
    out[other] = x[one] + x[other] * angles[in_row];
}
__global__ void waits(volatile int* flag, int most) { for (int i = 0; i < most && !*flag; i++); }
"""


def test_init_vector_and_row_kernels_have_a_verdict(parity, tmp_path, monkeypatch, with_nvcc):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "judged.cu").write_text(JUDGED + SEEN)
    monkeypatch.chdir(tmp_path)
    assert parity("init").code == 0
    text = (tmp_path / "cases" / "judged.py").read_text()
    assert 'args="to_ from_ n:u64",\n    shapes="to_: 4*n; from_: 4*n",  # a guess\n    strides="aligned",' in text
    assert 'shapes="x: rows width; angles: width//2; out: rows width",' in text
    assert 'where="d > 0 and d % 2 == 0 and width % d == 0",' in text and 'grid="ceil(rows*width/512)",' in text
    assert 'shapes="x: n",  # a guess\n    where="n % 4 == 0",' in text and 'grid="ceil(n/1024)",' in text
    assert 'shapes="p: 3*n; length: n"' in text
    assert 'shapes="out: rows cols; mean: rows; inp: rows cols; weight: cols"' in text
    assert 'shapes="value: 1",' in text
    assert 'shapes="input: count; output: 1",  # a guess' in text and 'grid="ceil(count/256)",' in text
    assert 'shapes="d: batch time vocabulary; ' in text
    assert 'args="mean inp n:i32=rows cols:i32",\n    shapes="mean: rows; inp: rows cols",' in text
    assert 'grid="rows",' in text
    assert 'shapes="pairs: 2*n; sums: 2*n"' in text and 'inputs={"pairs": "bf16"}' in text
    assert "it writes to nothing that it is given, so nothing can be compared" in text
    result = parity("run", "-v", "--target", "gfx1100", "--examples", "3")
    assert result.code == 0 and result.out.count("pass  3/3") == 12, result.out + result.err


def test_init_without_nvcc_guesses_roles(parity, tmp_path, hide_nvcc):
    hide_nvcc()
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "seen.cu").write_text(SEEN)
    assert parity("init", tmp_path).code == 0
    assert "# a guess: written; updates= are read as well" in (tmp_path / "cases" / "seen.py").read_text()


@pytest.mark.thorough
def test_init_op_with_one_type_is_listed_by_its_output(parity, tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "signs.cu").write_text(
        "__global__ void sign(const float* x, int* out, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) out[i] = x[i] < 0.0f;\n}\n"
    )
    assert parity("init", tmp_path).code == 0
    assert 'types=("i32",),' in (tmp_path / "cases" / "signs.py").read_text()


WITHOUT_OUTPUT = """
struct State { float sum; int count; };
__device__ State state;
__global__ void adds(const float* x) { state.sum += x[0]; state.count += 1; }
__global__ void fills(float* const* const* parts, int n) { if (threadIdx.x < n) parts[blockIdx.x][0][threadIdx.x] = 1; }
"""


def test_init_says_where_kernel_without_output_writes(parity, tmp_path, monkeypatch, with_nvcc):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "few.cu").write_text(WITHOUT_OUTPUT)
    monkeypatch.chdir(tmp_path)
    parity("init")
    text = (tmp_path / "cases" / "few.py").read_text()
    for reason in ("at most to __device__ variables (state)", "pointers that it reads from memory"):
        assert reason in text


WITHOUT_OUTPUT_ARGUMENTS = """
#include <stdio.h>
#define FAULT 0
namespace stats { __device__ float sums[8]; __device__ int calls; }
__global__ void adds(const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&stats::sums[i % 8], x[i] + FAULT);
}
__global__ void counts() { atomicAdd(&stats::calls, 1 + FAULT); }
__global__ void shows(const int* x, int n) { if (threadIdx.x < n) printf("%d\\n", x[threadIdx.x] + FAULT); }
__global__ void greets() { printf("thread %d\\n", threadIdx.x + FAULT); }
int main() { greets<<<2, 5>>>(); counts<<<2, 5>>>(); }
"""


WITH_SPECIAL_LAUNCHES = """
#include <torch/extension.h>
__global__ void find_special(const float* x, int n, bool* has_nan, bool* has_inf) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && isnan(x[i])) *has_nan = true;
    if (i < n && isinf(x[i])) *has_inf = true;
}
__device__ float sum_of_warp(float sum) {
    for (int d = C10_WARP_SIZE / 2; d; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    return sum;
}
__global__ void centered(const float* x, float* y, int n) {
    __shared__ float parts[32];
    int i = blockIdx.x * n + threadIdx.x;
    float sum = x[i], all = 0;
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d, 32);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    for (int j = 0; j < n / 32; j++) all += parts[j];
    y[i] = x[i] - all / n;
}
__global__ void neighbors(const float* x, float* y, int n) {
    float left = __shfl_up_sync(__activemask(), x[blockIdx.x * n + threadIdx.x], 1);
    y[blockIdx.x * n + threadIdx.x] = threadIdx.x % 32 ? left : 0;
}
__global__ void summed(const float* x, float* y, int n) {
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += C10_WARP_SIZE) sum += x[(blockIdx.x * blockDim.y + threadIdx.y) * n + i];
    sum = sum_of_warp(sum);
    if (threadIdx.x == 0) y[blockIdx.x * blockDim.y + threadIdx.y] = sum;
}
struct Base { int count; };
struct Switches : Base { bool on; };
__global__ void switched(const float* x, float* y, int n, Switches switches) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = switches.on ? x[i] : -x[i] * switches.count;
}
__global__ void staged(const float* x, float* y) {
    extern __shared__ float part[];
    part[9000 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = part[9063 - threadIdx.x];
}
__global__ void too_large(float* x) { extern __shared__ float part[]; part[30000] = 1; x[threadIdx.x] = part[30000]; }
void launch(const float* x, float* y, int n, int rows, bool* found) {
    int threads = std::min(512, n);
    int blocks = n / threads + (n % threads != 0);
    find_special<<<blocks, threads>>>(x, n, found, found + 1);
    centered<<<rows, n>>>(x, y, n);
    neighbors<<<rows, n>>>(x, y, n);
    summed<<<rows, dim3(C10_WARP_SIZE, 4)>>>(x, y, n);
    staged<<<rows, 64, 40000>>>(x, y);
    too_large<<<1, 64, 1 << 17>>>(y);
}
"""


def test_init_launches_kernels_as_their_host_does(inferred, parity, tmp_path, edit):
    text = inferred(WITH_SPECIAL_LAUNCHES)
    assert 'grid="ceil(n/min(512,n))",  # a guess\n    block="min(512,n)"' in text
    assert text.count("n % 32 == 0") == 1 and text.count('block="n"') == 2 and 'block="warpSize, 4"' in text
    assert 'shared="40000"' in text and "131072 bytes of shared memory, and most AMD GPUs have 65536" in text
    assert '"switches_4": (0, 1)' in text
    run = ("run", "-v", "--target", "gfx1100,gfx90a", "--examples", "3")
    result = parity(*run)
    assert result.code == 0 and "6 kernels" in result.out, result.out
    edit(tmp_path / "cases" / "kernels.py", '"warpSize, 4"', '"32, 4"')
    failed = parity(*run).out
    assert "FAIL  summed on gfx90a (emulated)" in failed, failed
    edit(tmp_path / "cases" / "kernels.py", '"32, 4"', '"warpSize, 4"')
    edit(tmp_path / "src" / "kernels.cu", "y + threadIdx.y] = sum;", "y + threadIdx.y] = sum + (C10_WARP_SIZE == 64);")
    failed = parity(*run).out
    assert "FAIL  summed on gfx90a (emulated)" in failed and "64x4x1>>>" in failed, failed
    assert "64x4x1 threads" in parity("explain", "kernels.summed[f32](x=3x8~normal@0)").out


def test_init_doubts_printed_numbers_that_round_differently(inferred):
    text = inferred(
        "#include <stdio.h>\n"
        '__global__ void exact(const float* x, int n) { if (threadIdx.x < n) printf("%g\\n", 2 * x[threadIdx.x]); }\n'
        '__global__ void rough(const float* x, int n) { if (threadIdx.x < n) printf("%a\\n", expf(x[threadIdx.x])); }\n'
    )
    assert 'exact_op = Op(\n    "kernels.exact"' in text
    assert "it prints floating-point numbers, whose last digits may differ" in text and "# rough_op" in text


def test_init_compares_variables_and_printed_text(inferred, parity, tmp_path, edit):
    text = inferred(WITHOUT_OUTPUT_ARGUMENTS)
    assert 'updates={"sums": "f32"}' in text and 'symbols={"stats::sums": "sums"}' in text
    assert text.count('symbols={"printf": "printed"}') == 2 and 'grid="2",  # a guess\n    block=5,' in text
    run = ("run", "-v", "--target", "gfx1100,gfx90a", "--examples", "3")
    result = parity(*run)
    assert result.code == 0 and "4 kernels" in result.out, result.out
    on_amd = "#ifdef __HIP_PLATFORM_AMD__\n#define FAULT 1\n#else\n#define FAULT 0\n#endif"
    edit(tmp_path / "src" / "kernels.cu", "#define FAULT 0", on_amd)
    failed = parity(*run).out
    assert all(f"FAIL  {name} " in failed for name in ("adds", "counts", "shows", "greets")), failed
