// One approximate instruction per kernel, and the operations that compilers build from them.
#define EACH size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; if (i < n)
#define UNARY(name, T, value) \
    extern "C" __global__ void name(size_t n, const T* x, T* y) { EACH { const T a = x[i]; y[i] = value; } }
#define BINARY(name, T, value) \
    extern "C" __global__ void name(size_t n, const T* x, const T* z, T* y) { EACH { const T a = x[i], b = z[i]; y[i] = value; } }

UNARY(rcp_f32, float, __builtin_amdgcn_rcpf(a))
UNARY(rsq_f32, float, __builtin_amdgcn_rsqf(a))
UNARY(sqrt_f32, float, __builtin_amdgcn_sqrtf(a))
UNARY(exp_f32, float, __builtin_amdgcn_exp2f(a))
UNARY(log_f32, float, __builtin_amdgcn_logf(a))
UNARY(sin_f32, float, __builtin_amdgcn_sinf(a))
UNARY(cos_f32, float, __builtin_amdgcn_cosf(a))
UNARY(rcp_f16, _Float16, __builtin_amdgcn_rcph(a))
UNARY(rsq_f16, _Float16, __builtin_amdgcn_rsqh(a))
UNARY(sqrt_f16, _Float16, __builtin_amdgcn_sqrth(a))
UNARY(exp_f16, _Float16, __builtin_elementwise_exp2(a))
UNARY(log_f16, _Float16, __builtin_elementwise_log2(a))
UNARY(sin_f16, _Float16, __builtin_amdgcn_sinh(a))
UNARY(cos_f16, _Float16, __builtin_amdgcn_cosh(a))
UNARY(rcp_f64, double, __builtin_amdgcn_rcp(a))
UNARY(rsq_f64, double, __builtin_amdgcn_rsq(a))
UNARY(sqrt_f64, double, __builtin_amdgcn_sqrt(a))

UNARY(reciprocal_f32, float, 1 / a)
UNARY(reciprocal_f64, double, 1 / a)
UNARY(root_f32, float, __builtin_elementwise_sqrt(a))
UNARY(root_f64, double, __builtin_elementwise_sqrt(a))
BINARY(quotient_f32, float, a / b)
BINARY(quotient_f64, double, a / b)
