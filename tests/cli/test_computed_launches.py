"""Kernels whose threads and shared memory the host computes from numbers that it passes."""

from __future__ import annotations

PARTS = """
__global__ void alone(const float* x, const float* w, float* y, int rows, int cols, int tile, int parts) {
    extern __shared__ float part[];
    float *first = part, *second = part + tile * cols;
    for (int p = 0; p < parts; p++)
        for (int r = 0; r < tile; r++)
            for (int c = 0; c < cols; c++) {
                first[r * cols + c] = x[(p * tile + r) * cols + c];
                second[r * cols + c] = first[r * cols + c] * w[c];
                y[(p * tile + r) * cols + c] = second[r * cols + c];
            }
}
__global__ void rows_of(const float* x, float* y, int rows, int cols, int tile, int parts) {
    extern __shared__ float part[];
    float *own = part, *sums = part + tile * cols;
    const int row = blockIdx.x * tile + threadIdx.x;
    float sum = 0;
    for (int c = 0; c < cols; c++) own[threadIdx.x * cols + c] = x[row * cols + c];
    for (int c = 0; c < cols; c++) sum += own[threadIdx.x * cols + c];
    sums[threadIdx.x] = sum;
    for (int c = 0; c < cols; c++) y[row * cols + c] = own[threadIdx.x * cols + c] - sums[threadIdx.x];
}
__global__ void slow(const float* x, float* y, int n, int m) {
    float sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < m; k++) sum += x[n * n + m * m + (i * j + k) % 5];
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
void run(const float* x, const float* w, float* y, int rows, int cols, int tile) {
    const int parts = (rows + tile - 1) / tile;
    dim3 one(1, 1, 1);
    alone<<<one, one, 2 * tile * cols * sizeof(float)>>>(x, w, y, rows, cols, tile, parts);
    int bytes = tile * cols * sizeof(float);
    bytes += tile * sizeof(float);
    rows_of<<<parts, tile, bytes>>>(x, y, rows, cols, tile, parts);
    slow<<<1, 64>>>(x, y, 4000, 3);
}
"""


def test_init_takes_threads_and_shared_memory_from_host_code(parity, tmp_path, monkeypatch, with_nvcc):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "parts.cu").write_text(PARTS)
    monkeypatch.chdir(tmp_path)
    made = parity("init", "--kernels", "src", "--limit", "1000")
    assert made.code == 0 and not made.err, made.err
    text = (tmp_path / "cases" / "parts.py").read_text()
    assert "To be completed" not in text and "parts:i32=ceil(rows/tile)" in text, text
    assert "n:i32=8 m:i32=3" in text, text  # with the large number of the host's code, cases would take too long
    result = parity("run", "--target", "gfx1100", "--examples", "3")
    assert result.code == 0 and "9 passed, 0 failed" in result.out, result.out + result.err


# Threads without an element end, and the last block has fewer warps; the build sets the number of threads.
SUMS = """
__global__ void sums(const double* x, double* total, int n) {
    extern __shared__ double parts[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = x[i];
    for (int d = 1; d < 32; d *= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    int warps = (blockIdx.x == gridDim.x - 1 ? n - (int)(blockIdx.x * blockDim.x) + 31 : (int)blockDim.x) / 32;
    if (threadIdx.x >= warps) return;
    sum = parts[threadIdx.x];
    for (int d = 1; d < warps; d *= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x == 0) total[blockIdx.x] = sum;
}
__global__ void clear(bool* flags, unsigned long long first, unsigned long long last) {
    unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x + first;
    for (unsigned long long j = i; i + j + 2 * i * j <= last; j++) flags[i + j + 2 * i * j - first] = false;
}
void run(const double* x, double* total, int n) {
    const unsigned threads = BLOCK_THREADS;
    sums<<<(n + threads - 1) / threads, threads, sizeof(Real) * (threads >> 5)>>>(x, total, n);
}
"""


def test_init_takes_macros_from_build_files_and_asks_for_whole_blocks(parity, tmp_path, monkeypatch, with_nvcc):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "sums.cu").write_text(SUMS)
    build = "add_library(sums sums.cu)\ntarget_compile_definitions(sums PRIVATE\n  BLOCK_THREADS=128\n)\n"
    (tmp_path / "src" / "CMakeLists.txt").write_text(build)
    monkeypatch.chdir(tmp_path)
    made = parity("init", "--kernels", "src", "--limit", "1000")
    text = (tmp_path / "cases" / "sums.py").read_text()
    assert made.code == 0 and "To be completed" not in text, text
    assert 'grid="ceil(n/128)"' in text and "block=128" in text and 'where="n % 128 == 0"' in text, text
    assert 'shapes="x: n; total: ceil(n/128)"' in text, text
    result = parity("run", "--target", "gfx1100,gfx90a", "--examples", "5")
    assert result.code == 0 and "2 kernels" in result.out, result.out + result.err
