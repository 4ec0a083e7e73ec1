// Replaces a value in host code that does not compile. It is never executed.
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
