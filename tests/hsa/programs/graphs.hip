// A captured graph and one made of nodes, each launched several times.
#include "check.h"

int main() {
    const int n = 512;
    std::vector<int> x(n, 1), y(n);
    int *a, *b;
    CHECK(hipMalloc(&a, n * 4)), CHECK(hipMalloc(&b, n * 4));
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t ready;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipMemcpy(a, x.data(), n * 4, hipMemcpyHostToDevice));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    twice<<<2, 256, 0, stream>>>(a, b, n);
    twice<<<2, 256, 0, stream>>>(b, a, n);
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
    for (int i = 0; i < 3; i++) CHECK(hipGraphLaunch(ready, stream));
    CHECK(hipMemcpyAsync(y.data(), a, n * 4, hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    for (int i = 0; i < n; i++) EXPECT(y[i] == 64);

    hipGraph_t nodes;
    hipGraphNode_t copy, kernel, back;
    CHECK(hipGraphCreate(&nodes, 0));
    CHECK(hipGraphAddMemcpyNode1D(&copy, nodes, nullptr, 0, a, x.data(), n * 4, hipMemcpyHostToDevice));
    void* arguments[] = {&a, &b, (void*)&n};
    hipKernelNodeParams parameters = {};
    parameters.func = (void*)twice, parameters.gridDim = dim3(2), parameters.blockDim = dim3(256);
    parameters.kernelParams = arguments;
    CHECK(hipGraphAddKernelNode(&kernel, nodes, &copy, 1, &parameters));
    CHECK(hipGraphAddMemcpyNode1D(&back, nodes, &kernel, 1, y.data(), b, n * 4, hipMemcpyDeviceToHost));
    CHECK(hipGraphInstantiate(&ready, nodes, nullptr, nullptr, 0));
    CHECK(hipGraphLaunch(ready, stream));
    CHECK(hipStreamSynchronize(stream));
    for (int i = 0; i < n; i++) EXPECT(y[i] == 2);
    puts("done");
}
