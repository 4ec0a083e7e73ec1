// <hip/hip_cooperative_groups.h> with the votes and matches of tiles and coalesced groups that HIP 6.2 lacks. It also
// has CUDA's newer names for the sizes of blocks and tiles.
//
// Bit k of a mask belongs to the thread of rank k. Masks have 64 bits, as in HIP versions with these functions.
#pragma once

namespace cooperative_groups {
namespace parity_votes {
template <class Group>
__device__ unsigned long long ballot(const Group& group, bool vote);
template <class Group, class T>
__device__ unsigned long long match_any(const Group& group, T value);
template <class Group, class T>
__device__ unsigned long long match_all(const Group& group, T value, int& all);
}  // namespace parity_votes
}  // namespace cooperative_groups

// Tiles and coalesced groups both declare shfl in this form. The macro turns the text before the name into an unused
// function and inserts the new members. Members that HIP declares itself take precedence: they are not templates, or
// are more specialized templates.
#define shfl(value, rank)                                                                  \
    parity_before_votes(T x) const { return x; }                                           \
    template <class Vote>                                                                  \
    __device__ unsigned long long ballot(Vote vote) const {                                \
        return parity_votes::ballot(*this, static_cast<bool>(vote));                       \
    }                                                                                      \
    template <class Vote>                                                                  \
    __device__ int any(Vote vote) const {                                                  \
        return parity_votes::ballot(*this, static_cast<bool>(vote)) != 0;                  \
    }                                                                                      \
    template <class Vote>                                                                  \
    __device__ int all(Vote vote) const {                                                  \
        return parity_votes::ballot(*this, !static_cast<bool>(vote)) == 0;                 \
    }                                                                                      \
    template <class T, class... None>                                                      \
    __device__ unsigned long long match_any(T own, None...) const {                        \
        return parity_votes::match_any(*this, own);                                        \
    }                                                                                      \
    template <class T, class... None>                                                      \
    __device__ unsigned long long match_all(T own, int& same, None...) const {             \
        return parity_votes::match_all(*this, own, same);                                  \
    }                                                                                      \
    template <class... None>                                                               \
    __device__ unsigned num_threads(None...) const {                                       \
        return this->size();                                                               \
    }                                                                                      \
    template <class T>                                                                     \
    __CG_QUALIFIER__ T shfl(value, rank)
// Inserts the members of a block in the same way.
#define group_dim()                                                                        \
    parity_before_sizes() { return internal::workgroup::block_dim(); }                     \
    template <class... None>                                                               \
    __device__ dim3 dim_threads(None...) const {                                           \
        return internal::workgroup::block_dim();                                           \
    }                                                                                      \
    template <class... None>                                                               \
    __device__ unsigned num_threads(None...) const {                                       \
        return size();                                                                     \
    }                                                                                      \
    __CG_QUALIFIER__ dim3 group_dim()
#include_next <hip/hip_cooperative_groups.h>
#undef group_dim
#undef shfl

namespace cooperative_groups {
namespace parity_votes {

// Only the base class has access to the lanes of a coalesced group.
struct Lanes : thread_group {
    static __device__ unsigned long long of(const coalesced_group& group) {
        const thread_group& base = group;
        return (base.*(&Lanes::coalesced_info)).member_mask;
    }
};

__device__ inline unsigned long long lanes(const coalesced_group& group) { return Lanes::of(group); }

template <unsigned size>
__device__ unsigned long long lanes(const tile_base<size>&) {
    constexpr unsigned long long all = size < 64 ? (1ull << (size & 63)) - 1 : ~0ull;
    return all << (__lane_id() & ~(size - 1));
}

// Packs the bits of these lanes next to each other, in order of rank.
__device__ inline unsigned long long by_rank(unsigned long long bits, unsigned long long lanes) {
    const int first = __builtin_ctzll(lanes);
    if (((lanes >> first) & ((lanes >> first) + 1)) == 0) return (bits & lanes) >> first;
    unsigned long long result = 0;
    for (int rank = 0; lanes; ++rank, lanes &= lanes - 1) result |= (bits >> __builtin_ctzll(lanes) & 1) << rank;
    return result;
}

template <class Group>
__device__ unsigned long long ballot(const Group& group, bool vote) {
    return by_rank(__ballot(vote), lanes(group));
}

template <class T>
__device__ bool same_bits(const T& a, const T& b) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a word, or two of them");
    int left[sizeof(T) / 4], right[sizeof(T) / 4];
    __builtin_memcpy(left, &a, sizeof(T));
    __builtin_memcpy(right, &b, sizeof(T));
    bool result = true;
    for (unsigned i = 0; i < sizeof(T) / 4; ++i) result &= left[i] == right[i];
    return result;
}

template <class Group, class T>
__device__ unsigned long long match_any(const Group& group, T value) {
    unsigned long long result = 0;
    for (unsigned rank = 0; rank < group.size(); ++rank) {
        result |= static_cast<unsigned long long>(same_bits(group.shfl(value, int(rank)), value)) << rank;
    }
    return result;
}

template <class Group, class T>
__device__ unsigned long long match_all(const Group& group, T value, int& all) {
    all = ballot(group, !same_bits(group.shfl(value, 0), value)) == 0;
    return all ? ballot(group, true) : 0;
}

}  // namespace parity_votes
}  // namespace cooperative_groups
