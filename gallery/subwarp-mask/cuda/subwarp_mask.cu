// A tree with four children per node. Four lanes share a node, one per child, and vote on which children are hit.
constexpr int CHILDREN = 4;

extern "C" __global__ void count_hits(const float* distance, int* hits, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned subwarp = threadIdx.x % warpSize / CHILDREN;
    const unsigned mask = ((1 << CHILDREN) - 1) << (CHILDREN * subwarp);
    const unsigned votes = __ballot_sync(0xffffffffu, i < n && distance[i] >= 0.0f);
    if (i < n) hits[i] = __popc(votes & mask);
}
