// Sort, scan and reduce by hipCUB, which calls rocPRIM.
#include <hip/hip_fp16.h>
#include <hip/hip_bfloat16.h>
#include <hipcub/hipcub.hpp>

#include "call.h"

using T = TYPE; // of the elements

// Calls a function of hipCUB twice: for the size of its temporary memory, and with this memory.
template <typename Function> static void twice(const Call &call, Function function) {
    if (!call["out"].numel()) return;
    size_t bytes = 0;
    check(function(nullptr, bytes), call.op);
    Memory memory(bytes);
    check(function(memory.data, bytes), call.op);
    check(hipStreamSynchronize(call.stream), "hipStreamSynchronize");
}

// The offsets of rows of this length, and the end of the last row.
static std::vector<int> offsets(int64_t rows, int64_t columns) {
    std::vector<int> found;
    for (int64_t row = 0; row <= rows; row++) found.push_back(int(row * columns));
    return found;
}

static void argsort(const Call &call) {
    const Tensor &x = call["x"], &out = call["out"];
    int64_t rows = x.shape[0], columns = x.shape[1];
    int count = int(x.numel());
    auto starts = offsets(rows, columns);
    std::vector<uint32_t> numbers;
    for (int i = 0; i < count; i++) numbers.push_back(uint32_t(i % columns));
    Memory begin(starts.data(), starts.size() * sizeof(int)), indices(numbers.data(), count * sizeof(uint32_t));
    const int *first = (const int *)begin.data;
    bool ascending = call.begins("sort.argsort_asc");
    Memory sorted(count * sizeof(T));
    const T *from = (const T *)x.data;
    const uint32_t *values = (const uint32_t *)indices.data;
    twice(call, [&](void *memory, size_t &bytes) {
        auto sort = [&](auto function) {
            return function(memory, bytes, from, (T *)sorted.data, values, (uint32_t *)out.data, count, int(rows), first,
                            first + 1, 0, int(8 * sizeof(T)), call.stream);
        };
        using Sort = hipcub::DeviceSegmentedRadixSort;
        return ascending ? sort([](auto &&...all) { return Sort::SortPairs(all...); })
                         : sort([](auto &&...all) { return Sort::SortPairsDescending(all...); });
    });
}

template <typename Reduce> static void reduction(const Call &call, Reduce reduce) {
    const Tensor &x = call["x"], &out = call["out"];
    int64_t rows = out.numel();
    auto starts = offsets(rows, rows ? x.numel() / rows : 0);
    Memory begin(starts.data(), starts.size() * sizeof(int));
    const int *first = (const int *)begin.data;
    twice(call, [&](void *memory, size_t &bytes) {
        return reduce(memory, bytes, (const T *)x.data, (T *)out.data, int(rows), first, first + 1, call.stream);
    });
}

static void scan(const Call &call) {
    const Tensor &x = call["x"], &out = call["out"];
    twice(call, [&](void *memory, size_t &bytes) {
        return hipcub::DeviceScan::InclusiveSum(memory, bytes, (const T *)x.data, (T *)out.data, int(x.numel()),
                                                call.stream);
    });
}

#define REDUCE(name)                                                                                                   \
    [](const Call &call) {                                                                                             \
        reduction(call, [](auto &&...arguments) { return hipcub::DeviceSegmentedReduce::name(arguments...); });        \
    }

const std::map<std::string, std::function<void(const Call &)>> OPS = {
    {"reduce.max", REDUCE(Max)},
    {"reduce.min", REDUCE(Min)},
    {"reduce.sum", REDUCE(Sum)},
    {"scan.sum", scan},
    {"sort.argsort_asc", argsort},
    {"sort.argsort_desc", argsort},
};
