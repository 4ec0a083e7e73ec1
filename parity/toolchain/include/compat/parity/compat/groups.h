// cooperative_groups::reduce and the scans, which HIP's cooperative groups lack.
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

// The value of another thread of the group, word by word: HIP's groups shuffle no type of more than 8 bytes.
template <class Group, class T>
__device__ __forceinline__ T of_rank(const Group& group, T value, unsigned rank) {
    return ::parity_compat::exchanged(value, [&](int word) { return group.shfl(word, int(rank)); });
}

}  // namespace parity_compat_groups

// The same in every thread: ranks 0, 1, 2, ... from the left.
template <class Group, class T, class Operation>
__device__ T reduce(const Group& group, T value, Operation operation) {
    T result = parity_compat_groups::of_rank(group, value, 0);
    for (unsigned rank = 1; rank < group.size(); ++rank) {
        result = operation(result, parity_compat_groups::of_rank(group, value, rank));
    }
    return result;
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
