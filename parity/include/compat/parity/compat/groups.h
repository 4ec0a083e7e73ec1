// cooperative_groups::reduce, scans and binary_partition, which HIP lacks.
#pragma once

#include <hip/hip_cooperative_groups.h>
#include <parity/compat/shuffles.h>

namespace cooperative_groups {

#define PARITY_COMPAT_OPERATION(name, expression)                        \
    template <class T>                                                   \
    struct name {                                                        \
        __device__ T operator()(T a, T b) const { return expression; }   \
    };
PARITY_COMPAT_OPERATION(plus, a + b)
PARITY_COMPAT_OPERATION(less, b < a ? b : a)
PARITY_COMPAT_OPERATION(greater, a < b ? b : a)
PARITY_COMPAT_OPERATION(bit_and, a & b)
PARITY_COMPAT_OPERATION(bit_or, a | b)
PARITY_COMPAT_OPERATION(bit_xor, a ^ b)
#undef PARITY_COMPAT_OPERATION

namespace parity_compat_groups {

// Returns the value of another thread of the group. Exchanges it word by word: HIP's groups shuffle at most 8 bytes.
template <class Group, class T>
__device__ __forceinline__ T of_rank(const Group& group, T value, unsigned rank) {
    return ::parity_compat::exchanged(value, [&](int word) { return group.shfl(word, int(rank)); });
}

struct of_lanes : coalesced_group {
    __device__ explicit of_lanes(lane_mask lanes) : coalesced_group(lanes) {}
};

// The threads of a group whose condition equals this thread's condition.
template <class Group>
__device__ coalesced_group alike(const Group& group, int condition) {
    unsigned long long lanes = 0;
    for (unsigned rank = 0; rank < group.size(); ++rank) {
        const unsigned long long is_one = group.shfl(condition, int(rank)) == condition;
        lanes |= is_one << unsigned(group.shfl(int(__lane_id()), int(rank)));
    }
    return of_lanes(lanes);
}

}  // namespace parity_compat_groups

// The pack lets the functions of a newer HIP take precedence.
template <class... Last>
__device__ coalesced_group binary_partition(const coalesced_group& group, bool condition, Last...) {
    return parity_compat_groups::alike(group, condition);
}
template <unsigned size, class Parent, class... Last>
__device__ coalesced_group binary_partition(const thread_block_tile<size, Parent>& tile, bool condition, Last...) {
    return parity_compat_groups::alike(tile, condition);
}

// Every thread gets the same result: values are combined from the left, in order of rank.
template <class Group, class T, class Operation>
__device__ T reduce(const Group& group, T value, Operation operation) {
    T result = parity_compat_groups::of_rank(group, value, 0);
    for (unsigned rank = 1; rank < group.size(); ++rank) {
        result = operation(result, parity_compat_groups::of_rank(group, value, rank));
    }
    return result;
}

// A tile combines values as CUDA's tile does, so that floating-point results are the same.
template <unsigned size, class Parent, class T, class Operation>
__device__ T reduce(const thread_block_tile<size, Parent>& tile, T value, Operation operation) {
    for (unsigned mask = size / 2; mask > 0; mask /= 2) {
        value = operation(value, parity_compat_groups::of_rank(tile, value, tile.thread_rank() ^ mask));
    }
    return value;
}

template <class Group, class T, class Operation = plus<T>>
__device__ T inclusive_scan(const Group& group, T value, Operation operation = {}) {
    T result = value;
    for (unsigned rank = group.size() - 1; rank-- > 0;) {
        const T other = parity_compat_groups::of_rank(group, value, rank);
        if (rank < group.thread_rank()) result = operation(other, result);
    }
    return result;
}

// Thread 0 gets T().
template <class Group, class T, class Operation = plus<T>>
__device__ T exclusive_scan(const Group& group, T value, Operation operation = {}) {
    const T sums = inclusive_scan(group, value, operation);
    const unsigned rank = group.thread_rank();
    const T before = parity_compat_groups::of_rank(group, sums, rank ? rank - 1 : 0);
    return rank ? before : T();
}

}  // namespace cooperative_groups
