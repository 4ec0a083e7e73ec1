// Threaded code: a kernel is an array of operations. The step of each operation ends with a tail call of the next step.
// All kernels together need few steps, so these compile quickly. Registers are in memory.
#pragma once
#include "buffers.h"
#include "images.h"
#include "matrix.h"
#include "memory.h"

struct State;
struct Operation;
typedef u32 Step(State *, const Operation *);
struct Operation {
  Step *step;
  const u64 *numbers; // registers, operations to branch to, and constants, in the order of the step's text
};
struct Program {
  const Operation *code;
  const u32 *registers; // in the order of their numbers for unwritten(); VECTOR marks a VGPR, CONSTANT one of the constants
  u64 count, vectors;   // number of registers; size of the array that holds the VGPRs
  u64 *constants;       // of the code, or null. In PTX, the first two name the block and the launch they belong to
  u64 shared;           // how many constants after these two belong to the running wavefront
};
INLINE u64 *shared_of(const Program &p) { return p.constants + 2; }
constexpr u32 VECTOR = 1u << 31, CONSTANT = 1u << 30; // bits of a register's number
constexpr u32 SCALARS = 256;   // scalar registers of a wavefront
constexpr i64 SLICE = 1 << 20; // instructions between two checks for progress
struct State { // of one wavefront
  Context *c;
  const Operation *code;
  const V<u32> *ids;
  V<u32> *vector;
  u32 *scalar;
  i64 left;
  Mask exec, vcc;
  u32 scc, wave;
  u32 visits; // backward branches since the watch began; 0: not watched
  u64 *constants;
};
RUNTIME u32 exhausted(State *, i64 &left, u32 instruction);

#define S(i) t->scalar[o->numbers[i]]
#define W(i) t->vector[o->numbers[i]]
#define N(i) o->numbers[i]
#define GO_ON(next) do { const Operation *n = next; [[clang::musttail]] return n->step(t, n); } while (0)
#define GO_TO(i) GO_ON(t->code + o->numbers[i])
#define STEP(name, ...)                                                                                        \
  EXPORTED u32 name(State *t, const Operation *o) {                                                            \
    State *const self = t;                                                                                     \
    Context *const c = t->c;                                                                                   \
    const V<u32> *const ids = t->ids;                                                                          \
    const u32 wave = t->wave;                                                                                  \
    Mask &exec = t->exec, &vcc = t->vcc;                                                                       \
    u32 &scc = t->scc;                                                                                         \
    i64 &left = t->left;                                                                                       \
    __VA_ARGS__                                                                                                \
    GO_ON(o + 1);                                                                                              \
  }
