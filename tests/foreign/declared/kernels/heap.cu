// Memory that kernels allocate: in one kernel, and objects that outlive the kernel that creates them.
struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float side;
    __device__ Square(float x) : side(x) {}
    __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
    float radius;
    __device__ Circle(float x) : radius(x) {}
    __device__ float area() const override { return 3 * radius * radius; }
};

__global__ void create_shapes(Shape** shapes, const float* sizes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i % 2) shapes[i] = new Square(sizes[i]);
    else shapes[i] = new Circle(sizes[i]);
}

__global__ void find_areas(Shape** shapes, float* areas, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    areas[i] = shapes[i]->area();
    delete shapes[i];
}

// Reverses each group of up to eight elements in memory of the thread's own.
__global__ void reverse_groups(const int* x, int* y, int n) {
    int start = 8 * (blockIdx.x * blockDim.x + threadIdx.x), count = min(8, n - start);
    if (count <= 0) return;
    int* own = (int*)malloc(count * sizeof(int));
    for (int k = 0; k < count; k++) own[k] = x[start + k];
    for (int k = 0; k < count; k++) y[start + k] = own[count - 1 - k];
    free(own);
}
