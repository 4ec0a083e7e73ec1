// Matrix products by rocBLAS. A row-major C = A B has the memory of a column-major C' = B' A', so B is the left operand.
#include <rocblas/rocblas.h>

#include "call.h"

static void check(rocblas_status status, const char *function) {
    if (!status) return;
    std::string text = std::string(rocblas_status_to_string(status)) + ": returned by " + function;
    if (status == rocblas_status_not_implemented || status == rocblas_status_arch_mismatch) throw Unsupported(text);
    throw std::runtime_error(text);
}

struct Operand {
    rocblas_operation operation;
    int leading;
    int64_t apart; // from one matrix of the batch to the next, in elements
};

static Operand operand(const Tensor &tensor) {
    const int64_t *shape = tensor.shape + tensor.rank - 2, *strides = tensor.strides + tensor.rank - 2;
    int64_t apart = tensor.rank == 3 ? tensor.strides[0] : 0;
    for (int line = 0; line < 2; line++) { // lines are rows, then columns
        int64_t lines = shape[line], length = shape[!line];
        if ((length > 1 && strides[!line] != 1) || (lines > 1 && strides[line] < length)) continue;
        int64_t leading = lines > 1 ? strides[line] : length;
        return {line ? rocblas_operation_transpose : rocblas_operation_none, int(leading), apart};
    }
    throw Unsupported(std::string("neither rows nor columns of ") + tensor.name + " are contiguous and in order");
}

static rocblas_datatype type_of(const Tensor &tensor) {
    static const std::map<std::string, rocblas_datatype> types = {{"f16", rocblas_datatype_f16_r},
                                                                  {"bf16", rocblas_datatype_bf16_r},
                                                                  {"f32", rocblas_datatype_f32_r},
                                                                  {"f64", rocblas_datatype_f64_r}};
    auto found = types.find(tensor.type);
    if (found == types.end()) throw Unsupported(std::string("rocBLAS does not multiply ") + tensor.type);
    return found->second;
}

// Pointers to the matrices of a batch, in device memory.
static std::vector<void *> pointers(const Tensor &tensor, int64_t apart) {
    int64_t bytes = tensor.is("f64") ? 8 : tensor.is("f32") ? 4 : 2;
    std::vector<void *> found;
    for (int64_t i = 0; i < tensor.shape[0]; i++) found.push_back((char *)tensor.data + i * apart * bytes);
    return found;
}

static void product(const Call &call) {
    static rocblas_handle handle = nullptr;
    if (!handle) DO(rocblas_create_handle, &handle);
    DO(rocblas_set_stream, handle, call.stream);
    const Tensor &a = call["a"], &b = call["b"], &out = call["out"];
    rocblas_datatype type = type_of(a);
    if (!out.numel()) return;
    Operand left = operand(b), right = operand(a);
    int64_t batch = out.rank == 3 ? out.shape[0] : 1;
    int m = int(out.shape[out.rank - 1]), n = int(out.shape[out.rank - 2]), k = int(a.shape[a.rank - 1]);
    double one64 = 1, zero64 = 0;
    float one32 = 1, zero32 = 0;
    bool wide = type == rocblas_datatype_f64_r;
    const void *one = wide ? (const void *)&one64 : &one32, *zero = wide ? (const void *)&zero64 : &zero32;
    rocblas_datatype sums = wide ? type : rocblas_datatype_f32_r;
    const auto algorithm = rocblas_gemm_algo_standard;
    if (out.rank == 2) {
        DO(rocblas_gemm_ex, handle, left.operation, right.operation, m, n, k, one, b.data, type, left.leading, a.data,
           type, right.leading, zero, out.data, type, m, out.data, type, m, sums, algorithm, 0, 0);
    } else if (call.begins("gemm.strided")) {
        int64_t size = int64_t(m) * n;
        DO(rocblas_gemm_strided_batched_ex, handle, left.operation, right.operation, m, n, k, one, b.data, type,
           left.leading, left.apart, a.data, type, right.leading, right.apart, zero, out.data, type, m, size, out.data,
           type, m, size, int(batch), sums, algorithm, 0, 0);
    } else {
        auto lefts = pointers(b, left.apart), rights = pointers(a, right.apart), outs = pointers(out, int64_t(m) * n);
        size_t bytes = batch * sizeof(void *);
        Memory lefts_there(lefts.data(), bytes), rights_there(rights.data(), bytes), outs_there(outs.data(), bytes);
        DO(rocblas_gemm_batched_ex, handle, left.operation, right.operation, m, n, k, one, lefts_there.data, type,
           left.leading, rights_there.data, type, right.leading, zero, outs_there.data, type, m, outs_there.data, type,
           m, int(batch), sums, algorithm, 0, 0);
        check(hipStreamSynchronize(call.stream), "hipStreamSynchronize");
    }
}

const std::map<std::string, std::function<void(const Call &)>> OPS = {
    {"gemm.matmul", product}, {"gemm.batched", product}, {"gemm.strided_batched", product}};
