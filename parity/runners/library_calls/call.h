// A call of a library: an op with its tensors and parameters by name, as parity/runners/compiled_libraries.py passes it.
// Each source defines OPS, the functions by the name of the op.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

struct Tensor {
    const char *name;
    const char *type;
    void *data;
    int64_t rank;
    const int64_t *shape;
    const int64_t *strides; // in elements

    int64_t numel() const {
        int64_t count = 1;
        for (int64_t i = 0; i < rank; i++) count *= shape[i];
        return count;
    }

    bool is(const char *name) const { return !strcmp(type, name); }
};

struct Param {
    const char *name;
    double value;
    uint64_t bits; // of an integer
};

struct Unsupported : std::runtime_error {
    using runtime_error::runtime_error;
};

struct Call {
    const char *op;
    const Tensor *tensors;
    int64_t tensor_count;
    const Param *params;
    int64_t param_count;
    hipStream_t stream;

    // Null for a tensor that the case leaves out.
    const Tensor *find(const char *name) const {
        for (int64_t i = 0; i < tensor_count; i++)
            if (!strcmp(tensors[i].name, name)) return &tensors[i];
        return nullptr;
    }

    const Tensor &operator[](const char *name) const {
        if (const Tensor *found = find(name)) return *found;
        throw Unsupported(std::string("the case has no tensor ") + name);
    }

    const Param &param(const char *name) const {
        for (int64_t i = 0; i < param_count; i++)
            if (!strcmp(params[i].name, name)) return params[i];
        throw Unsupported(std::string("the case has no parameter ") + name);
    }

    int whole(const char *name) const { return int(param(name).bits); }
    double number(const char *name) const { return param(name).value; }
    bool begins(const char *prefix) const { return !strncmp(op, prefix, strlen(prefix)); }
};

inline void check(hipError_t error, const char *function) {
    if (error) throw std::runtime_error(std::string(hipGetErrorName(error)) + ": returned by " + function);
}

// Calls a function of a library. Each source overloads check() for the library's status.
#define DO(function, ...) check(function(__VA_ARGS__), #function)

// Device memory until the end of a call. Its size is never 0.
struct Memory {
    void *data = nullptr;
    explicit Memory(size_t bytes) { check(hipMalloc(&data, bytes ? bytes : 1), "hipMalloc"); }
    Memory(const void *host, size_t bytes) : Memory(bytes) {
        check(hipMemcpy(data, host, bytes, hipMemcpyHostToDevice), "hipMemcpy");
    }
    Memory(const Memory &) = delete;
    ~Memory() { (void)hipFree(data); }
};

extern const std::map<std::string, std::function<void(const Call &)>> OPS;

// Returns null, or the kind of the error, a colon and a description. Waits for the result.
extern "C" const char *parity_call(const Call *call) {
    static std::string error;
    try {
        auto found = OPS.find(call->op);
        if (found == OPS.end()) throw Unsupported(std::string("the library does not have ") + call->op);
        found->second(*call);
        check(hipStreamSynchronize(call->stream), "hipStreamSynchronize");
        return nullptr;
    } catch (const Unsupported &reason) {
        error = std::string("unsupported: ") + reason.what();
    } catch (const std::exception &reason) {
        error = reason.what();
    }
    return error.c_str();
}
