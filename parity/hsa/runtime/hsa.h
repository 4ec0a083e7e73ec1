// An HSA runtime for AMD's libamdhip64 on emulated GPUs: types of the interface, and what the source files share.
//
// Numbers and layouts follow the HSA Runtime Programmer's Reference Manual 1.2 and AMD's extensions (hsa_ext_amd.h).
// The library owns the device's memory, its signals and its queues. A process of parity (server.py) maps the same memory
// and executes kernels, one at a time.
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define VALUE(type, ...) return *(type *)out = (type)(__VA_ARGS__), SUCCESS  // of a query whose result is `out`

typedef int hsa_status_t;
enum {
    SUCCESS = 0,
    INFO_BREAK = 1,
    MEMORY_APERTURE_VIOLATION = 41,
    ILLEGAL_INSTRUCTION = 42,
    NOT_SUPPORTED = 47,
    ERROR = 0x1000,
    INVALID_ARGUMENT = 0x1001,
    INVALID_ALLOCATION = 0x1003,
    INVALID_AGENT = 0x1004,
    INVALID_SIGNAL = 0x1006,
    INVALID_QUEUE = 0x1007,
    OUT_OF_RESOURCES = 0x1008,
    INVALID_PACKET_FORMAT = 0x1009,
    NOT_INITIALIZED = 0x100B,
    INVALID_CODE_OBJECT = 0x1010,
    INVALID_SYMBOL_NAME = 0x1013,
    EXCEPTION = 0x1016,
};

typedef struct { uint64_t handle; } hsa_agent_t, hsa_signal_t, hsa_isa_t, hsa_executable_t, hsa_symbol_t, hsa_reader_t,
    hsa_pool_t, hsa_vmem_t;

struct Signal {  // amd_signal_t: kernels access it, too
    int64_t kind;
    _Atomic int64_t value;
    uint64_t mailbox;
    uint32_t event, reserved;
    uint64_t start, end;
    uint64_t queue, unused;
};

struct Agent {
    char name[64], isa[96];
    uint32_t wavefront, lds_bytes, simds, waves, version, chip;
    uint64_t used, limit;  // bytes of memory
};
extern struct Agent agents[];
extern int agent_count;  // GPUs; agent 0 is the CPU, agent i the GPU i - 1
#define PROCESSORS 8     // compute units of an emulated GPU

// --- memory.c ---
#define BASE 0x200000000000ull        // parity.hsa.memory.BASE
#define SPACE (64ull << 30)           // bytes of address space
#define DEVICE_BEGIN (1ull << 20)     // memory of GPUs; the first accesses of race detection are here
#define HOST_BEGIN ((40ull << 30) + (16 << 20))  // memory of the host that GPUs can access
#define HOST_END (52ull << 30)        // the rest belongs to the emulator
enum { WRITABLE = 1, WRITTEN = 3 };   // ByteState of the emulator
struct Block {
    struct Block *next;
    uint64_t address, size, room;
    int agent;     // the owner; 0 for memory of the host
    void *user;    // the program's address of locked memory
    void *data;    // set by hsa_amd_pointer_info_set_userdata
    uint32_t flags;
};
int memory_open(int files[2]);
struct Block *memory_allocate(int agent, size_t size, uint64_t alignment, uint8_t state, const char *name);
void memory_free(struct Block *block);
struct Block *memory_find(uint64_t address);
hsa_status_t memory_copy(void *to, const void *from, size_t size);
void memory_fill_state(uint64_t address, size_t size, uint8_t state);

// --- server.c ---
enum Action { ALLOCATE = 1, FREE, MAP, LOAD, UNLOAD, VARIABLE, LAUNCH, FINISH };
struct Reply { int64_t status; uint64_t value, bytes; };
hsa_status_t server_start(void);
void server_tell(enum Action action, const uint64_t *values, int count, const void *data, size_t bytes);
// Returns the reply's bytes, which the caller frees, or NULL.
void *server_ask(enum Action action, const uint64_t *values, int count, const void *data, size_t bytes, struct Reply *reply);

// --- signals.c ---
struct Signal *signal_new(int64_t value);
static inline struct Signal *signal_of(hsa_signal_t signal) { return (struct Signal *)signal.handle; }
void signals_changed(void);
bool condition_holds(int condition, int64_t value, int64_t compared);
void signal_finish(hsa_signal_t signal, uint64_t start, uint64_t end);
uint64_t now(void);

// --- queues.c ---
// Executes `work` once the signals of `dependencies` are 0, and then decrements `completion`.
struct Job {
    struct Job *next;
    hsa_status_t (*work)(struct Job *);
    hsa_signal_t completion;
    int count;
    hsa_signal_t dependencies[64];
    struct Rectangle { char *to; const char *from; uint64_t to_pitch, to_slice, from_pitch, from_slice; uint64_t x, y, z; } area;
};
void job_submit(struct Job *job);
void processor_wake(void);
void processor_stop(void);

hsa_status_t refused(const char *function, const char *reason);
