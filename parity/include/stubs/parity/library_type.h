// The types of libraries that only host code calls.
#pragma once

namespace parity_stub {
struct Anything;
template <typename T> struct NotAnything {
  typedef int Type;
};
template <> struct NotAnything<Anything> {};  // which becomes what is wanted by itself

// A handle or an enumeration.
struct LibraryType {
  LibraryType() = default;
  template <typename T, typename = typename NotAnything<T>::Type> LibraryType(T);
  operator int() const;
  template <typename T> operator T*() const;
};
}  // namespace parity_stub
