// Kernels that access memory through buffer resources. `offset` counts bytes, and `flags` is word 3 of the resource.
#define KERNEL extern "C" __global__ void

typedef unsigned u32;
typedef unsigned char u8;
typedef unsigned short u16;
typedef u32 Two __attribute__((ext_vector_type(2)));
typedef u32 Three __attribute__((ext_vector_type(3)));
typedef u32 Four __attribute__((ext_vector_type(4)));

struct Resource {
    u32 stride, records, flags, offset;
};
#define RAW(p) __builtin_amdgcn_make_buffer_rsrc((void*)p, (short)r.stride, r.records, r.flags)

/** Each thread loads `bytes` bytes from its place in x. */
#define LOADS(T, bits)                                                                                          \
    KERNEL load_b##bits(const T* x, T* out, Resource r) {                                                       \
        out[threadIdx.x] = __builtin_bit_cast(                                                                  \
            T, __builtin_amdgcn_raw_buffer_load_b##bits(RAW(x), threadIdx.x * (bits / 8), r.offset, 0));        \
    }                                                                                                           \
    KERNEL store_b##bits(const T* x, T* out, Resource r) {                                                      \
        __builtin_amdgcn_raw_buffer_store_b##bits(x[threadIdx.x], RAW(out), threadIdx.x * (bits / 8), r.offset, 0); \
    }
LOADS(u8, 8)
LOADS(u16, 16)
LOADS(u32, 32)
LOADS(Two, 64)
LOADS(Four, 128)
KERNEL load_b96(const Three* x, u32* out, Resource r) {
    const auto found = __builtin_amdgcn_raw_buffer_load_b96(RAW(x), threadIdx.x * 12, r.offset, 0);
    for (int k = 0; k < 3; k++) out[3 * threadIdx.x + k] = found[k];
}
KERNEL signed_bytes(const signed char* x, int* out, Resource r) {
    out[threadIdx.x] = (signed char)__builtin_amdgcn_raw_buffer_load_b8(RAW(x), threadIdx.x, r.offset, 0);
}
KERNEL halves(const _Float16* x, _Float16* out, Resource r) {
    const u16 bits = __builtin_amdgcn_raw_buffer_load_b16(RAW(x), 2 * threadIdx.x, r.offset, 0);
    out[threadIdx.x] = __builtin_bit_cast(_Float16, bits) + (_Float16)1;
}

#if defined(__gfx1201__)
#define NONE "null"
#define RETURNS "th:TH_ATOMIC_RETURN"
#define WAIT "\n s_wait_loadcnt 0x0"
#define LOAD "buffer_load_b32"
#define LOAD2 "buffer_load_b64"
#define ADD "buffer_atomic_add_u32"
#define EXCHANGE "buffer_atomic_cmpswap_b32"
#else
#define NONE "0"
#if defined(__gfx942__) || defined(__gfx950__)
#define RETURNS "sc0"
#else
#define RETURNS "glc"
#endif
#define WAIT "\n s_waitcnt vmcnt(0)"
#define LOAD "buffer_load_dword"
#define LOAD2 "buffer_load_dwordx2"
#if defined(__gfx1100__)
#define ADD "buffer_atomic_add_u32"
#define EXCHANGE "buffer_atomic_cmpswap_b32"
#else
#define ADD "buffer_atomic_add"
#define EXCHANGE "buffer_atomic_cmpswap"
#endif
#endif
#define WORDS(p)                                                                                        \
    Four {                                                                                              \
        (u32)(unsigned long long)p, (u32)((unsigned long long)p >> 32) | r.stride << 16, r.records, r.flags \
    }
/** The first word of each record by its index, at `offset` in the record. */
KERNEL load_by_index(const u32* x, u32* out, Resource r) {
    u32 found;
    const auto place = threadIdx.x | (unsigned long long)r.offset << 32;
    asm volatile(LOAD " %0, %1, %2, " NONE " idxen offen" WAIT : "=v"(found) : "v"(place), "s"(WORDS(x)));
    out[threadIdx.x] = found;
}
KERNEL load_pair_by_index(const u32* x, Two* out, Resource r) {
    Two found;
    const auto place = threadIdx.x | (unsigned long long)r.offset << 32;
    asm volatile(LOAD2 " %0, %1, %2, " NONE " idxen offen" WAIT : "=v"(found) : "v"(place), "s"(WORDS(x)));
    out[threadIdx.x] = found;
}
KERNEL load_swizzled(const u32* x, u32* out, Resource r) {
    u32 found;
    asm volatile(LOAD " %0, %1, %2, " NONE " idxen" WAIT : "=v"(found) : "v"(threadIdx.x), "s"(WORDS(x) | Four{0, 1u << 31, 0, 0}));
    out[threadIdx.x] = found;
}
KERNEL add_to(const u32* x, u32* out, Resource r) {
    u32 old = x[threadIdx.x];
    asm volatile(ADD " %0, %1, %2, " NONE " offen " RETURNS WAIT
                 : "+v"(old) : "v"(threadIdx.x % 2 * 4 + r.offset), "s"(WORDS(out)) : "memory");
    out[2 + threadIdx.x] = old;
}
KERNEL exchange_if_equal(const u32* x, u32* out, Resource r) {
    Two value = {100 + threadIdx.x, x[threadIdx.x]};  // the new value, and the one to compare with
    asm volatile(EXCHANGE " %0, %1, %2, " NONE " offen " RETURNS WAIT
                 : "+v"(value) : "v"(threadIdx.x * 4 + r.offset), "s"(WORDS(out)) : "memory");
    out[32 + threadIdx.x] = value[0];
}
