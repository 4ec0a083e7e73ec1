// A library for tests: ops on f32 tensors that the host computes.
#include "call.h"

static std::vector<float> content(const Tensor &tensor) { // in logical order
    std::vector<float> memory(1024, 0), found;
    int64_t last = 0;
    for (int64_t i = 0; i < tensor.rank; i++) last += (tensor.shape[i] - 1) * tensor.strides[i];
    check(hipMemcpy(memory.data(), tensor.data, (last + 1) * sizeof(float), hipMemcpyDeviceToHost), "hipMemcpy");
    for (int64_t i = 0; i < tensor.shape[0]; i++)
        for (int64_t k = 0; k < tensor.shape[1]; k++)
            found.push_back(memory[i * tensor.strides[0] + k * tensor.strides[1]]);
    return found;
}

static void affine(const Call &call) { // x * mul + add, and the low digit of an integer that f64 cannot hold
    const Tensor &x = call["x"], &out = call["out"];
    if (!x.is("f32")) throw Unsupported("only f32");
    std::vector<float> result = content(x);
    for (float &each : result) each = each * call.number("mul") + call.param("add").bits % 10;
    check(hipMemcpy(out.data, result.data(), result.size() * sizeof(float), hipMemcpyHostToDevice), "hipMemcpy");
}

const std::map<std::string, std::function<void(const Call &)>> OPS = {
    {"test.affine", affine},
    {"test.nothing", [](const Call &) {}},
    {"test.fails", [](const Call &) { check(hipErrorOutOfMemory, "something"); }},
    {"test.ends", [](const Call &) { abort(); }},
};
