// Primitives for asynchronous copies.
#pragma once

#include <parity/compat/copies.h>
