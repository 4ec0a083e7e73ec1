// Exchanges between lanes, barriers, and the launch loop.
#include "threaded.h"
#include "wavefronts.h"

// --- exchanges between lanes ---
static void crosses(Context *c, Mask exec, V<u32> from, u32 instruction) {
  if (LANES > 32 && !c->crossed && mask(bools(((from ^ IOTA) & 32) != 0)) & exec) c->crossed = instruction + 1;
}
V<u32> bpermute(Context *c, Mask exec, u32 instruction, In<u32> at, In<u32> x) {
  V<u32> from = at >> 2 & (LANES - 1), r;
  crosses(c, exec, from, instruction);
  // From generation 10 on, a wavefront of 64 lanes exchanges only within its halves: `at` accounts for that.
  return taken_from(sel(unmask(exec), x, all(0u)), from);
}
V<u32> permute(Context *c, Mask exec, u32 instruction, In<u32> at, In<u32> x) {
  V<u32> to = at >> 2 & (LANES - 1);
  crosses(c, exec, to, instruction);
  const Lanes<u32> value(x), lane(to);
  Lanes<u32> out(all(0u));
  for (Mask m = exec; m; m &= m - 1) out[lane[first(m)]] = value[first(m)];
  return out.vector();
}
V<u32> swizzle(In<u32> x, Mask exec, u32 pattern) {
  const Lanes<u32> value(sel(unmask(exec), x, all(0u)));
  Lanes<u32> out;
  for (u32 i = 0; i < LANES; i++) {
    u32 from;
    if ((pattern & 0xff00) == 0x8000) from = (i & ~3u) | (pattern >> 2 * (i & 3) & 3);
    else from = (i & ~31u) | (((i & 31 & pattern) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
    out[i] = value[from];
  }
  return out.vector();
}

// An inactive lane gives its value if `inactive`, otherwise 0 if `bound`. Otherwise the reader keeps its own value
// (V_PERMLANE16_B32).
V<u32> permlane16(In<u32> x, Mask exec, u64 select, u32 other_row, u32 inactive, u32 bound, In<u32> old) {
  const Lanes<u32> value(x), own(old);
  Lanes<u32> out;
  for (u32 i = 0; i < LANES; i++) {
    u32 from = ((i & ~15u) | (select >> 4 * (i & 15) & 15)) ^ (other_row ? 16 : 0);
    out[i] = inactive || exec >> from & 1 ? value[from] : bound ? 0 : own[i];
  }
  return out.vector();
}
V<u32> swapped_halves(In<u32> x) {
  const Lanes<u32> value(x);
  Lanes<u32> out;
  for (u32 i = 0; i < LANES; i++) out[i] = value[i ^ 32 % LANES];
  return out.vector();
}
void swap_rows(u32 lanes, V<u32> *x, V<u32> *y) {
  Lanes<u32> a(*x), b(*y);
  for (u32 i = 0; i < LANES; i++)
    if (i & lanes) {
      const u32 old = a[i];
      a[i] = b[i ^ lanes];
      b[i ^ lanes] = old;
    }
  *x = a.vector();
  *y = b.vector();
}
void transpose(u32 bits, V<u32> *x) {
  const u32 count = 64 / bits; // elements of a lane
  const Lanes<u32> words[] = {Lanes<u32>(x[0]), Lanes<u32>(x[1])};
  Lanes<u32> out[2];
  for (u32 i = 0; i < LANES; i++) {
    u64 column = 0;
    for (u32 k = 0; k < count; k++) {
      const u32 lane = (i & ~15u) + k * (16 / count) + i % 16 / count, at = i % count * bits;
      column |= (u64)(words[at / 32][lane] >> at % 32 & ((1u << bits) - 1)) << k * bits;
    }
    out[0][i] = (u32)column;
    out[1][i] = (u32)(column >> 32);
  }
  x[0] = out[0].vector();
  x[1] = out[1].vector();
}

// --- workgroups: each wavefront has its own stack, and a barrier switches to the next wavefront ---
struct Job;
RUNTIME void parity_switch(void **from, void *to, const Job *); // the last argument is for `enter`
#if defined(__x86_64__)
asm(R"(
.text
.hidden parity_switch
.globl parity_switch
parity_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
constexpr int SAVED = 6, RETURN = 6; // words of a saved frame; index of the return address
#else
asm(R"(
.text
.hidden parity_switch
.globl parity_switch
parity_switch:
  sub sp, sp, #176
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #176
  ret
)");
constexpr int SAVED = 22, RETURN = 11;
#endif
typedef u32 Kernel(Context *, Mask exec, const V<u32> *ids, u32 wave);
struct Job {
  Context *c;
  Kernel *kernel;
};
static u32 run_wave(const Job &job, u32 number) {
  const u32 *block = job.c->running->block, threads = block[0] * block[1] * block[2], begin = number * LANES, left = threads - begin;
  V<u32> ids[3] = {begin + IOTA, all(0u), all(0u)};
  if (threads != block[0]) {
    V<u32> row = ids[0] / block[0];
    ids[0] %= block[0], ids[1] = row % block[1], ids[2] = row / block[1];
  }
  Context *c = job.c;
  Wave &w = c->running->wave[number];
  w.start = left < LANES ? ((Mask)1 << left) - 1 : ALL;
  u32 failed = job.kernel(c, w.start, ids, number);
  if (!failed && c->budget + c->reserve < 0) report(c, TIMEOUT, 0, 0, NO_LANE, c->instruction);
  w.done = 1;
  return c->fault;
}
// Begins a wavefront on a new stack. The registers still hold the arguments of `parity_switch`.
static void enter(void **, void *, const Job *started) {
  const Job job = *started;
  Group *g = job.c->running;
  run_wave(job, g->current);
  parity_switch(&g->wave[g->current].stack, g->main, nullptr);
  __builtin_unreachable();
}
// Lets other wavefronts run. Saves the constants that belong to this wavefront, and restores them afterwards.
static void yield(Context *c, Wave &w) {
  const Program *p = c->program;
  const u64 bytes = p ? p->shared * sizeof(u64) : 0;
  u8 *kept = (u8 *)__builtin_alloca(bytes);
  if (bytes) memcpy(kept, shared_of(*p), bytes);
  parity_switch(&w.stack, c->running->main, nullptr);
  if (bytes) memcpy(shared_of(*p), kept, bytes);
}
// Gives the wavefronts of the running workgroup new ordinals.
static void renumber(Context *c) {
  Group *g = c->running;
  for (u32 i = 0; i < g->waves; i++) g->wave[i].ordinal = ++c->ordinal;
  g->round = ++c->ordinal;
}
// An s_barrier: waits for all wavefronts of the workgroup. Lanes that are inactive here must not do any work afterwards.
u32 barrier(Context *c, Mask exec, u32 instruction) {
  Group *g = c->running;
  Wave &w = g->wave[g->current];
  if (exec & w.missed) return fault(c, DIVERGENT_BARRIER, 0, 0, first(exec & w.missed), w.instruction);
  w.missed |= w.start & ~exec;
  w.instruction = instruction;
  w.epoch++, w.busy = 0;
#if LANES == 32
  if (c->who[0]) ordered(c);
#endif
  if (g->waves > 1 || c->resident) yield(c, w);
  else if (report_deferred(c)) return 1;
  return c->fault;
}
// A wavefront repeats the same state: it waits until another wavefront changes memory.
u32 stuck(Context *c, Mask exec, u32 instruction) {
  Group *g = c->running;
  Wave &w = g->wave[g->current];
  w.stuck = exec, w.instruction = instruction;
  if (!w.stack) return report(c, STUCK, exec, 0, g->current * LANES + first(exec), instruction);
  yield(c, w);
  w.stuck = 0;
  return c->fault;
}
u32 wave_sleep(Context *c, Mask exec, u32 instruction) { return c->sleeps ? stuck(c, exec, instruction) : 0; }
// Waits for all workgroups. The last one to arrive orders all accesses before this barrier before all later ones.
u32 grid_barrier(Context *c, Mask exec, u32 instruction) {
  Group *g = c->running;
  const u32 mine = c->grid_barriers;
  c->changes++;
  if (++c->arrived == g->groups) {
    c->arrived = 0, c->grid_barriers++, g->earlier = c->ordinal;
    renumber(c);
  }
  while (c->grid_barriers == mine)
    if (stuck(c, exec, instruction)) return 1;
  return 0;
}
static u32 draw(u32 &state, u32 n) { return xorshift32(state) % n; }
static void shuffle(u32 *order, u32 n, u32 &state) {
  for (u32 i = 0; i < n; i++) order[i] = state == REVERSED ? n - 1 - i : i;
  for (u32 i = n; state && state != REVERSED && i > 1; i--) {
    u32 j = draw(state, i), t = order[i - 1];
    order[i - 1] = order[j], order[j] = t;
  }
}
static void begin_group(const Job &job) {
  Context *c = job.c;
  Group &g = *c->running;
  for (u32 i = 0; i < g.waves; i++) g.wave[i] = {};
  renumber(c);
#if LANES == 32
  for (u32 i = 0; c->who[0] && i < g.waves; i++) next_phase(c, g.wave[i]);
#endif
}
static void place_stacks(Group &g, u8 *stacks) {
  for (u32 i = 0; i < g.waves; i++) {
    void **top = (void **)(stacks + (i + 1) * STACK - 64) - SAVED;
    for (int k = 0; k < SAVED; k++) top[k] = nullptr;
    top[RETURN] = (void *)enter;
    g.wave[i].stack = top;
  }
}
// Executes a workgroup until it ends, has a fault, or waits for other workgroups. `round` counts its barriers.
static u32 run_rounds(const Job &job, u32 &round, u32 &random) {
  Context *c = job.c;
  Group &g = *c->running;
  u32 order[MAX_WAVEFRONTS];
  for (;; round++) {
    shuffle(order, g.waves, random);
    u32 waiting = ~0u, still = ~0u; // a wavefront at the barrier; a wavefront that waits for memory to change
    for (bool moved = true; moved;) {
      moved = false, still = ~0u;
      for (u32 i = 0; i < g.waves; i++) {
        Wave &w = g.wave[order[i]];
        if (w.done || w.epoch == round) continue;
        u64 changes = c->changes;
        g.current = order[i];
        parity_switch(&g.main, w.stack, &job);
        if (c->fault) return c->fault;
        if (w.stuck) still = order[i];
        else if (!w.done) waiting = order[i];
        moved |= !w.stuck | c->changes != changes;
      }
      moved &= still != ~0u;
    }
    g.waits = still;
    if (still != ~0u && !c->resident) {
      const Wave &w = g.wave[still];
      return report(c, STUCK, w.stuck, 0, still * LANES + first(w.stuck), w.instruction);
    }
    if (report_deferred(c)) return c->fault;
    if (still != ~0u || waiting == ~0u) return NONE;
    g.round = ++c->ordinal;
    u32 ordered = 0;
    for (u32 i = 0; i < g.waves; i++) ordered |= g.wave[i].synchronised;
    // The barrier does not wait for a wavefront that has ended. If that wavefront worked after the last barrier, it is a fault.
    for (u32 i = 0; i < g.waves; i++) {
      g.wave[i].synchronised = ordered;
      if (g.wave[i].done && g.wave[i].busy && g.wave[i].epoch < round)
        return fault(c, DIVERGENT_BARRIER, 0, 0, i * LANES | WHOLE_WAVEFRONT, g.wave[waiting].instruction);
    }
  }
}
static u32 run_group(const Job &job, bool barriers, u32 &random) {
  Context *c = job.c;
  Group &g = *c->running;
  begin_group(job);
  if (barriers && g.waves > 1) {
    u32 round = 1;
    place_stacks(g, c->stacks);
    return run_rounds(job, round, random);
  }
  u32 order[MAX_WAVEFRONTS];
  shuffle(order, g.waves, random);
  for (u32 i = 0; i < g.waves; i++)
    if (g.current = order[i], run_wave(job, order[i])) return c->fault;
  return report_deferred(c);
}

// --- launch: executes the workgroups in order; returns the fault or NONE ---
static u32 coprime_step(u32 &random, u32 n) {
  for (u32 step = 1 + draw(random, n);; step = step % n + 1) {
    u32 a = step, b = n;
    while (b) { u32 t = a % b; a = b, b = t; }
    if (a == 1) return step;
  }
}
// Sets the numbers and the size of a workgroup.
static void set_group(Context *c, const u32 *grid, const u32 *block, u64 at) {
  Group *g = c->running;
  c->group[0] = at % grid[0], c->group[1] = at / grid[0] % grid[1], c->group[2] = at / grid[0] / grid[1];
  for (int i = 0; i < 3; i++) g->block[i] = c->rest[i] && c->group[i] == grid[i] - 1 ? c->rest[i] : block[i];
  g->waves = (g->block[0] * g->block[1] * g->block[2] + LANES - 1) / LANES;
}
// Each workgroup begins with unwritten LDS.
static void clear_lds(Context *c) {
  memset(c->shadow + (c->lds - c->base), c->fresh, c->lds_bytes);
  memset(c->shadow + (c->lds - c->base), WRITABLE | READABLE, c->lds_zeros);
  memset(c->data + (c->lds - c->base), 0, c->lds_zeros);
}

static void clear_scratch(Context *c, u64 bytes) {
  for (u64 k = 0; k < bytes; k += c->scratch_stride) memset(c->shadow + (c->scratch - c->base + k), c->fresh, c->scratch_bytes);
}

// --- cooperative launches: all workgroups have begun, and each runs until it waits for the others ---
struct Resident { // a workgroup while others run; its LDS and the state of its LDS follow
  Wave wave[MAX_WAVEFRONTS];
  u32 round, ended, barriers; // barriers of the grid that it knows of
};
static_assert(sizeof(Resident) <= RESIDENT);
static void keep_lds(const Context *c, Resident *r, bool restores) {
  u8 *const kept = (u8 *)r + RESIDENT, *const data = c->data + (c->lds - c->base), *const state = c->shadow + (c->lds - c->base);
  const u64 n = c->lds_bytes;
  if (restores) memcpy(data, kept, n), memcpy(state, kept + n, n);
  else memcpy(kept, data, n), memcpy(kept + n, state, n);
}
static u32 advance(const Job &job, Resident *r, u64 number, u32 &random) {
  Context *c = job.c;
  Group &g = *c->running;
  if (!r->round) {
    r->round = 1, r->barriers = c->grid_barriers;
    clear_lds(c);
    begin_group(job);
    place_stacks(g, c->stacks + number * g.waves * STACK);
  } else {
    memcpy(g.wave, r->wave, sizeof g.wave);
    keep_lds(c, r, true);
    if (r->barriers != c->grid_barriers) renumber(c);
  }
  if (run_rounds(job, r->round, random)) return c->fault;
  r->ended = g.waits == ~0u, r->barriers = c->grid_barriers;
  memcpy(r->wave, g.wave, sizeof g.wave);
  keep_lds(c, r, false);
  return NONE;
}
static u32 launch_resident(const Job &job, const u32 *grid, const u32 *block, u64 span, u64 begin, u64 step, u32 &random) {
  Context *c = job.c;
  Group &g = *c->running;
  const u64 scratch = c->scratch;
  u64 left = g.groups;
  clear_scratch(c, g.groups * span);
  for (c->sleeps = 1; left;) {
    const u64 before = left, changes = c->changes;
    for (u64 i = 0; i < g.groups; i++) {
      Resident *r = (Resident *)(c->resident + i * (RESIDENT + 2ul * c->lds_bytes));
      if (r->ended) continue;
      set_group(c, grid, block, (begin + i * step) % g.groups);
      c->scratch = scratch + i * span;
      if (advance(job, r, i, random)) return c->fault;
      left -= r->ended;
    }
    if (left < before || c->changes != changes) continue;
    // A wavefront that sleeps may count down. One that runs is known to wait for ever if its state repeats.
    const Wave &w = g.wave[g.waits];
    if (!c->sleeps) report(c, STUCK, w.stuck, 0, g.waits * LANES + first(w.stuck), w.instruction);
    if (c->fault) return c->fault;
    c->sleeps = 0;
  }
  return report_unverified_loads(c);
}
EXPORTED u32 launch(Context *c, Kernel *kernel, const u32 *grid, const u32 *block, u32 barriers) {
  const Job job = {c, kernel};
  const Subnormals as_before;
  Group group;
  const u64 waves = (block[0] * block[1] * block[2] + LANES - 1) / LANES;
  group.earlier = c->ordinal, group.unwritten.bytes = 0;
  group.suspects = group.atomics = 0, group.scratched = 1;
  memset(group.begun, 0, sizeof group.begun);
  memset(group.feeds, 0, c->compares ? sizeof group.feeds : 0);
  c->running = &group, c->fault = NONE, c->crossed = 0, c->watched = nullptr;
  if (c->program && c->program->constants) c->program->constants[0] = c->program->constants[1] = 0;
  const u64 groups = group.groups = (u64)grid[0] * grid[1] * grid[2], span = waves * LANES * c->scratch_stride;
  u32 random = c->seed, step = 1, begin = 0;
  if (random && random != REVERSED && !c->in_order && groups > 1 && groups < 1u << 31) step = coprime_step(random, groups), begin = c->sampled ? 0 : draw(random, groups);
  c->sleeps = 0, c->arrived = 0;
  if (c->resident) return launch_resident(job, grid, block, span, begin, step, random);
  const u64 n = c->sampled && c->sampled < groups ? c->sampled : groups;
  for (u64 i; !c->trial || c->whole - c->budget - c->reserve < c->trial;) {
    if ((i = __atomic_fetch_add(c->next, 1, __ATOMIC_RELAXED)) >= n) break;
    u64 at = (begin + i * step) % groups;
    if (c->in_order && c->seed) random = (c->seed ^ (u32)i * 0x9e3779b1) | 1; // does not depend on other workgroups
    set_group(c, grid, block, at);
    clear_lds(c);
    if (group.scratched && c->checked) clear_scratch(c, span);
    group.scratched = !c->trace[0]; // tracing sets it
    if (run_group(job, barriers, random)) return __atomic_store_n(c->next, n, __ATOMIC_RELAXED), c->fault;
  }
  return report_unverified_loads(c);
}
