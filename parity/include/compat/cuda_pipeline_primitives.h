// The primitives of asynchronous copies.
#pragma once

#include <parity/compat/copies.h>
