// cuda::counting_semaphore and cuda::binary_semaphore, on an atomic counter.
#pragma once

#include <climits>
#include <parity/compat/cuda_atomic.h>

namespace cuda {

template <thread_scope of = thread_scope_system, ptrdiff_t most = INT_MAX>
struct counting_semaphore {
    __host__ __device__ constexpr counting_semaphore(ptrdiff_t count = 0) : left(int(count)) {}
    counting_semaphore(const counting_semaphore&) = delete;
    counting_semaphore& operator=(const counting_semaphore&) = delete;

    static constexpr ptrdiff_t max() { return most; }
    __host__ __device__ void release(ptrdiff_t count = 1) { left.fetch_add(int(count), memory_order_release); }
    __host__ __device__ bool try_acquire() {
        int seen = left.load(memory_order_relaxed);
        while (seen > 0) {
            if (left.compare_exchange_weak(seen, seen - 1, memory_order_acquire)) return true;
        }
        return false;
    }
    __host__ __device__ void acquire() {
        while (!try_acquire()) {}
    }

 private:
    atomic<int, of> left;
};
template <thread_scope of = thread_scope_system>
using binary_semaphore = counting_semaphore<of, 1>;

namespace std {

template <ptrdiff_t most = INT_MAX>
using counting_semaphore = ::cuda::counting_semaphore<thread_scope_system, most>;
using binary_semaphore = counting_semaphore<1>;

}  // namespace std

}  // namespace cuda
