// HIP's <hip/amd_detail/device_library_decls.h> leaks this macro. libc++'s <ranges> has a function of the same name.
#pragma once

#undef __local
