struct Particles { float *x, *v; const float *mass; int count; float dt; };
struct Vec { float a, b; };
__global__ void step(Particles p, Vec bounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.count) return;
    float f = 0;
    for (int j = 0; j < p.count; j++) { float d = p.x[j] - p.x[i]; f += p.mass[j] * d * rsqrtf(d * d + 0.01f); }
    p.v[i] = fminf(fmaxf(p.v[i] + f * p.dt, bounds.a), bounds.b);
}
__global__ void move(Particles p) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < p.count) p.x[i] += expf(-p.mass[i]) * p.v[i] * p.dt; }
