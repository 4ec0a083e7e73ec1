// Packets, signals and memory by the functions of the HSA runtime, without ROCm: program CODE_OBJECT [fault]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t Handle;  // of an agent, a pool, a signal and so on
struct Queue { uint32_t type, features; void *base; Handle doorbell; uint32_t size, reserved; uint64_t id; };
union Packet {
    uint16_t header;
    struct { uint16_t header, dims, block[3], reserved; uint32_t grid[3], scratch, lds; uint64_t kernel; void *arguments; uint64_t id; Handle completion; } launch;
    struct { uint16_t header, reserved; uint32_t more; Handle signals[5]; uint64_t id; Handle completion; } barrier;
    struct { uint16_t header; uint8_t format, reserved; uint32_t more; Handle signal; int64_t value, mask; uint32_t condition, other; uint64_t unused[2]; Handle completion; } value;
};
enum { VENDOR = 0, LAUNCH = 2, AND = 3, OR = 5, GREATER_OR_EQUAL = 3, LESS = 2 };

int hsa_init(void);
int hsa_shut_down(void);
int hsa_iterate_agents(int (*)(Handle, void *), void *);
int hsa_agent_get_info(Handle, int, void *);
int hsa_amd_agent_iterate_memory_pools(Handle, int (*)(Handle, void *), void *);
int hsa_amd_memory_pool_allocate(Handle, size_t, uint32_t, void **);
int hsa_memory_copy(void *, const void *, size_t);
int hsa_queue_create(Handle, uint32_t, uint32_t, void (*)(int, struct Queue *, void *), void *, uint32_t, uint32_t, struct Queue **);
uint64_t hsa_queue_add_write_index_screlease(struct Queue *, uint64_t);
int hsa_signal_create(int64_t, uint32_t, const Handle *, Handle *);
void hsa_signal_store_screlease(Handle, int64_t);
int64_t hsa_signal_load_relaxed(Handle);
int64_t hsa_signal_wait_scacquire(Handle, int, int64_t, uint64_t, int);
int hsa_amd_signal_async_handler(Handle, int, int64_t, _Bool (*)(int64_t, void *), void *);
int hsa_amd_profiling_get_dispatch_time(Handle, Handle, uint64_t *);
int hsa_code_object_reader_create_from_memory(const void *, size_t, Handle *);
int hsa_executable_create_alt(int, int, const char *, Handle *);
int hsa_executable_load_agent_code_object(Handle, Handle, Handle, const char *, Handle *);
int hsa_executable_freeze(Handle, const char *);
int hsa_executable_get_symbol_by_name(Handle, const char *, const Handle *, Handle *);
int hsa_executable_symbol_get_info(Handle, int, void *);
int hsa_amd_vmem_handle_create(Handle, size_t, int, uint64_t, Handle *);
int hsa_amd_vmem_address_reserve(void **, size_t, uint64_t, uint64_t);
int hsa_amd_vmem_map(void *, size_t, size_t, Handle, uint64_t);
int hsa_amd_vmem_unmap(void *, size_t);
int hsa_amd_ipc_memory_create(void *, size_t, void *);

#define CHECK(call)                                                               \
    do {                                                                          \
        int error = call;                                                         \
        if (error) printf("line %d: %s: %#x\n", __LINE__, #call, error), exit(2); \
    } while (0)
#define EXPECT(condition) \
    if (!(condition)) printf("line %d: expected %s\n", __LINE__, #condition), exit(3)

static Handle agents[8], pools[8];
static int agent_count, pool_count, queue_status;

static int add_agent(Handle agent, void *unused) { return agents[agent_count++] = agent, 0; }
static int add_pool(Handle pool, void *unused) { return pools[pool_count++] = pool, 0; }
static void failed(int status, struct Queue *queue, void *unused) { queue_status = status; }
static _Bool changed(int64_t value, void *signal) { return hsa_signal_store_screlease(*(Handle *)signal, 0), 0; }

static Handle signal_of(int64_t value) {
    Handle signal;
    CHECK(hsa_signal_create(value, 0, NULL, &signal));
    return signal;
}
static void wait_for(Handle signal) { hsa_signal_wait_scacquire(signal, LESS, 1, UINT64_MAX, 0); }

static Handle post(struct Queue *queue, int type, union Packet packet) {
    const Handle completion = packet.launch.completion = signal_of(1);
    const uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
    union Packet *place = (union Packet *)queue->base + index % queue->size;
    memcpy((char *)place + 2, (char *)&packet + 2, sizeof packet - 2);
    __atomic_store_n(&place->header, type, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell, (int64_t)index);
    return completion;
}
static Handle barrier(struct Queue *queue, int type, Handle first, Handle second) {
    return post(queue, type, (union Packet){.barrier = {.signals = {first, 0, second}}});
}

static uint64_t load(const char *path, Handle agent) {
    static char code[1 << 20];
    FILE *file = fopen(path, "rb");
    const size_t size = fread(code, 1, sizeof code, file);
    Handle reader, executable, symbol;
    uint64_t kernel;
    CHECK(hsa_code_object_reader_create_from_memory(code, size, &reader));
    CHECK(hsa_executable_create_alt(0, 0, NULL, &executable));
    CHECK(hsa_executable_load_agent_code_object(executable, agent, reader, NULL, NULL));
    CHECK(hsa_executable_freeze(executable, NULL));
    CHECK(hsa_executable_get_symbol_by_name(executable, "twice.kd", &agent, &symbol));
    CHECK(hsa_executable_symbol_get_info(symbol, 22, &kernel));
    return kernel;
}

int main(int count, char **arguments) {
    CHECK(hsa_init());
    CHECK(hsa_iterate_agents(add_agent, NULL));
    for (int i = 1; i < agent_count; i++) {
        char name[64];
        CHECK(hsa_agent_get_info(agents[i], 0, name));
        printf("%s ", name);
    }
    CHECK(hsa_amd_agent_iterate_memory_pools(agents[0], add_pool, NULL));
    const int host_pools = pool_count;
    CHECK(hsa_amd_agent_iterate_memory_pools(agents[1], add_pool, NULL));
    const Handle host = pools[2], device = pools[host_pools];  // for arguments; coarse-grained

    struct Queue *queue, *other;
    CHECK(hsa_queue_create(agents[1], 4, 0, failed, NULL, 0, 0, &queue));  // of 4 packets, so that places are used again
    CHECK(hsa_queue_create(agents[1], 4, 0, NULL, NULL, 0, 0, &other));
    const uint8_t numbers[4] = {1, 2, 3, 200};
    uint8_t *x;
    uint32_t *out, found[4];
    void **values;
    CHECK(hsa_amd_memory_pool_allocate(device, sizeof numbers, 0, (void **)&x));
    CHECK(hsa_amd_memory_pool_allocate(device, sizeof found, 0, (void **)&out));
    CHECK(hsa_amd_memory_pool_allocate(host, 4096, 0, (void **)&values));
    CHECK(hsa_memory_copy(x, numbers, sizeof numbers));
    values[0] = x, values[1] = out;
    union Packet launch = {.launch = {.dims = 1, .block = {4, 1, 1}, .grid = {4, 1, 1}, .kernel = load(arguments[1], agents[1]), .arguments = values}};
    if (count > 2) {
        launch.launch.grid[0] = launch.launch.block[0] = 5;
        wait_for(post(queue, LAUNCH, launch));
        EXPECT(queue_status == 41);  // HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION
        puts("fault");
        return 0;
    }

    // Each packet waits for the one before it, and for its own signals.
    const Handle a = signal_of(1), b = signal_of(1), c = signal_of(1), d = signal_of(1), e = signal_of(1), called = signal_of(1);
    const Handle both = barrier(queue, AND, a, b);
    const Handle launched = post(queue, LAUNCH, launch);
    const Handle either = barrier(queue, OR, c, d);
    const Handle enough = post(queue, VENDOR, (union Packet){.value = {.format = 2, .signal = e, .value = 2, .mask = 3, .condition = GREATER_OR_EQUAL}});
    CHECK(hsa_amd_signal_async_handler(launched, LESS, 1, changed, (void *)&called));
    hsa_signal_store_screlease(b, 0), hsa_signal_store_screlease(d, 0);
    wait_for(barrier(other, AND, 0, 0));  // one queue does not wait for the other
    EXPECT(hsa_signal_load_relaxed(both) == 1 && hsa_signal_load_relaxed(launched) == 1 && hsa_signal_load_relaxed(called) == 1);
    hsa_signal_store_screlease(a, 0);
    wait_for(either), wait_for(called);
    EXPECT(!hsa_signal_load_relaxed(both) && !hsa_signal_load_relaxed(launched));
    uint64_t times[2];
    CHECK(hsa_amd_profiling_get_dispatch_time(agents[1], launched, times));
    EXPECT(0 < times[0] && times[0] < times[1]);
    hsa_signal_store_screlease(e, 4);  // the mask leaves 0
    wait_for(barrier(other, OR, 0, 0));
    EXPECT(hsa_signal_load_relaxed(enough) == 1);
    hsa_signal_store_screlease(e, 6);
    wait_for(enough);
    CHECK(hsa_memory_copy(found, out, sizeof found));
    printf("%u %u %u %u\n", found[0], found[1], found[2], found[3]);

    // Memory keeps its values when it moves to other addresses.
    const size_t page = 4096;
    char *space, shared[32];
    Handle memory, large;
    CHECK(hsa_amd_vmem_handle_create(device, page, 0, 0, &memory));
    CHECK(hsa_amd_vmem_address_reserve((void **)&space, 2 * page, 0, 0));
    CHECK(hsa_amd_vmem_map(space, page, 0, memory, 0));
    values[1] = space;
    wait_for(post(queue, LAUNCH, launch));
    CHECK(hsa_amd_vmem_unmap(space, page));
    CHECK(hsa_amd_vmem_map(space + page, page, 0, memory, 0));
    values[0] = space + page, values[1] = out;
    wait_for(post(queue, LAUNCH, launch));
    CHECK(hsa_memory_copy(found, out, sizeof found));
    EXPECT(((uint32_t *)(space + page))[3] == 400 && found[0] == 4 && !found[3]);

    EXPECT(hsa_amd_vmem_handle_create(device, 64 << 20, 0, 0, &large) == 0x1008);  // HSA_STATUS_ERROR_OUT_OF_RESOURCES
    EXPECT(hsa_amd_ipc_memory_create(x, sizeof numbers, shared) == 47);
    CHECK(hsa_shut_down());
    return 0;
}
