// A typed load from a buffer. Word 3 of the descriptor has the format. tex1Dfetch of HIP becomes this instruction.
typedef unsigned u32;
typedef u32 Four __attribute__((ext_vector_type(4)));

struct Descriptor {
    u32 stride, records, word;
};
__device__ Four typed_load(Four words, int index, int offset, int scalar_offset, int policy) __asm(
    "llvm.amdgcn.struct.buffer.load.format.v4i32");

extern "C" __global__ void texels(const u32* x, Four* out, Descriptor d) {
    const unsigned long at = (unsigned long)x;
    const Four words = {(u32)at, (u32)(at >> 32) | d.stride << 16, d.records, d.word};
    out[threadIdx.x] = typed_load(words, threadIdx.x, 0, 0, 0);
}
