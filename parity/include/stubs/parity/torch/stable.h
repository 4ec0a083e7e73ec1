// torch/csrc/stable and torch/headeronly: PyTorch's interface that is stable across versions.
#pragma once

#include "cuda.h"

namespace torch::headeronly {
using namespace c10;
}

using AOTITorchError = int32_t;
using AtenTensorHandle = void*;
using StableIValue = uint64_t;
extern "C" {
AOTITorchError aoti_torch_get_current_cuda_stream(int32_t, void**);
AOTITorchError aoti_torch_get_current_stream(int32_t, void**);
}

namespace torch::stable {
using at::Lists;

struct Tensor : at::Tensor {
  Tensor(); explicit Tensor(AtenTensorHandle);
  int32_t get_device_index() const; AtenTensorHandle get() const;
};
#define PARITY_STABLE(name)       \
  template <class... Args>        \
  Tensor name(Args&&...);         \
  template <class... Args>        \
  Tensor name(const Tensor&, Lists, Args&&...);
#define PARITY_STABLE_FUNCTIONS(_)                                                                                    \
  _(amax) _(clone) _(contiguous) _(copy_) _(empty) _(empty_like) _(fill_) _(flatten) _(from_blob) _(full) _(matmul)   \
  _(narrow) _(new_empty) _(new_zeros) _(pad) _(permute) _(reshape) _(select) _(slice) _(squeeze) _(subtract) _(sum)   \
  _(sum_out) _(to) _(transpose) _(unsqueeze) _(view) _(zero_) _(zeros) _(zeros_like)
PARITY_STABLE_FUNCTIONS(PARITY_STABLE)
#undef PARITY_STABLE_FUNCTIONS
#undef PARITY_STABLE

using Device = c10::Device;
using DeviceType = c10::DeviceType;
using DeviceIndex = c10::DeviceIndex;

namespace accelerator {
using DeviceIndex = c10::DeviceIndex;
struct DeviceGuard { explicit DeviceGuard(int64_t); void set_index(int64_t); };
struct Stream { int64_t id() const; void* native_handle() const; };
Stream getCurrentStream(int64_t);
int32_t getCurrentDeviceIndex();
void setCurrentDeviceIndex(int64_t);
}  // namespace accelerator

namespace detail {
template <typename T> T to(StableIValue);
template <typename T> StableIValue from(const T&);
}  // namespace detail

struct Library {
  template <class... Args> Library& def(Args&&...) { return *this; }
  template <class... Args> Library& impl(Args&&...) { return *this; }
};
}  // namespace torch::stable

#define TORCH_ERROR_CODE_CHECK(call) PARITY_CHECK((call) == 0)
#define STD_TORCH_CHECK(condition, ...) PARITY_CHECK(condition)
#define STD_TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) PARITY_CHECK(condition)
#define STD_CUDA_CHECK(call) PARITY_CHECK((call) == hipSuccess)
#define STD_CUDA_KERNEL_LAUNCH_CHECK() STD_CUDA_CHECK(hipGetLastError())
#define THO_DISPATCH_CASE(dtype, ...) AT_DISPATCH_CASE(dtype, __VA_ARGS__)
#define THO_DISPATCH_CASE_TMPL(macro, dtype, ...) macro(dtype, __VA_ARGS__)
#define THO_PRIVATE_CASE_TYPE_USING_HINT(dtype, hint, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(dtype, hint, __VA_ARGS__)
#define THO_DISPATCH_SWITCH(type, name, ...) AT_DISPATCH_SWITCH(type, name, __VA_ARGS__)
#define THO_DISPATCH_V2(type, name, body, ...) AT_DISPATCH_V2(type, name, AT_WRAP(body), __VA_ARGS__)
#define TORCH_BOX(function) (function)
#define STABLE_TORCH_LIBRARY(ns, m) \
  static void C10_CONCATENATE(STABLE_TORCH_LIBRARY_init_##ns##_, __COUNTER__)(::torch::stable::Library & m)
#define STABLE_TORCH_LIBRARY_FRAGMENT(ns, m) STABLE_TORCH_LIBRARY(ns, m)
#define STABLE_TORCH_LIBRARY_IMPL(ns, key, m) STABLE_TORCH_LIBRARY(ns##_##key, m)
