// Standard headers that headers of other projects include, for device code. Included first if such headers are missing
// or replaced by stubs.
#pragma once

#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <limits>
#include <type_traits>
#include <utility>
