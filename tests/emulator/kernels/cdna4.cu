// Instructions that only CDNA 4 has. One wavefront of 64 lanes executes each kernel.
typedef int Ints2 __attribute__((ext_vector_type(2)));
typedef int Ints4 __attribute__((ext_vector_type(4)));
typedef int Ints8 __attribute__((ext_vector_type(8)));
typedef float Floats4 __attribute__((ext_vector_type(4)));
typedef short Shorts2 __attribute__((ext_vector_type(2)));
typedef short Shorts4 __attribute__((ext_vector_type(4)));
typedef _Float16 Halves2 __attribute__((ext_vector_type(2)));
typedef _Float16 Halves8 __attribute__((ext_vector_type(8)));
typedef __bf16 Bf16s2 __attribute__((ext_vector_type(2)));
typedef __bf16 Bf16s8 __attribute__((ext_vector_type(8)));
#define LDS __attribute__((address_space(3)))
#define GLOBAL __attribute__((address_space(1)))
#define KERNEL extern "C" __global__ void

KERNEL swapped_rows(const unsigned* x, unsigned* out) {
    const unsigned lane = threadIdx.x, a = x[lane], b = x[64 + lane];
    const auto small = __builtin_amdgcn_permlane16_swap(a, b, false, false);
    const auto large = __builtin_amdgcn_permlane32_swap(a, b, false, false);
    out[lane] = small[0];
    out[64 + lane] = small[1];
    out[128 + lane] = large[0];
    out[192 + lane] = large[1];
}
KERNEL bits(const unsigned* x, unsigned* out) {
    const unsigned lane = threadIdx.x;
    unsigned r, s;
    asm("v_bitop3_b32 %0, %1, %2, %3 bitop3:0x6c" : "=v"(r) : "v"(x[lane]), "v"(x[64 + lane]), "v"(x[128 + lane]));
    asm("v_bitop3_b16 %0, %1, %2, %3 bitop3:0xea" : "=v"(s) : "v"(x[lane]), "v"(x[64 + lane]), "v"(x[128 + lane]));
    out[lane] = r;
    out[64 + lane] = s & 0xffff;
}
KERNEL narrowed(const float* x, unsigned* out) {
    const unsigned lane = threadIdx.x;
    const float a = x[2 * lane], b = x[2 * lane + 1];
    unsigned half, brain;
    asm("v_cvt_pk_f16_f32 %0, %1, %2" : "=v"(half) : "v"(a), "v"(b));
    asm("v_cvt_pk_bf16_f32 %0, %1, %2" : "=v"(brain) : "v"(a), "v"(b));
    const Halves2 halves = {(_Float16)a, (_Float16)b};
    Shorts2 of_floats = {}, of_halves = {};
    of_floats = __builtin_amdgcn_cvt_scalef32_pk_fp8_f32(of_floats, a, b, 4.0f, false);
    of_floats = __builtin_amdgcn_cvt_scalef32_pk_bf8_f32(of_floats, a, b, 1.0f, true);
    of_halves = __builtin_amdgcn_cvt_scalef32_pk_fp8_f16(of_halves, halves, 0.5f, true);
    out[lane] = half;
    out[64 + lane] = brain;
    out[128 + lane] = __builtin_bit_cast(unsigned, of_floats);
    out[192 + lane] = __builtin_bit_cast(unsigned, of_halves);
}
KERNEL transposed(const unsigned long long* x, unsigned long long* out) {
    __shared__ unsigned long long rows[64];
    const unsigned lane = threadIdx.x;
    rows[lane] = x[lane];
    __syncthreads();
    const auto wide = __builtin_amdgcn_ds_read_tr16_b64_v4i16((LDS Shorts4*)&rows[lane]);
    const auto narrow = __builtin_amdgcn_ds_read_tr8_b64_v2i32((LDS Ints2*)&rows[lane]);
    out[lane] = __builtin_bit_cast(unsigned long long, wide);
    out[64 + lane] = __builtin_bit_cast(unsigned long long, narrow);
}
KERNEL copied(const unsigned* x, unsigned* out) {
    __shared__ unsigned data[64 * 4 + 64];
    const unsigned lane = threadIdx.x;
    const unsigned* from = x + (lane ^ 1) * 4; // a lane reads what its neighbour writes
    __builtin_amdgcn_global_load_lds((GLOBAL void*)from, (LDS void*)data, 16, 0, 0);
    const Ints4 resource = {(int)(unsigned long long)x, (int)((unsigned long long)x >> 32), 100, 0x27000};
    asm volatile("s_mov_b32 m0, %2\n\ts_nop 0\n\tbuffer_load_dword %0, %1, 0 offen lds"
                 : : "v"(lane * 4), "s"(resource), "s"((unsigned)(unsigned long long)(LDS void*)(data + 256)) : "memory");
    __builtin_amdgcn_s_waitcnt(0);
    __syncthreads();
    for (unsigned i = 0; i < 5; i++) out[64 * i + lane] = data[64 * i + lane];
}
/** Products of 16 x 32 and 32 x 16 numbers, and of 16 x 128 and 128 x 16 (fp8 and bf8). */
KERNEL multiplied(const Halves8* a, const Halves8* b, const Ints8* c, const Ints8* d, Floats4* out) {
    const unsigned lane = threadIdx.x;
    out[lane] = __builtin_amdgcn_mfma_f32_16x16x32_f16(a[lane], b[lane], Floats4{}, 0, 0, 0);
    Floats4 sum = {};
    asm("s_nop 4\n\tv_mfma_f32_16x16x128_f8f6f4 %0, %1, %2, %0 blgp:1\n\ts_nop 15" : "+v"(sum) : "v"(c[lane]), "v"(d[lane]));
    out[64 + lane] = sum;
}
/** Scaled products of 16 x 128 and 128 x 16 numbers: f8 and f4, f6 and f6, and of 32 x 64 and 64 x 32 numbers: f4. */
KERNEL scaled(const Ints8* a, const Ints8* b, const unsigned* scales, Floats4* out) {
    const unsigned lane = threadIdx.x;
    const int p = scales[lane], q = scales[64 + lane];
    out[lane] = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a[lane], b[lane], Floats4{}, 0, 4, 1, p, 2, q);
    out[64 + lane] = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a[64 + lane], b[64 + lane], Floats4{}, 2, 3, 0, p, 3, q);
    typedef float Floats16 __attribute__((ext_vector_type(16)));
    const Floats16 sum = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(b[lane], b[lane], Floats16{}, 4, 4, 0, p, 0, q);
    for (unsigned i = 0; i < 4; i++) out[128 + 64 * i + lane] = Floats4{sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]};
}
