// Sort, scan and reduce of rocThrust and rocPRIM, compared with the C++ standard library.
#include "check.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <rocprim/rocprim.hpp>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

int main() {
    for (int n : {1, 100, 3000}) {
        std::vector<unsigned> x(n), y(n);
        for (int i = 0; i < n; i++) x[i] = (i * 2654435761u) >> 7;
        thrust::device_vector<unsigned> a(x.begin(), x.end()), b(n);
        EXPECT(thrust::reduce(a.begin(), a.end()) == std::accumulate(x.begin(), x.end(), 0u));
        thrust::inclusive_scan(a.begin(), a.end(), b.begin());
        thrust::copy(b.begin(), b.end(), y.begin());
        std::vector<unsigned> sums(n);
        std::partial_sum(x.begin(), x.end(), sums.begin());
        EXPECT(y == sums);
        size_t size = 0;
        const unsigned* from = thrust::raw_pointer_cast(a.data());
        unsigned* to = thrust::raw_pointer_cast(b.data());
        CHECK(rocprim::radix_sort_keys(nullptr, size, from, to, n));
        void* storage;
        CHECK(hipMalloc(&storage, size));
        CHECK(rocprim::radix_sort_keys(storage, size, from, to, n));
        thrust::copy(b.begin(), b.end(), y.begin());
        thrust::sort(a.begin(), a.end(), thrust::greater<unsigned>());
        std::sort(x.begin(), x.end());
        EXPECT(y == x);
        thrust::copy(a.begin(), a.end(), y.begin());
        std::reverse(x.begin(), x.end());
        EXPECT(y == x);
        CHECK(hipFree(storage));
    }
    puts("done");
}
