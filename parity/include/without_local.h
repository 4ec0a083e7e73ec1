// HIP's <hip/amd_detail/device_library_decls.h> leaves this macro behind; <ranges> of libc++ has a function of that name.
#pragma once

#undef __local
