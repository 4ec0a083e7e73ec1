// What stands in host code for a value that could not be compiled. Nothing of it is executed.
#pragma once

namespace parity_stub {
struct Anything {
  template <typename T> operator T() const;
  const Anything* operator->() const;
  template <typename T> Anything operator[](const T&) const;
  template <class... Arguments> Anything operator()(const Arguments&...) const;
};
Anything anything();
}  // namespace parity_stub
