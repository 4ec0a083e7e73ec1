// Threaded code: a kernel is an array of operations, and the step of each of them goes on with the next one's.
// The steps of all kernels are few, so they are quick to compile; registers lie in memory.
#pragma once
#include "matrix.h"
#include "memory.h"

struct State;
struct Operation;
typedef u32 Step(State *, const Operation *);
struct Operation {
  Step *step;
  const u64 *numbers; // of registers, of operations to go on with, and constants, in the order of the step's text
};
struct Program {
  const Operation *code;
  const u32 *registers; // in the order of their numbers for unwritten(); VECTOR is set for a VGPR, CONSTANT for one of the constants
  u64 count, vectors;   // of registers; of the array that holds the VGPRs
  u64 *constants;       // of the code; the first two, of PTX, say of what block and launch they are. May be null
  u64 shared;           // of those behind these two: how many are the wavefront's that runs, and its threads'
};
INLINE u64 *shared_of(const Program &p) { return p.constants + 2; }
constexpr u32 VECTOR = 1u << 31, CONSTANT = 1u << 30;
struct State { // of one wavefront
  Context *c;
  const Operation *code;
  const V<u32> *ids;
  V<u32> *vector;
  u32 *scalar;
  i64 left;
  Mask exec, vcc;
  u32 scc, wave;
  u32 visits; // of backward branches since it is watched; 0: it is not
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
