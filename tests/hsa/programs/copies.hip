// Copies of pageable memory, of sizes that AMD's runtime copies in different ways.
#include "check.h"

int main() {
    for (size_t size : {size_t(1) << 12, size_t(1) << 20, size_t(5) << 20, size_t(300) << 20}) {
        std::vector<char> x(size + 100), y(size + 100);
        for (size_t i = 0; i < x.size(); i++) x[i] = char(i * 7 + i / 4096);
        char *a, *b;
        CHECK(hipMalloc(&a, size)), CHECK(hipMalloc(&b, size));
        CHECK(hipMemcpy(a, &x[13], size, hipMemcpyHostToDevice));
        twice<<<1, 64>>>((int*)(a + size) - 64, (int*)(b + size) - 64, 64);
        CHECK(hipMemcpy(b, a, size - 256, hipMemcpyDeviceToDevice));
        CHECK(hipMemcpy(&y[29], b, size, hipMemcpyDeviceToHost));
        for (size_t i = 0; i < size - 256; i++) EXPECT(y[i + 29] == x[i + 13]);
        CHECK(hipFree(a)), CHECK(hipFree(b));
    }
    puts("done");
}
