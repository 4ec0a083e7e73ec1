// A buffer load into LDS, which generations up to 10 have and the emulator lacks.
typedef unsigned Four __attribute__((ext_vector_type(4)));

extern "C" __global__ void into_lds(const unsigned* x, unsigned* out) {
    const unsigned long long base = (unsigned long long)x;
    const Four resource = {(unsigned)base, (unsigned)(base >> 32), 64, 0x14000};
    asm volatile("buffer_load_dword %0, %1, 0 offen lds" : : "v"(threadIdx.x), "s"(resource));
}
