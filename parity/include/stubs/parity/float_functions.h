// C's functions of floats in namespace std: C++11 requires them, and GNU's library lacks them before version 14.
#pragma once

#include <cmath>

namespace std {
using ::acosf; using ::acoshf; using ::asinf; using ::asinhf; using ::atan2f; using ::atanf; using ::atanhf;
using ::cbrtf; using ::ceilf; using ::copysignf; using ::cosf; using ::coshf; using ::erfcf; using ::erff;
using ::exp2f; using ::expf; using ::expm1f; using ::fabsf; using ::fdimf; using ::floorf; using ::fmaf;
using ::fmaxf; using ::fminf; using ::fmodf; using ::frexpf; using ::hypotf; using ::ldexpf; using ::lgammaf;
using ::log10f; using ::log1pf; using ::log2f; using ::logf; using ::modff; using ::nearbyintf; using ::powf;
using ::remainderf; using ::rintf; using ::roundf; using ::sinf; using ::sinhf; using ::sqrtf; using ::tanf;
using ::tanhf; using ::tgammaf; using ::truncf;
}  // namespace std
