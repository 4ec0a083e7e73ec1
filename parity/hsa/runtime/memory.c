// Memory of the emulated GPUs, and memory of the host that they can access: one range of addresses, shared with the
// emulator. Each byte has a state (ByteState of the emulator), so that the emulator checks the accesses of kernels.
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hsa.h"

#define ZONE 256  // inaccessible bytes around each allocation
#define PAGE 4096ull
#define LARGE (2ull << 20)

static uint8_t *state;
static int data_file = -1, state_file = -1;
static struct Block *blocks[2];  // by region, sorted by address
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int memory_open(int files[2]) {
    const int flags = MAP_SHARED | MAP_NORESERVE;
    data_file = memfd_create("parity data", MFD_CLOEXEC), state_file = memfd_create("parity state", MFD_CLOEXEC);
    if (data_file < 0 || state_file < 0 || ftruncate(data_file, SPACE) || ftruncate(state_file, SPACE)) return 0;
    void *at = mmap((void *)BASE, SPACE, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, data_file, 0);
    state = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, flags, state_file, 0);
    files[0] = data_file, files[1] = state_file;
    return at == (void *)BASE && state != MAP_FAILED;
}

static bool inside(uint64_t address, size_t size) { return address - BASE < SPACE && size <= SPACE - (address - BASE); }

void memory_fill_state(uint64_t address, size_t size, uint8_t value) {
    if (inside(address, size)) memset(state + (address - BASE), value, size);
}

static uint64_t up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

struct Block *memory_allocate(int agent, size_t size, uint64_t alignment, uint8_t initial, const char *name) {
    const int region = agent == 0;
    const uint64_t end = BASE + (region ? HOST_END : HOST_BEGIN), room = size ? size : 1;
    struct Block *block = calloc(1, sizeof *block), **place;
    if (!block) return NULL;
    pthread_mutex_lock(&lock);
    if (agent && (size > agents[agent].limit || agents[agent].used > agents[agent].limit - size)) goto full;
    uint64_t at = up(BASE + (region ? HOST_BEGIN : DEVICE_BEGIN), alignment);
    for (place = &blocks[region]; *place; place = &(*place)->next) {
        if ((*place)->address >= at + room + ZONE) break;
        at = up((*place)->address + (*place)->room + ZONE, alignment);
    }
    if (at + room > end || room > SPACE) goto full;
    *block = (struct Block){*place, at, size, room, agent, NULL, NULL, 0};
    *place = block;
    if (agent) agents[agent].used += size;
    if (initial) memset(state + (at - BASE), initial, size);
    pthread_mutex_unlock(&lock);
    server_tell(ALLOCATE, (uint64_t[]){at, size, (uint64_t)agent}, 3, name, strlen(name));
    return block;
full:
    pthread_mutex_unlock(&lock);
    free(block);
    return NULL;
}

// Returns whole pages to the system; the rest only becomes inaccessible.
void memory_free(struct Block *block) {
    const uint64_t begin = block->address - BASE, end = begin + block->size, first = up(begin, PAGE), last = end / PAGE * PAGE;
    server_tell(FREE, &block->address, 1, NULL, 0);
    pthread_mutex_lock(&lock);
    memset(state + begin, 0, block->size);
    if (last > first) {
        madvise((void *)(BASE + first), last - first, MADV_REMOVE);
        madvise(state + first, last - first, MADV_REMOVE);
    }
    for (struct Block **place = &blocks[block->agent == 0]; *place; place = &(*place)->next)
        if (*place == block) {
            *place = block->next;
            break;
        }
    if (block->agent) agents[block->agent].used -= block->size;
    pthread_mutex_unlock(&lock);
    free(block);
}

// The allocation that contains an address, which may be the program's own address of locked memory.
struct Block *memory_find(uint64_t address) {
    struct Block *found = NULL;
    pthread_mutex_lock(&lock);
    for (int region = 0; region < 2 && !found; region++)
        for (struct Block *each = blocks[region]; each && !found; each = each->next)
            if (address - each->address < each->size || (each->user && address - (uint64_t)each->user < each->size))
                found = each;
    pthread_mutex_unlock(&lock);
    return found;
}

// Copies bytes together with their states. Bytes of the program's other memory count as written.
hsa_status_t memory_copy(void *to, const void *from, size_t size) {
    const bool target = inside((uint64_t)to, size), source = inside((uint64_t)from, size);
    memmove(to, from, size);
    if (target && source)
        memmove(state + ((uint64_t)to - BASE), state + ((uint64_t)from - BASE), size);
    else if (target)
        memset(state + ((uint64_t)to - BASE), WRITTEN, size);
    return SUCCESS;
}

// --- the interface ---

// The state of bytes that the program allocates. With ``--check initialized`` they count as written.
static uint8_t fresh(void) {
    const char *checks = getenv("PARITY_HSA_CHECK");
    return checks && !strcmp(checks, "initialized") ? WRITTEN : WRITABLE;
}

// The handle of a memory pool: 8 * agent + kind. The CPU has kinds 0 (fine-grained), 1 (coarse-grained) and 2 (kernarg).
API hsa_status_t hsa_amd_memory_pool_allocate(hsa_pool_t pool, size_t size, uint32_t flags, void **out) {
    if (!out || !size) return INVALID_ARGUMENT;
    const int agent = (int)(pool.handle / 8) - 1;
    // The heap of kernels relies on the alignment of large blocks.
    const uint64_t alignment = !agent ? PAGE : size < LARGE ? ZONE : LARGE;
    struct Block *block = memory_allocate(agent, size, alignment, agent ? fresh() : WRITTEN, agent ? "device" : "host");
    if (!block) return OUT_OF_RESOURCES;
    *out = (void *)block->address;
    return SUCCESS;
}

API hsa_status_t hsa_amd_memory_pool_free(void *pointer) {
    if (!pointer) return SUCCESS;
    struct Block *block = memory_find((uint64_t)pointer);
    if (!block || block->address != (uint64_t)pointer) return INVALID_ALLOCATION;
    memory_free(block);
    return SUCCESS;
}

API hsa_status_t hsa_amd_agents_allow_access(uint32_t count, const hsa_agent_t *list, const uint32_t *flags, const void *at) {
    return memory_find((uint64_t)at) ? SUCCESS : INVALID_ARGUMENT;
}

// Locking moves the pages of the program's memory into shared memory, at the same addresses of the program.
API hsa_status_t hsa_amd_memory_lock_to_pool(void *host, size_t size, hsa_agent_t *list, int count, hsa_pool_t pool,
                                             uint32_t flags, void **out) {
    const uint64_t begin = (uint64_t)host / PAGE * PAGE, end = up((uint64_t)host + size, PAGE);
    struct Block *known = memory_find((uint64_t)host);
    // A page that is locked already cannot become a part of another block.
    if (memory_find((uint64_t)host + size - 1) != known || (!known && memory_find(begin))) return OUT_OF_RESOURCES;
    if (known) {
        if (known->user) known->flags++;  // locked again
        *out = known->user ? (char *)known->address + ((char *)host - (char *)known->user) : host;
        return SUCCESS;
    }
    struct Block *block = memory_allocate(0, end - begin, PAGE, 0, "locked");
    if (!block) return OUT_OF_RESOURCES;
    memcpy((void *)block->address, (void *)begin, end - begin);
    if (mmap((void *)begin, end - begin, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, data_file,
             (off_t)(block->address - BASE)) == MAP_FAILED) {
        memory_free(block);
        return OUT_OF_RESOURCES;
    }
    block->user = (void *)begin, block->flags = 1;
    // Only the bytes that the program locked are accessible.
    memory_fill_state(block->address + ((uint64_t)host - begin), size, WRITTEN);
    *out = (char *)block->address + ((uint64_t)host - begin);
    return SUCCESS;
}

API hsa_status_t hsa_amd_memory_unlock(void *host) {
    struct Block *block = memory_find((uint64_t)host);
    if (!block || !block->user) return SUCCESS;
    if (--block->flags) return SUCCESS;
    void *kept = mmap(NULL, block->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (kept == MAP_FAILED) return OUT_OF_RESOURCES;
    memcpy(kept, (void *)block->address, block->size);
    if (mremap(kept, block->size, block->size, MREMAP_MAYMOVE | MREMAP_FIXED, block->user) == MAP_FAILED)
        return OUT_OF_RESOURCES;
    memory_free(block);
    return SUCCESS;
}

API hsa_status_t hsa_memory_register(void *at, size_t size) { return SUCCESS; }
API hsa_status_t hsa_memory_deregister(void *at, size_t size) { return SUCCESS; }
API hsa_status_t hsa_memory_copy(void *to, const void *from, size_t size) { return memory_copy(to, from, size); }

struct PointerInfo {
    uint32_t size, type;
    void *device, *host;
    size_t bytes;
    void *data;
    hsa_agent_t owner;
    uint32_t flags;
    bool registered;
};

API hsa_status_t hsa_amd_pointer_info(const void *at, struct PointerInfo *info, void *(*allocate)(size_t), uint32_t *count,
                                      hsa_agent_t **accessible) {
    struct Block *block = memory_find((uint64_t)at);
    struct PointerInfo found = {info->size, 0};
    if (block)
        found = (struct PointerInfo){info->size, block->user ? 2 : 1, (void *)block->address,
                                     block->user ? block->user : (void *)block->address, block->size, block->data,
                                     {(uint64_t)block->agent + 1}, block->agent ? 4 : 2, true};
    memcpy(info, &found, info->size < sizeof found ? info->size : sizeof found);
    if (count && accessible && allocate) {
        *count = block ? (uint32_t)agent_count + 1 : 0;
        *accessible = block ? allocate(*count * sizeof(hsa_agent_t)) : NULL;
        for (uint32_t i = 0; block && i < *count; i++) (*accessible)[i].handle = i + 1;
    }
    return SUCCESS;
}

// --- virtual memory: a reservation has addresses; mapping gives them the pages of a handle ---

struct Handle { struct Block *block; _Atomic int users; };  // users: who created it, and its mappings
struct Mapping { struct Mapping *next; uint64_t at; size_t size; struct Handle *handle; };
static struct Mapping *mappings;

// Gives addresses the pages of other addresses, here and in the emulator.
static bool remap(uint64_t at, size_t size, uint64_t from) {
    const int access = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
    const off_t offset = (off_t)(from - BASE);
    if (mmap((void *)at, size, access, flags, data_file, offset) == MAP_FAILED) return false;
    if (mmap(state + (at - BASE), size, access, flags, state_file, offset) == MAP_FAILED) return false;
    server_tell(MAP, (uint64_t[]){at, size, from}, 3, NULL, 0);
    return true;
}

static void leave(struct Handle *handle) {
    if (atomic_fetch_sub(&handle->users, 1) > 1) return;
    memory_free(handle->block);
    free(handle);
}

static hsa_status_t reserve(void **out, size_t size, uint64_t alignment) {
    struct Block *block = memory_allocate(0, size, alignment > PAGE ? alignment : PAGE, 0, "reserved");
    if (!block) return OUT_OF_RESOURCES;
    *out = (void *)block->address;
    return SUCCESS;
}
API hsa_status_t hsa_amd_vmem_address_reserve(void **out, size_t size, uint64_t address, uint64_t flags) {
    return reserve(out, size, PAGE);
}
API hsa_status_t hsa_amd_vmem_address_reserve_align(void **out, size_t size, uint64_t address, uint64_t alignment,
                                                    uint64_t flags) {
    return reserve(out, size, alignment);
}
API hsa_status_t hsa_amd_vmem_address_free(void *at, size_t size) { return hsa_amd_memory_pool_free(at); }
API hsa_status_t hsa_amd_vmem_handle_create(hsa_pool_t pool, size_t size, int type, uint64_t flags, hsa_vmem_t *out) {
    if (!size || size % PAGE) return INVALID_ARGUMENT;
    struct Handle *handle = malloc(sizeof *handle);
    struct Block *block = handle ? memory_allocate((int)(pool.handle / 8) - 1, size, PAGE, fresh(), "mapped") : NULL;
    if (!block) return free(handle), OUT_OF_RESOURCES;
    handle->block = block, handle->users = 1;
    out->handle = (uint64_t)handle;
    return SUCCESS;
}
API hsa_status_t hsa_amd_vmem_handle_release(hsa_vmem_t handle) {
    if (!handle.handle) return INVALID_ALLOCATION;  // the HIP runtime also releases what it could not create
    leave((struct Handle *)handle.handle);
    return SUCCESS;
}
API hsa_status_t hsa_amd_vmem_map(void *at, size_t size, size_t offset, hsa_vmem_t handle, uint64_t flags) {
    struct Handle *mapped = (struct Handle *)handle.handle;
    const size_t room = mapped->block->size;
    if (!inside((uint64_t)at, size) || ((uint64_t)at | size | offset) % PAGE || offset > room || size > room - offset)
        return INVALID_ARGUMENT;
    struct Mapping *mapping = malloc(sizeof *mapping);
    if (!mapping || !remap((uint64_t)at, size, mapped->block->address + offset)) return free(mapping), OUT_OF_RESOURCES;
    atomic_fetch_add(&mapped->users, 1);
    pthread_mutex_lock(&lock);
    *mapping = (struct Mapping){mappings, (uint64_t)at, size, mapped}, mappings = mapping;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}
API hsa_status_t hsa_amd_vmem_unmap(void *at, size_t size) {
    struct Mapping *found = NULL;
    pthread_mutex_lock(&lock);
    for (struct Mapping **place = &mappings; *place && !found; place = &(*place)->next)
        if ((*place)->at == (uint64_t)at && (*place)->size == size) {
            found = *place, *place = found->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    if (!found) return INVALID_ARGUMENT;
    const bool done = remap(found->at, size, found->at);
    leave(found->handle);
    free(found);
    return done ? SUCCESS : OUT_OF_RESOURCES;
}
API hsa_status_t hsa_amd_vmem_set_access(void *at, size_t size, const void *access, size_t count) { return SUCCESS; }
API hsa_status_t hsa_amd_vmem_get_access(void *at, uint32_t *permissions, hsa_agent_t agent) {
    *permissions = 3;  // read and write
    return SUCCESS;
}
