// Thread scopes of cuda:: and the matching scopes of clang.
#pragma once

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

}

namespace parity_compat {

template <cuda::thread_scope scope>
inline constexpr int hip_scope = scope == cuda::thread_scope_system   ? __HIP_MEMORY_SCOPE_SYSTEM
                                 : scope == cuda::thread_scope_device ? __HIP_MEMORY_SCOPE_AGENT
                                 : scope == cuda::thread_scope_block  ? __HIP_MEMORY_SCOPE_WORKGROUP
                                                                      : __HIP_MEMORY_SCOPE_SINGLETHREAD;

}
