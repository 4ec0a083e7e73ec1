// Freestanding <math.h>.
#pragma once
#include <hip/math_functions.h>
