// The generators of rocRAND give the same numbers on the GPU as on the host.
#include "check.h"

#include <cstring>
#include <rocrand/rocrand.h>

#define RAND(call) expect((call) == ROCRAND_STATUS_SUCCESS, #call, __LINE__)

int main() {
    const int n = 5000;
    for (rocrand_rng_type type : {ROCRAND_RNG_PSEUDO_PHILOX4_32_10, ROCRAND_RNG_PSEUDO_XORWOW, ROCRAND_RNG_PSEUDO_MRG32K3A}) {
        rocrand_generator device, host;
        RAND(rocrand_create_generator(&device, type)), RAND(rocrand_create_generator_host_blocking(&host, type));
        RAND(rocrand_set_seed(device, 7)), RAND(rocrand_set_seed(host, 7));
        std::vector<unsigned> x(n), y(n);
        unsigned* a;
        CHECK(hipMalloc(&a, n * 4));
        RAND(rocrand_generate(device, a, n)), RAND(rocrand_generate(host, x.data(), n));
        CHECK(hipMemcpy(y.data(), a, n * 4, hipMemcpyDeviceToHost));
        EXPECT(x == y);
        std::vector<float> u(n), v(n);
        RAND(rocrand_generate_uniform(device, (float*)a, n)), RAND(rocrand_generate_uniform(host, u.data(), n));
        CHECK(hipMemcpy(v.data(), a, n * 4, hipMemcpyDeviceToHost));
        EXPECT(!std::memcmp(u.data(), v.data(), n * 4));
        CHECK(hipFree(a)), RAND(rocrand_destroy_generator(device)), RAND(rocrand_destroy_generator(host));
    }
    puts("done");
}
