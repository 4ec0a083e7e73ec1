// One step of Adam: three tensors are read and written, and the constants of the step come as a structure.
struct Step {
    float lr, beta1, beta2, eps;
    int t;
    double decay;
};

extern "C" __global__ void adam(float* p, float* m, float* v, const float* g, Step step, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float d = g[i];
    float first = step.beta1 * m[i] + (1.0f - step.beta1) * d;
    float second = step.beta2 * v[i] + (1.0f - step.beta2) * d * d;
    m[i] = first;
    v[i] = second;
    float scale = step.t == 1 ? 1.0f : 0.5f;
    p[i] = p[i] * (1.0f - (float)step.decay) - scale * step.lr * first / (sqrtf(second) + step.eps);
}
