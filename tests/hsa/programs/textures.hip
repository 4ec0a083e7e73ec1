// Textures of linear memory: tex1Dfetch with elements of several formats.
#include <cstring>

#include "check.h"

template <class T, class R>
__global__ void fetch(hipTextureObject_t texture, R* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = tex1Dfetch<T>(texture, i);
}
template <class T>
hipTextureObject_t made_of(const std::vector<T>& values, hipChannelFormatDesc format, bool normalized = false) {
    T* memory;
    CHECK(hipMalloc(&memory, values.size() * sizeof(T)));
    CHECK(hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeLinear;
    resource.res.linear.devPtr = memory, resource.res.linear.desc = format;
    resource.res.linear.sizeInBytes = values.size() * sizeof(T);
    hipTextureDesc description{};
    description.readMode = normalized ? hipReadModeNormalizedFloat : hipReadModeElementType;
    hipTextureObject_t made;
    CHECK(hipCreateTextureObject(&made, &resource, &description, nullptr));
    return made;
}
template <class T, class R>
std::vector<R> fetched(hipTextureObject_t texture, int count) {
    std::vector<R> values(count);
    R* out;
    CHECK(hipMalloc(&out, count * sizeof(R)));
    fetch<T, R><<<(count + 63) / 64, 64>>>(texture, out, count);
    CHECK(hipMemcpy(values.data(), out, count * sizeof(R), hipMemcpyDeviceToHost));
    CHECK(hipDestroyTextureObject(texture));
    return values;
}
template <class T>
void expect_elements(const std::vector<T>& values) {
    const int n = values.size();
    auto found = fetched<T, T>(made_of(values, hipCreateChannelDesc<T>()), n);
    for (int i = 0; i < n; i++) EXPECT(!memcmp(&found[i], &values[i], sizeof(T)));
}

int main() {
    expect_elements<float>({1.5f, -2.f, 1e30f, 0.f, 7.f});
    expect_elements<float2>({{1.f, 2.f}, {-3.f, 4.f}});
    expect_elements<float4>({{1.f, 2.f, 3.f, 4.f}, {5.f, 6.f, 7.f, 8.f}});
    expect_elements<int>({1, -2, 2147483647});
    expect_elements<uint4>({{1, 2, 3, 4000000000u}});
    expect_elements<char>({1, -2, 127, -128});
    expect_elements<unsigned char>({1, 200, 255});
    expect_elements<short2>({{1, -2}, {32767, -32768}});
    expect_elements<ushort4>({{1, 2, 3, 65535}});
    expect_elements<uchar4>({{1, 2, 3, 255}, {9, 8, 7, 6}});
    std::vector<unsigned char> bytes{0, 51, 255};
    auto ratios = fetched<float, float>(made_of(bytes, hipCreateChannelDesc<unsigned char>(), true), 3);
    for (int i = 0; i < 3; i++) EXPECT(ratios[i] == bytes[i] / 255.f);
    std::vector<short> words{32767, -32767, -32768, 0};
    auto shares = fetched<float, float>(made_of(words, hipCreateChannelDesc<short>(), true), 4);
    EXPECT(shares[0] == 1.f && shares[1] == -1.f && shares[2] == -1.f && shares[3] == 0.f);
    puts("done");
}
