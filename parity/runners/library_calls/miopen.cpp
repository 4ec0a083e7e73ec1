// Ops by MIOpen. Convolutions use the solution that MIOpen ranks first.
#define MIOPEN_BETA_API
#include <miopen/miopen.h>

#include "call.h"

using Sizes = std::vector<int>;

static void check(miopenStatus_t status, const char *function) {
    if (!status) return;
    std::string text = std::string(miopenGetErrorString(status)) + ": returned by " + function;
    if (status == miopenStatusNotImplemented || status == miopenStatusUnsupportedOp) throw Unsupported(text);
    throw std::runtime_error(text);
}

template <typename T> struct Owned {
    T object{};
    miopenStatus_t (*destroy)(T);
    Owned(miopenStatus_t (*create)(T *), miopenStatus_t (*destroy)(T)) : destroy(destroy) { DO(create, &object); }
    Owned(const Owned &) = delete;
    ~Owned() { destroy(object); }
    operator T() const { return object; }
};

static miopenDataType_t type_of(const Tensor &tensor) {
    static const std::map<std::string, miopenDataType_t> types = {
        {"f16", miopenHalf}, {"bf16", miopenBFloat16}, {"f32", miopenFloat}};
    auto found = types.find(tensor.type);
    if (found == types.end()) throw Unsupported(std::string("MIOpen does not compute with ") + tensor.type);
    if (!tensor.numel()) throw Unsupported("MIOpen does not take empty tensors");
    return found->second;
}

// Describes a contiguous tensor as one of this shape.
struct Shaped : Owned<miopenTensorDescriptor_t> {
    Shaped(miopenDataType_t type, const Sizes &shape)
        : Owned(miopenCreateTensorDescriptor, miopenDestroyTensorDescriptor) {
        Sizes strides(shape.size(), 1);
        for (size_t i = shape.size() - 1; i > 0; i--) strides[i - 1] = strides[i] * shape[i];
        DO(miopenSetTensorDescriptor, object, type, int(shape.size()), shape.data(), strides.data());
    }
    Shaped(const Tensor &tensor, const Sizes &shape) : Shaped(type_of(tensor), shape) {}
    explicit Shaped(const Tensor &tensor) : Shaped(tensor, image(tensor)) {}

    static Sizes image(const Tensor &tensor) { // signals are images of one row
        Sizes shape(tensor.shape, tensor.shape + tensor.rank);
        if (shape.size() == 3) shape.insert(shape.begin() + 2, 1);
        return shape;
    }
};

static miopenHandle_t handle_of(const Call &call) {
    static miopenHandle_t handle = nullptr;
    if (!handle) DO(miopenCreateWithStream, &handle, call.stream);
    return handle;
}

static const float ONE = 1, ZERO = 0;

static void convolution(const Call &call) {
    const Tensor &src = call["src"], &weight = call["weight"], &out = call["out"];
    Shaped x(src), w(weight), y(out);
    miopenHandle_t handle = handle_of(call);
    bool rows = src.rank == 4, transposed = call.begins("conv.conv_transpose");
    int stride = call.whole("stride"), padding = call.whole("padding"), dilation = call.whole("dilation");
    Owned<miopenConvolutionDescriptor_t> how(miopenCreateConvolutionDescriptor, miopenDestroyConvolutionDescriptor);
    DO(miopenInitConvolutionDescriptor, how, transposed ? miopenTranspose : miopenConvolution, rows ? padding : 0,
       padding, rows ? stride : 1, stride, rows ? dilation : 1, dilation);
    if (transposed) {
        int more = call.whole("out_padding");
        DO(miopenSetTransposeConvOutputPadding, how, rows ? more : 0, more);
    }
    size_t count = 0;
    DO(miopenConvolutionForwardGetSolutionCount, handle, w, x, how, y, &count);
    std::vector<miopenConvSolution_t> solutions(count);
    if (count) DO(miopenConvolutionForwardGetSolution, handle, w, x, how, y, count, &count, solutions.data());
    if (!count) throw Unsupported("MIOpen has no solution for this convolution");
    const miopenConvSolution_t &first = solutions[0];
    DO(miopenConvolutionForwardCompileSolution, handle, w, x, how, y, first.solution_id);
    Memory workspace(first.workspace_size);
    DO(miopenConvolutionForwardImmediate, handle, w, weight.data, x, src.data, how, y, out.data, workspace.data,
       first.workspace_size, first.solution_id);
    check(hipStreamSynchronize(call.stream), "hipStreamSynchronize");
}

static void pooling(const Call &call) {
    const Tensor &src = call["src"], &out = call["out"];
    Owned<miopenPoolingDescriptor_t> how(miopenCreatePoolingDescriptor, miopenDestroyPoolingDescriptor);
    auto mode = call.begins("conv.max") ? miopenPoolingMax : miopenPoolingAverage;
    DO(miopenSet2dPoolingDescriptor, how, mode, call.whole("w_k"), call.whole("h_k"), 0, 0, call.whole("w_stride"),
       call.whole("h_stride"));
    DO(miopenPoolingForward, handle_of(call), how, &ONE, Shaped(src), src.data, &ZERO, Shaped(out), out.data, false,
       nullptr, 0);
}

static void softmax(const Call &call) {
    const Tensor &x = call["x"], &out = call["out"];
    Shaped rows(x, {int(x.shape[0]), int(x.shape[1]), 1, 1});
    DO(miopenSoftmaxForward_V2, handle_of(call), &ONE, rows, x.data, &ZERO, rows, out.data, MIOPEN_SOFTMAX_ACCURATE,
       MIOPEN_SOFTMAX_MODE_CHANNEL);
}

static std::function<void(const Call &)> activation(miopenActivationMode_t mode, const char *alpha = nullptr) {
    return [=](const Call &call) {
        const Tensor &x = call["x"], &out = call["out"];
        Owned<miopenActivationDescriptor_t> how(miopenCreateActivationDescriptor, miopenDestroyActivationDescriptor);
        DO(miopenSetActivationDescriptor, how, mode, alpha ? call.number(alpha) : 1, 1, 1);
        Shaped all(x, {1, 1, 1, int(x.numel())});
        DO(miopenActivationForward, handle_of(call), how, &ONE, all, x.data, &ZERO, all, out.data);
    };
}

static void square(const Call &call) { // (0 + 1 x)^2
    const Tensor &x = call["x"], &out = call["out"];
    Owned<miopenActivationDescriptor_t> how(miopenCreateActivationDescriptor, miopenDestroyActivationDescriptor);
    DO(miopenSetActivationDescriptor, how, miopenActivationPOWER, 0, 1, 2);
    Shaped all(x, {1, 1, 1, int(x.numel())});
    DO(miopenActivationForward, handle_of(call), how, &ONE, all, x.data, &ZERO, all, out.data);
}

static std::function<void(const Call &)> binary(miopenTensorOp_t op) {
    return [=](const Call &call) {
        const Tensor &x = call["lhs"], &y = call["rhs"], &out = call["out"];
        Shaped all(x, {1, 1, 1, int(x.numel())});
        DO(miopenOpTensor, handle_of(call), op, &ONE, all, x.data, &ONE, all, y.data, &ZERO, all, out.data);
    };
}

static std::function<void(const Call &)> reduction(miopenReduceTensorOp_t op) {
    return [=](const Call &call) {
        const Tensor &x = call["x"], &out = call["out"];
        miopenDataType_t type = type_of(x);
        int rows = int(out.numel()), columns = int(x.numel() / rows);
        Shaped whole(x, {rows, columns}), rest(out, {rows, 1});
        Owned<miopenReduceTensorDescriptor_t> how(miopenCreateReduceTensorDescriptor,
                                                  miopenDestroyReduceTensorDescriptor);
        // As in the suite, extrema of half types propagate NaN, and extrema of f32 ignore it.
        auto nan = type == miopenFloat ? MIOPEN_NOT_PROPAGATE_NAN : MIOPEN_PROPAGATE_NAN;
        DO(miopenSetReduceTensorDescriptor, how, op, miopenFloat, nan, MIOPEN_REDUCE_TENSOR_NO_INDICES,
           MIOPEN_32BIT_INDICES);
        size_t bytes = 0;
        DO(miopenGetReductionWorkspaceSize, handle_of(call), how, whole, rest, &bytes);
        Memory workspace(bytes);
        DO(miopenReduceTensor, handle_of(call), how, nullptr, 0, workspace.data, bytes, &ONE, whole, x.data, &ZERO,
           rest, out.data);
        check(hipStreamSynchronize(call.stream), "hipStreamSynchronize");
    };
}

// Layer normalization, or RMS normalization, which MIOpen calls T5. Statistics have the type of x.
static void normalization(const Call &call) {
    const Tensor &x = call["x"], &out = call["out"], *alpha = call.find("alpha"), *beta = call.find("beta");
    bool centred = call.begins("reduce.layernorm");
    if (centred && !alpha != !beta) throw Unsupported("MIOpen takes both weights or neither");
    if (!centred && !alpha) throw Unsupported("without weights, MIOpen's RMS normalization reads them nevertheless");
    int rows = int(x.shape[0]), columns = int(x.shape[1]);
    Shaped all(x, {rows, columns}), weight(x, {columns}), statistic(x, {rows});
    Memory mean(rows * sizeof(float)), deviation(rows * sizeof(float));
    Memory ones(columns * sizeof(float)); // not read without weights, but never null
    float eps = float(call.number("eps"));
    void *scale = alpha ? alpha->data : ones.data, *shift = beta ? beta->data : ones.data;
    if (centred)
        DO(miopenLayerNormForward, handle_of(call), alpha ? MIOPEN_WEIGHT_BIAS : MIOPEN_ELEMENTWISE_AFFINE, all, x.data,
           weight, scale, weight, shift, eps, 1, all, out.data, statistic, mean.data, statistic, deviation.data);
    else
        DO(miopenT5LayerNormForward, handle_of(call), MIOPEN_WEIGHT_BIAS_T5, all, x.data, weight, scale, eps, all,
           out.data, statistic, deviation.data);
    check(hipStreamSynchronize(call.stream), "hipStreamSynchronize");
}

const std::map<std::string, std::function<void(const Call &)>> OPS = {
    {"conv.conv1d", convolution},
    {"conv.conv2d", convolution},
    {"conv.conv_transpose1d", convolution},
    {"conv.conv_transpose2d", convolution},
    {"conv.avg_pool2d", pooling},
    {"conv.max_pool2d", pooling},
    {"reduce.softmax", softmax},
    {"reduce.layernorm", normalization},
    {"reduce.rmsnorm", normalization},
    {"reduce.sum", reduction(MIOPEN_REDUCE_TENSOR_ADD)},
    {"reduce.max", reduction(MIOPEN_REDUCE_TENSOR_MAX)},
    {"reduce.min", reduction(MIOPEN_REDUCE_TENSOR_MIN)},
    {"binary.add", binary(miopenTensorOpAdd)},
    {"binary.maximum", binary(miopenTensorOpMax)},
    {"binary.minimum", binary(miopenTensorOpMin)},
    {"unary.abs", activation(miopenActivationABS)},
    {"unary.elu", activation(miopenActivationELU, "alpha")},
    {"unary.relu", activation(miopenActivationRELU)},
    {"unary.sigmoid", activation(miopenActivationLOGISTIC)},
    {"unary.sqr", square},
    {"unary.tanh", activation(miopenActivationTANH)},
};
