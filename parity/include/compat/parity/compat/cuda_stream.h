// cuda::stream_ref, a non-owning reference to a stream.
#pragma once

#include <hip/hip_runtime.h>

namespace cuda {
class stream_ref {
    hipStream_t stream_ = nullptr;

  public:
    using value_type = hipStream_t;
    stream_ref() = default;
    constexpr stream_ref(hipStream_t stream) noexcept : stream_(stream) {}
    stream_ref(int) = delete;
    stream_ref(decltype(nullptr)) = delete;
    constexpr hipStream_t get() const noexcept { return stream_; }
    void wait() const { (void)hipStreamSynchronize(stream_); }
    void sync() const { wait(); }
    bool ready() const { return hipStreamQuery(stream_) == hipSuccess; }
    bool is_done() const { return ready(); }
    friend constexpr bool operator==(const stream_ref& a, const stream_ref& b) { return a.stream_ == b.stream_; }
    friend constexpr bool operator!=(const stream_ref& a, const stream_ref& b) { return !(a == b); }
};
}  // namespace cuda
