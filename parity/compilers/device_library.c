// The constants that a ROCm defines in its oclc_*.bc files. Not every wheel ships all of those files, so parity compiles the
// constants itself (device_library.py). Compiler flags select them as in hipcc (clang, ROCmToolChain.cpp).
#define CONTROL(type, name, value) const __attribute__((address_space(4), visibility("hidden"))) type name = value;
CONTROL(unsigned char, __oclc_daz_opt, FLUSHED)
CONTROL(unsigned char, __oclc_unsafe_math_opt, UNSAFE)
CONTROL(unsigned char, __oclc_finite_only_opt, FINITE)
CONTROL(unsigned char, __oclc_correctly_rounded_sqrt32, EXACT)
CONTROL(unsigned char, __oclc_wavefrontsize64, WAVE64)
CONTROL(int, __oclc_wavefrontsize_log2, WAVE64 ? 6 : 5)  // ROCm 7 and newer
CONTROL(int, __oclc_ISA_version, ISA)
CONTROL(int, __oclc_ABI_version, 500)
