// Kernels that read registers, some of which nothing has set.
#define KERNEL extern "C" __global__ void

typedef unsigned u32;

#define READS(name, text)                                \
    KERNEL name(u32* out) {                              \
        u32 value;                                       \
        asm volatile(text : "=v"(value) : : "memory");   \
        out[threadIdx.x] = value;                        \
    }

#if defined(__gfx90a__)
READS(accumulator, "v_accvgpr_read_b32 %0, a9")
#else
READS(vector_register, "v_mov_b32 %0, v99")
READS(after_arithmetic, "v_add3_u32 %0, v99, v98, 1")
READS(scalar_register, "v_mov_b32 %0, s77")
READS(trap_register, "v_mov_b32 %0, ttmp4")
READS(m0_register, "v_mov_b32 %0, m0")
READS(vcc_register, "v_mov_b32 %0, vcc_lo")
READS(carry, "s_cselect_b32 s50, 1, 2\n v_mov_b32 %0, s50")
READS(after_readlane, "v_readlane_b32 s50, v99, 3\n v_mov_b32 %0, s50")
READS(only_one_lane, "v_writelane_b32 v99, 7, 3\n v_mov_b32 %0, v99")
READS(zero_times, "v_mul_u32_u24 %0, v99, 0")
READS(written_before, "v_mov_b32 v99, 7\n s_mov_b32 s77, 5\n v_add_nc_u32 %0, v99, s77")
READS(slot, "s_getreg_b32 s50, hwreg(HW_REG_HW_ID1, 0, 5)\n v_mov_b32 %0, s50")

/** Uses a register that has a value only if the first element of `out` is 1. */
KERNEL on_one_path(u32* out) {
    const u32 first = __builtin_amdgcn_readfirstlane(out[0]);
    u32 value;
    asm volatile(
        "s_cmp_lg_u32 %1, 1\n"
        "s_cbranch_scc1 skip_%=\n"
        "v_mov_b32 v99, 7\n"
        "skip_%=:\n"
        "v_add3_u32 %0, v99, 0, 1"
        : "=v"(value) : "s"(first) : "v99", "scc", "memory");
    out[threadIdx.x] = value;
}
KERNEL as_an_address(u32* out) {
    u32 at;
    asm volatile("v_mov_b32 %0, v99" : "=v"(at));
    out[at] = 1;
}
#if defined(__gfx1201__)
/** The number of the wavefront in its block, from the place where the launch puts it. */
READS(wave_number, "s_bfe_u32 s50, ttmp8, 0x50019\n v_mov_b32 %0, s50")
#endif
#endif
