// Sort, scan and reduce by rocThrust.
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include "call.h"

using T = TYPE; // of the elements

static thrust::device_ptr<T> elements(const Tensor &tensor) { return thrust::device_pointer_cast((T *)tensor.data); }

static void argsort(const Call &call) {
    const Tensor &x = call["x"], &out = call["out"];
    const int64_t columns = x.shape[1];
    const size_t bytes = x.numel() * sizeof(T);
    Memory copied(bytes); // a sort also sorts its keys
    check(hipMemcpyAsync(copied.data, x.data, bytes, hipMemcpyDeviceToDevice, call.stream), "hipMemcpyAsync");
    const auto policy = thrust::hip::par.on(call.stream);
    for (int64_t row = 0; row < x.shape[0]; row++) {
        const auto keys = thrust::device_pointer_cast((T *)copied.data) + row * columns;
        const auto places = thrust::device_pointer_cast((uint32_t *)out.data) + row * columns;
        thrust::sequence(policy, places, places + columns);
        if (call.begins("sort.argsort_asc")) thrust::stable_sort_by_key(policy, keys, keys + columns, places);
        else thrust::stable_sort_by_key(policy, keys, keys + columns, places, thrust::greater<T>());
    }
    check(hipStreamSynchronize(call.stream), "hipStreamSynchronize");
}

template <typename Operation> static void reduction(const Call &call, Operation operation) {
    const Tensor &x = call["x"], &out = call["out"];
    const int64_t rows = out.numel(), columns = rows ? x.numel() / rows : 0;
    const bool sums = call.begins("reduce.sum");
    if (rows && !columns && !sums) throw Unsupported("an empty row does not have a maximum or minimum");
    check(hipStreamSynchronize(call.stream), "hipStreamSynchronize"); // single elements are read and written without it
    for (int64_t row = 0; row < rows; row++) {
        const auto first = elements(x) + row * columns, last = first + columns;
        const T start = sums ? T(0) : T(*first);
        elements(out)[row] = thrust::reduce(thrust::hip::par.on(call.stream), first, last, start, operation);
    }
}

static void scan(const Call &call) {
    const Tensor &x = call["x"];
    const auto policy = thrust::hip::par.on(call.stream);
    thrust::inclusive_scan(policy, elements(x), elements(x) + x.numel(), elements(call["out"]));
    check(hipStreamSynchronize(call.stream), "hipStreamSynchronize");
}

const std::map<std::string, std::function<void(const Call &)>> OPS = {
    {"reduce.max", [](const Call &call) { reduction(call, thrust::maximum<T>()); }},
    {"reduce.min", [](const Call &call) { reduction(call, thrust::minimum<T>()); }},
    {"reduce.sum", [](const Call &call) { reduction(call, thrust::plus<T>()); }},
    {"scan.sum", scan},
    {"sort.argsort_asc", argsort},
    {"sort.argsort_desc", argsort},
};
