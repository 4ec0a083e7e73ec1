// helper_math.h of CUDA's samples: functions of vector types, and their operators for nvcc. HIP's vector types already
// have operators.
#pragma once

#include <hip/hip_runtime.h>
#include <math.h>

typedef unsigned int uint;
typedef unsigned short ushort;

#define PARITY_FUNCTION inline __host__ __device__

PARITY_FUNCTION float lerp(float a, float b, float t) { return a + t * (b - a); }
PARITY_FUNCTION float clamp(float f, float a, float b) { return fmaxf(a, fminf(f, b)); }
PARITY_FUNCTION int clamp(int f, int a, int b) { return f < a ? a : f > b ? b : f; }
PARITY_FUNCTION uint clamp(uint f, uint a, uint b) { return f < a ? a : f > b ? b : f; }
PARITY_FUNCTION float fracf(float v) { return v - floorf(v); }
PARITY_FUNCTION float smoothstep(float a, float b, float x) {
  const float y = clamp((x - a) / (b - a), 0.0f, 1.0f);
  return y * y * (3.0f - 2.0f * y);
}

#define PARITY_EACH2(f, op) f(x, op), f(y, op)
#define PARITY_EACH3(f, op) f(x, op), f(y, op), f(z, op)
#define PARITY_EACH4(f, op) f(x, op), f(y, op), f(z, op), f(w, op)
#define PARITY_SUM2(a, b) (a.x * b.x + a.y * b.y)
#define PARITY_SUM3(a, b) (a.x * b.x + a.y * b.y + a.z * b.z)
#define PARITY_SUM4(a, b) (a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w)

#ifndef __HIP_PLATFORM_AMD__
#define PARITY_OPERATED(p, op) a.p op b.p
#define PARITY_OPERATED1(p, op) a.p op b
#define PARITY_OPERATED2(p, op) a op b.p
#define PARITY_NEGATED(p, op) -a.p
#define PARITY_OPERATOR(T, N, op)                                                                                        \
  PARITY_FUNCTION T##N operator op(T##N a, T##N b) { return make_##T##N(PARITY_EACH##N(PARITY_OPERATED, op)); }          \
  PARITY_FUNCTION T##N operator op(T##N a, T b) { return make_##T##N(PARITY_EACH##N(PARITY_OPERATED1, op)); }            \
  PARITY_FUNCTION T##N operator op(T a, T##N b) { return make_##T##N(PARITY_EACH##N(PARITY_OPERATED2, op)); }            \
  PARITY_FUNCTION void operator op##=(T##N& a, T##N b) { a = a op b; }                                                   \
  PARITY_FUNCTION void operator op##=(T##N& a, T b) { a = a op b; }
#define PARITY_OPERATORS(T, N) PARITY_OPERATOR(T, N, +) PARITY_OPERATOR(T, N, -) PARITY_OPERATOR(T, N, *) PARITY_OPERATOR(T, N, /)
PARITY_OPERATORS(float, 2) PARITY_OPERATORS(float, 3) PARITY_OPERATORS(float, 4) PARITY_OPERATORS(int, 2) PARITY_OPERATORS(int, 3)
PARITY_OPERATORS(int, 4) PARITY_OPERATORS(uint, 2) PARITY_OPERATORS(uint, 3) PARITY_OPERATORS(uint, 4)
#define PARITY_MINUS(T, N) PARITY_FUNCTION T##N operator-(T##N a) { return make_##T##N(PARITY_EACH##N(PARITY_NEGATED, )); }
PARITY_MINUS(float, 2) PARITY_MINUS(float, 3) PARITY_MINUS(float, 4) PARITY_MINUS(int, 2) PARITY_MINUS(int, 3) PARITY_MINUS(int, 4)
#endif

#define PARITY_ONE(name, N, function)                                                      \
  PARITY_FUNCTION float##N name(float##N a) { return make_float##N(PARITY_EACH##N(function, )); }
#define PARITY_SAME(p, op) s
#define PARITY_FLOOR(p, op) floorf(a.p)
#define PARITY_FRAC(p, op) fracf(a.p)
#define PARITY_FABS(p, op) fabsf(a.p)
#define PARITY_MIN(p, op) fminf(a.p, b.p)
#define PARITY_MAX(p, op) fmaxf(a.p, b.p)
#define PARITY_MOD(p, op) fmodf(a.p, b.p)
#define PARITY_CLAMP(p, op) clamp(v.p, a.p, b.p)
#define PARITY_CLAMP1(p, op) clamp(v.p, a, b)
#define PARITY_STEP(p, op) smoothstep(a.p, b.p, v.p)
#define PARITY_LEAST(p, op) (a.p < b.p ? a.p : b.p)
#define PARITY_MOST(p, op) (a.p > b.p ? a.p : b.p)
#define PARITY_FROM(p, op) static_cast<decltype(to.x)>(v.p)

#define PARITY_FLOATS(N)                                                                                            \
  PARITY_FUNCTION float##N make_float##N(float s) { return make_float##N(PARITY_EACH##N(PARITY_SAME, )); }            \
  PARITY_FUNCTION float##N make_float##N(int##N v) { float1 to; return make_float##N(PARITY_EACH##N(PARITY_FROM, )); } \
  PARITY_FUNCTION float##N make_float##N(uint##N v) { float1 to; return make_float##N(PARITY_EACH##N(PARITY_FROM, )); } \
  PARITY_FUNCTION int##N make_int##N(int s) { return make_int##N(PARITY_EACH##N(PARITY_SAME, )); }                    \
  PARITY_FUNCTION int##N make_int##N(float##N v) { int1 to; return make_int##N(PARITY_EACH##N(PARITY_FROM, )); }      \
  PARITY_FUNCTION int##N make_int##N(uint##N v) { int1 to; return make_int##N(PARITY_EACH##N(PARITY_FROM, )); }       \
  PARITY_FUNCTION uint##N make_uint##N(uint s) { return make_uint##N(PARITY_EACH##N(PARITY_SAME, )); }                \
  PARITY_FUNCTION uint##N make_uint##N(int##N v) { uint1 to; return make_uint##N(PARITY_EACH##N(PARITY_FROM, )); }    \
  PARITY_FUNCTION float dot(float##N a, float##N b) { return PARITY_SUM##N(a, b); }                                 \
  PARITY_FUNCTION int dot(int##N a, int##N b) { return PARITY_SUM##N(a, b); }                                       \
  PARITY_FUNCTION uint dot(uint##N a, uint##N b) { return PARITY_SUM##N(a, b); }                                    \
  PARITY_FUNCTION float length(float##N v) { return sqrtf(dot(v, v)); }                                             \
  PARITY_FUNCTION float##N normalize(float##N v) { return v * (1.0f / sqrtf(dot(v, v))); }                          \
  PARITY_FUNCTION float##N lerp(float##N a, float##N b, float t) { return a + t * (b - a); }                        \
  PARITY_FUNCTION float##N fminf(float##N a, float##N b) { return make_float##N(PARITY_EACH##N(PARITY_MIN, )); }      \
  PARITY_FUNCTION float##N fmaxf(float##N a, float##N b) { return make_float##N(PARITY_EACH##N(PARITY_MAX, )); }      \
  PARITY_FUNCTION float##N fmodf(float##N a, float##N b) { return make_float##N(PARITY_EACH##N(PARITY_MOD, )); }      \
  PARITY_ONE(floorf, N, PARITY_FLOOR)                                                                               \
  PARITY_ONE(fracf, N, PARITY_FRAC)                                                                                 \
  PARITY_ONE(fabs, N, PARITY_FABS)                                                                                  \
  PARITY_FUNCTION float##N clamp(float##N v, float a, float b) { return make_float##N(PARITY_EACH##N(PARITY_CLAMP1, )); } \
  PARITY_FUNCTION float##N clamp(float##N v, float##N a, float##N b) { return make_float##N(PARITY_EACH##N(PARITY_CLAMP, )); } \
  PARITY_FUNCTION float##N smoothstep(float##N a, float##N b, float##N v) { return make_float##N(PARITY_EACH##N(PARITY_STEP, )); } \
  PARITY_FUNCTION float##N reflect(float##N i, float##N n) { return i - 2.0f * n * dot(n, i); }
#define PARITY_INTEGERS(T, N)                                                                                      \
  PARITY_FUNCTION T##N min(T##N a, T##N b) { return make_##T##N(PARITY_EACH##N(PARITY_LEAST, )); }                    \
  PARITY_FUNCTION T##N max(T##N a, T##N b) { return make_##T##N(PARITY_EACH##N(PARITY_MOST, )); }                     \
  PARITY_FUNCTION T##N clamp(T##N v, T a, T b) { return make_##T##N(PARITY_EACH##N(PARITY_CLAMP1, )); }               \
  PARITY_FUNCTION T##N clamp(T##N v, T##N a, T##N b) { return make_##T##N(PARITY_EACH##N(PARITY_CLAMP, )); }
PARITY_FLOATS(2) PARITY_FLOATS(3) PARITY_FLOATS(4)
PARITY_INTEGERS(int, 2) PARITY_INTEGERS(int, 3) PARITY_INTEGERS(int, 4)
PARITY_INTEGERS(uint, 2) PARITY_INTEGERS(uint, 3) PARITY_INTEGERS(uint, 4)

#define PARITY_LONGER(T)                                                                     \
  PARITY_FUNCTION T##2 make_##T##2(T##3 a) { return make_##T##2(a.x, a.y); }                 \
  PARITY_FUNCTION T##3 make_##T##3(T##2 a) { return make_##T##3(a.x, a.y, 0); }              \
  PARITY_FUNCTION T##3 make_##T##3(T##2 a, T s) { return make_##T##3(a.x, a.y, s); }         \
  PARITY_FUNCTION T##3 make_##T##3(T##4 a) { return make_##T##3(a.x, a.y, a.z); }            \
  PARITY_FUNCTION T##4 make_##T##4(T##3 a) { return make_##T##4(a.x, a.y, a.z, 0); }         \
  PARITY_FUNCTION T##4 make_##T##4(T##3 a, T w) { return make_##T##4(a.x, a.y, a.z, w); }
PARITY_LONGER(float) PARITY_LONGER(int) PARITY_LONGER(uint)
#undef PARITY_LONGER
PARITY_FUNCTION float3 cross(float3 a, float3 b) {
  return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
#undef PARITY_FUNCTION
