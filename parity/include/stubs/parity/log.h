// A stream that takes anything, for what is logged or said of a failed check: it goes nowhere.
#pragma once

#include <iostream>

namespace parity_stub {
struct Log {
  template <typename T> const Log& operator<<(const T&) const { return *this; }
  const Log& operator<<(std::ostream& (*)(std::ostream&)) const { return *this; }
};
}  // namespace parity_stub
