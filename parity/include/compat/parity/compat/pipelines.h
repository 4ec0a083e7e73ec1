// cuda::pipeline, cuda::barrier and their copies in simple use: all threads of a group arrive and wait. Copies are
// synchronous, so a wait only synchronizes the threads.
#pragma once

#include <cassert>
#include <cstdint>
#include <hip/hip_cooperative_groups.h>
#include <parity/compat/copies.h>
#include <parity/compat/scopes.h>

namespace parity_compat {

template <class Unit>
__device__ __forceinline__ void copy_units(char* to, const char* from, size_t bytes, unsigned rank, unsigned size) {
    for (size_t k = rank; k < bytes / sizeof(Unit); k += size) ((Unit*)to)[k] = ((const Unit*)from)[k];
}

// Copies bytes with all threads of a group, in the largest unit to which both addresses are aligned.
__device__ __forceinline__ void copy_together(void* to, const void* from, size_t bytes, unsigned rank, unsigned size) {
    const size_t together = (size_t)to | (size_t)from | bytes;
    char* const target = (char*)to;
    const char* const source = (const char*)from;
    if (together % 16 == 0) copy_units<uint4>(target, source, bytes, rank, size);
    else if (together % 4 == 0) copy_units<unsigned>(target, source, bytes, rank, size);
    else copy_units<unsigned char>(target, source, bytes, rank, size);
}

}  // namespace parity_compat

namespace cooperative_groups {

template <class Group, class To, class From>
__device__ void memcpy_async(const Group& group, To* to, const From* from, size_t bytes) {
    parity_compat::copy_together(to, from, bytes, group.thread_rank(), group.size());
}
template <class Group, class T>
__device__ void memcpy_async(const Group& group, T* to, size_t room, const T* from, size_t count) {
    memcpy_async(group, to, from, sizeof(T) * (count < room ? count : room));
}
template <class Group>
__device__ void wait(const Group& group) {
    group.sync();
}
template <unsigned, class Group>
__device__ void wait_prior(const Group& group) {
    group.sync();
}

}  // namespace cooperative_groups

namespace cuda {

template <size_t alignment>
struct aligned_size_t {
    size_t value;
    __device__ explicit aligned_size_t(size_t value) : value(value) {}
    __device__ operator size_t() const { return value; }
};

// The scope is a single thread or a whole block.
template <thread_scope scope>
struct pipeline {
    __device__ void producer_acquire() { meet(); }
    __device__ void producer_commit() {}
    __device__ void consumer_wait() { meet(); }
    __device__ void consumer_release() {}
    __device__ bool quit() { return true; }

 private:
    static __device__ void meet() {
        if constexpr (scope != thread_scope_thread) __syncthreads();
    }
};
template <thread_scope scope, uint8_t stages>
struct pipeline_shared_state {};

__device__ inline pipeline<thread_scope_thread> make_pipeline() { return {}; }
template <class Group, thread_scope scope, uint8_t stages>
__device__ pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>*) {
    assert(group.size() == blockDim.x * blockDim.y * blockDim.z);  // only for whole blocks
    return {};
}
template <uint8_t, thread_scope scope>
__device__ void pipeline_consumer_wait_prior(pipeline<scope>& pipe) {
    pipe.consumer_wait();
}

// The scope is a whole block.
template <thread_scope scope, class Completion = void>
struct barrier {
    struct arrival_token {};

    barrier() = default;
    __device__ arrival_token arrive(ptrdiff_t = 1) { return {}; }
    __device__ void wait(arrival_token) { __syncthreads(); }
    __device__ void arrive_and_wait() { __syncthreads(); }
};
template <thread_scope scope>
__device__ void init(barrier<scope>*, ptrdiff_t expected) {
    assert(expected == ptrdiff_t(blockDim.x * blockDim.y * blockDim.z));  // only for whole blocks
}

template <class To, class From, class Waits>
__device__ void memcpy_async(To* to, const From* from, size_t bytes, Waits&) {
    parity_compat::copy_together(to, from, bytes, 0, 1);
}
template <class Group, class To, class From, class Waits>
__device__ void memcpy_async(const Group& group, To* to, const From* from, size_t bytes, Waits&) {
    parity_compat::copy_together(to, from, bytes, group.thread_rank(), group.size());
}

}  // namespace cuda
