// What headers of other projects bring with them, of the standard library, for device code: included first where such
// headers are not here, or small ones stand for them.
#pragma once

#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <limits>
#include <type_traits>
#include <utility>
