// Stub of all headers of torch, ATen, c10, THC and pybind11, written from PyTorch's documented interface. Number types,
// accessors, atomic operations and dispatch macros are implemented. The rest is declared so that host code compiles,
// because it determines the arguments of kernel templates.
#pragma once

#include "torch/cuda.h"
#include "torch/stable.h"

#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME extension
#endif

namespace torch {
using namespace at;
namespace cuda = at::cuda;
namespace indexing = at::indexing;
template <typename T> constexpr ScalarType CppTypeToScalarType_v = c10::CppTypeToScalarType<T>::value;
using Dtype = at::ScalarType;
using Layout = c10::Layout;
class Library;
}  // namespace torch

namespace torch {
class CppFunction {};
class Library {
 public:
  template <class... Args> Library& def(Args&&...) & { return *this; }
  template <class... Args> Library& impl(Args&&...) & { return *this; }
  template <class... Args> Library& fallback(Args&&...) & { return *this; }
  template <typename T> Library& class_(const std::string&);
};
template <class... Args> CppFunction schema(Args&&...);
struct RegisterOperators {
  template <class... Args> RegisterOperators(Args&&...) {}
  template <class... Args> RegisterOperators& op(Args&&...);
  static RegisterOperators options();
};
namespace jit { using torch::RegisterOperators; }
namespace autograd {
using at::Variable;
using variable_list = std::vector<at::Tensor>;
using tensor_list = variable_list;
struct AutogradContext {
  template <class... Args> void save_for_backward(Args&&...);
  void save_for_backward(variable_list);
  variable_list get_saved_variables() const;
  std::map<std::string, c10::IValue> saved_data;
  void mark_non_differentiable(const variable_list&);
  void set_materialize_grads(bool);
};
template <typename T> struct Function { template <class... Args> static variable_list apply(Args&&...); };
}  // namespace autograd
namespace nn::functional { using namespace at::parity_stub::functions; template <class... Args> at::Tensor pad(Args&&...); }
struct CustomClassHolder {};
}  // namespace torch

#define TORCH_LIBRARY(ns, m) static void C10_CONCATENATE(TORCH_LIBRARY_init_##ns##_, __COUNTER__)(::torch::Library & m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) TORCH_LIBRARY(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) \
  static void C10_CONCATENATE(TORCH_LIBRARY_IMPL_init_##ns##_##key##_, __COUNTER__)(::torch::Library & m)
#define TORCH_FN(function) (&function)
#define TORCH_SELECTIVE_NAME(name) (name)
#define STATIC_LIBRARY 0

namespace pybind11 {
struct object { object(); template <typename T> T cast() const; object attr(const char*) const; template <class... A> object operator()(A&&...) const; bool is_none() const; template <typename K> object operator[](const K&) const; template <typename K> bool contains(const K&) const; };
struct handle : object {}; struct none : object {}; struct str : object { str(); str(const char*); str(std::string); operator std::string() const; };
struct dict : object {}; struct list : object {}; struct tuple : object {}; struct args : object {}; struct kwargs : object {}; struct bytes : object {};
struct function : object {}; struct buffer : object {};
template <typename T> struct array_t : object { T* mutable_data(); const T* data() const; size_t size() const; };
struct capsule : object { template <class... A> capsule(A&&...); };
struct arg { arg(const char*); template <typename T> arg& operator=(T&&); arg& noconvert(); };
namespace literals { arg operator""_a(const char*, size_t); }
struct gil_scoped_release {}; struct gil_scoped_acquire {};
template <class...> struct call_guard {};
template <class... A> struct init_t {};
template <class... A> init_t<A...> init(); template <typename F> init_t<F> init(F&&);
template <class... A> struct overload_cast_impl { template <typename R> constexpr auto operator()(R (*f)(A...)) const { return f; } };
template <class... A> constexpr overload_cast_impl<A...> overload_cast{};
enum class return_value_policy { automatic, copy, move, reference, reference_internal, take_ownership };
template <class... A> struct class_ {
  template <class... B> class_(B&&...);
  template <class... B> class_& def(B&&...) { return *this; }
  template <class... B> class_& def_static(B&&...) { return *this; }
  template <class... B> class_& def_readwrite(B&&...) { return *this; }
  template <class... B> class_& def_readonly(B&&...) { return *this; }
  template <class... B> class_& def_property_readonly(B&&...) { return *this; }
  template <class... B> class_& value(B&&...) { return *this; }
  class_& export_values();
};
template <class... A> using enum_ = class_<A...>;
struct module_ : object {
  template <class... B> module_& def(B&&...) { return *this; }
  module_ def_submodule(const char*, const char* = nullptr);
  object& doc();
  template <typename F> module_& def(const char*, F*, const char* = nullptr);
};
using module = module_;
}  // namespace pybind11
namespace py = pybind11;
namespace torch { namespace py = pybind11; }

#define PYBIND11_MODULE(name, m, ...) static void C10_CONCATENATE(pybind11_init_, name)(::pybind11::module_ & m)
#define PYBIND11_MAKE_OPAQUE(...)

#if defined(__HIP__) && !defined(USE_ROCM)
#define USE_ROCM 1
#endif
