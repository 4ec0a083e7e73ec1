// Approximate instructions: their results may differ from the nearest number, by what AMD documents.
#pragma once
#include "lanes.h"

// As in approximate.py: what a launch gives; the functions, of f16, f32 and f64 each.
enum Results { NEAREST, GFX1100, DOCUMENTED };
enum Function { RCP, RSQ, SQRT, EXP, LOG };
struct Documented {
  f64 ulps;     // largest error
  u64 all_ones; // the result for a fraction of all ones is the nearest number
};
struct Drawing {
  u32 results, seed;
  const Documented *documented; // of function * 3 + type
};
// Every library of compiled functions has one of its own, and the host sets it before a launch (device.py).
extern "C" __attribute__((visibility("default"))) Drawing drawing;

// From the operand (f32: without subnormals), the nearest number, and the exact value (f64: not used).
RUNTIME V<f16> inexact_f16(u32 function, In<f16> x, In<f16> nearest, In<f64> exact);
RUNTIME V<f32> inexact_f32(u32 function, In<f32> x, In<f32> nearest, In<f64> exact);
RUNTIME V<f64> inexact_f64(u32 function, In<f64> x, In<f64> nearest);
