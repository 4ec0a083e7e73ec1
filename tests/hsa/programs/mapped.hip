// Memory that keeps its values when it moves to other addresses, as in arrays that grow, and the limit of such memory.
#include "check.h"

int main() {
    const size_t size = 2 << 20;
    const int n = 256;
    hipMemAllocationProp kind = {};
    kind.type = hipMemAllocationTypePinned, kind.location.type = hipMemLocationTypeDevice;
    const hipMemAccessDesc access = {kind.location, hipMemAccessFlagsProtReadWrite};
    hipMemGenericAllocationHandle_t handle, large;
    char* space;
    int* values = nullptr;
    std::vector<int> found(n);
    CHECK(hipMemCreate(&handle, size, &kind, 0));
    CHECK(hipMemAddressReserve((void**)&space, 2 * size, 0, nullptr, 0));
    for (int k = 0; k < 2; k++) {
        if (k) CHECK(hipMemUnmap(space, size));
        values = (int*)(space + k * size);
        CHECK(hipMemMap(values, size, 0, handle, 0));
        CHECK(hipMemSetAccess(values, size, &access, 1));
        for (int i = 0; i < n; i++) found[i] = i;
        if (!k) CHECK(hipMemcpy(values, found.data(), n * 4, hipMemcpyHostToDevice));
        twice<<<1, n>>>(values, values, n);
        CHECK(hipMemcpy(found.data(), values, n * 4, hipMemcpyDeviceToHost));
        for (int i = 0; i < n; i++) EXPECT(found[i] == (k ? 4 : 2) * i);
    }
    CHECK(hipMemUnmap(values, size));
    CHECK(hipMemRelease(handle));
    CHECK(hipMemAddressFree(space, 2 * size));

    size_t available, total;
    CHECK(hipMemGetInfo(&available, &total));
    EXPECT(hipMemCreate(&large, total + size, &kind, 0) == hipErrorOutOfMemory);
    puts("done");
}
