// Approximate instructions: their results may differ from the nearest number by an error that AMD documents.
#pragma once
#include "lanes.h"

// The results that a launch gives, and the functions, which exist for f16, f32 and f64 (approximate.py reads both enums).
enum Results { NEAREST, GFX1100, DOCUMENTED };
enum Function { RCP, RSQ, SQRT, EXP, LOG };
struct Documented {
  f64 ulps;     // largest error, in ULP
  u64 all_ones; // whether the result for a fraction of all ones is the nearest number
};
struct Drawing {
  u32 results, seed;
  const Documented *documented; // index: function * 3 + type
};
// Each library of compiled functions has its own; the host sets it before a launch (device.py).
extern "C" __attribute__((visibility("default"))) Drawing drawing;

// Takes the operand (f32: without subnormals), the nearest number, and the exact value (not for f64).
RUNTIME V<f16> inexact_f16(u32 function, In<f16> x, In<f16> nearest, In<f64> exact);
RUNTIME V<f32> inexact_f32(u32 function, In<f32> x, In<f32> nearest, In<f64> exact);
RUNTIME V<f64> inexact_f64(u32 function, In<f64> x, In<f64> nearest);
