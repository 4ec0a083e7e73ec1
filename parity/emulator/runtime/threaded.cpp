// The kernel that executes threaded code.
#include "threaded.h"

constexpr u32 SCALARS = 256;
EXPORTED u32 threaded(Context *c, Mask exec, const V<u32> *ids, u32 wave) {
  const Program &p = *c->program;
  u32 scalar[SCALARS];
  V<u32> *vector = (V<u32> *)__builtin_alloca_with_align(p.vectors * sizeof(V<u32>), 8 * sizeof(V<u32>));
  for (u64 i = 0; i < p.count; i++) {
    const u32 at = p.registers[i], value = unwritten(c, i);
    if (at & VECTOR) vector[at & ~VECTOR] = all(value);
    else scalar[at] = value;
  }
  State t = {c, p.code, ids, vector, scalar, c->budget, exec, 0, 0, wave};
  return p.code->step(&t, p.code);
}
