// Types of libraries that only host code calls.
#pragma once

namespace parity_stub {
struct Anything;
template <typename T> struct NotAnything {
  typedef int Type;
};
template <> struct NotAnything<Anything> {};  // Anything converts itself to the type required

// A handle or an enumeration value.
struct LibraryType {
  LibraryType() = default;
  template <typename T, typename = typename NotAnything<T>::Type> LibraryType(T);
  operator int() const;
  template <typename T> operator T*() const;
};
}  // namespace parity_stub
