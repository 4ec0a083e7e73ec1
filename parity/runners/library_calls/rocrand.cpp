// Random numbers by the generators of rocRAND.
#include <rocrand/rocrand.h>

#include "call.h"

static void check(rocrand_status status, const char *function) {
    if (status) throw std::runtime_error("rocrand_status " + std::to_string(status) + ": returned by " + function);
}

static std::function<void(const Call &)> numbers(rocrand_rng_type type) {
    return [=](const Call &call) {
        const Tensor &out = call["out"];
        rocrand_generator generator;
        DO(rocrand_create_generator, &generator, type);
        DO(rocrand_set_stream, generator, call.stream);
        if (type < ROCRAND_RNG_QUASI_DEFAULT) DO(rocrand_set_seed, generator, call.param("seed").bits);
        DO(rocrand_set_offset, generator, call.param("offset").bits);
        if (out.is("u32"))
            DO(rocrand_generate, generator, (unsigned *)out.data, size_t(out.numel()));
        else if (out.is("f32"))
            DO(rocrand_generate_uniform, generator, (float *)out.data, size_t(out.numel()));
        else
            throw Unsupported(std::string("no random numbers of type ") + out.type);
        check(hipStreamSynchronize(call.stream), "hipStreamSynchronize");
        DO(rocrand_destroy_generator, generator);
    };
}

const std::map<std::string, std::function<void(const Call &)>> OPS = {
    {"rng.mrg32k3a_uniform", numbers(ROCRAND_RNG_PSEUDO_MRG32K3A)},
    {"rng.philox", numbers(ROCRAND_RNG_PSEUDO_PHILOX4_32_10)},
    {"rng.philox_uniform", numbers(ROCRAND_RNG_PSEUDO_PHILOX4_32_10)},
    {"rng.sobol32", numbers(ROCRAND_RNG_QUASI_SOBOL32)},
    {"rng.xorwow", numbers(ROCRAND_RNG_PSEUDO_XORWOW)},
};
