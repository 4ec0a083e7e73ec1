// The types of libraries that only host code calls.
#pragma once

namespace parity_stub {
// A handle or an enumeration.
struct LibraryType {
  LibraryType() = default;
  template <typename T>
  LibraryType(T);
  operator int() const;
  template <typename T>
  operator T*() const;
};
}  // namespace parity_stub
