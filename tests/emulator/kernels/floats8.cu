// Conversions of 8-bit floats with instructions of a target: FNUZ formats on gfx942, OCP formats on gfx1201.
extern "C" __global__ void encode(int n, const float* x, unsigned* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int fp8 = __builtin_amdgcn_cvt_pk_fp8_f32(x[i], -x[i], 0, false);
    fp8 = __builtin_amdgcn_cvt_pk_bf8_f32(x[i], -x[i], fp8, true);
    y[i] = fp8;
}
extern "C" __global__ void decode(int n, const unsigned* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    typedef float Pair __attribute__((ext_vector_type(2)));
    const Pair fp8 = __builtin_amdgcn_cvt_pk_f32_fp8(x[i], true), bf8 = __builtin_amdgcn_cvt_pk_f32_bf8(x[i], false);
    y[6 * i] = __builtin_amdgcn_cvt_f32_fp8(x[i], 0);
    y[6 * i + 1] = __builtin_amdgcn_cvt_f32_bf8(x[i], 1);
    y[6 * i + 2] = fp8.x;
    y[6 * i + 3] = fp8.y;
    y[6 * i + 4] = bf8.x;
    y[6 * i + 5] = bf8.y;
}
