// The system, its agents (one CPU and the emulated GPUs), and their memory pools.
// library.py defines HSA_TARGETS, the properties of each target that parity emulates, and HSA_NAME, the GPUs' name.
#include "hsa.h"

struct Agent agents[17] = {{"CPU", ""}};
int agent_count;
static const struct Agent targets[] = {HSA_TARGETS};
static int users;

static bool add_agents(void) {
    char *names = strdup(getenv("PARITY_HSA_TARGETS") ?: "gfx90a"), *rest = names;
    const char *memory = getenv("PARITY_HSA_MEMORY");
    for (char *name; (name = strsep(&rest, ",")) && agent_count < 16;)
        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
            if (!strcmp(name, targets[i].name)) {
                agents[++agent_count] = targets[i];
                agents[agent_count].limit = memory ? strtoull(memory, NULL, 10) : 4ull << 30;
            }
    free(names);
    return agent_count > 0;
}

API hsa_status_t hsa_init(void) {
    if (users++) return SUCCESS;
    if (agent_count) return SUCCESS;  // again after hsa_shut_down
    return add_agents() ? server_start() : ERROR;
}
API hsa_status_t hsa_shut_down(void) { return users ? (users--, SUCCESS) : NOT_INITIALIZED; }

hsa_status_t refused(const char *function, const char *reason) {
    fprintf(stderr, "parity: %s is not supported on emulated GPUs: %s\n", function, reason);
    return NOT_SUPPORTED;
}

API hsa_status_t hsa_status_string(hsa_status_t status, const char **out) {
    *out = status == SUCCESS             ? "HSA_STATUS_SUCCESS"
           : status == NOT_SUPPORTED     ? "HSA_STATUS_ERROR_NOT_SUPPORTED: not supported on emulated GPUs"
           : status == OUT_OF_RESOURCES  ? "HSA_STATUS_ERROR_OUT_OF_RESOURCES: out of memory"
           : status == INVALID_ARGUMENT  ? "HSA_STATUS_ERROR_INVALID_ARGUMENT"
           : status == EXCEPTION         ? "HSA_STATUS_ERROR_EXCEPTION: a kernel failed; parity's message has the details"
           : status == ILLEGAL_INSTRUCTION ? "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION"
           : status == MEMORY_APERTURE_VIOLATION ? "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION"
                                         : "HSA_STATUS_ERROR";
    return SUCCESS;
}

#define TEXT(size, text) return memset(out, 0, size), strncpy(out, text, (size) - 1), SUCCESS

API hsa_status_t hsa_system_get_info(int attribute, void *out) {
    switch (attribute) {
    case 0: VALUE(uint16_t, 1);               // version
    case 1: VALUE(uint16_t, 1);
    case 2: VALUE(uint64_t, now());           // timestamp
    case 3: VALUE(uint64_t, 1000000000);      // its frequency
    case 4: VALUE(uint64_t, UINT64_MAX);      // longest wait
    case 5: VALUE(uint32_t, 0);               // little-endian
    case 6: VALUE(uint32_t, 1);               // 64-bit
    case 7: return memset(out, 0, 128), SUCCESS;
    case 0x201: VALUE(bool, false);           // shared virtual memory: kernels cannot access all memory of the host
    case 0x202: VALUE(bool, false);
    case 0x203: VALUE(bool, false);
    case 0x204: VALUE(bool, false);           // DMA buffers
    case 0x205: VALUE(bool, true);            // hsa_amd_vmem_*
    case 0x206: VALUE(bool, false);           // XNACK
    case 0x207: VALUE(uint16_t, 1);           // version of AMD's extensions
    case 0x208: VALUE(uint16_t, 14);
    }
    return INVALID_ARGUMENT;
}

API hsa_status_t hsa_iterate_agents(hsa_status_t (*call)(hsa_agent_t, void *), void *data) {
    for (int i = 0; i <= agent_count; i++) {
        hsa_status_t status = call((hsa_agent_t){(uint64_t)i + 1}, data);
        if (status) return status;
    }
    return SUCCESS;
}

// MI300 and MI350 have no instructions for images.
static bool has_images(const struct Agent *agent) {
    return agent != agents && strcmp(agent->name, "gfx942") && strcmp(agent->name, "gfx950");
}

API hsa_status_t hsa_agent_get_info(hsa_agent_t handle, int attribute, void *out) {
    if (!handle.handle || handle.handle > (uint64_t)agent_count + 1) return INVALID_AGENT;
    const int number = (int)handle.handle - 1;
    const struct Agent *agent = &agents[number];
    char text[96];
    switch (attribute) {
    case 0: TEXT(64, agent->name);
    case 1: TEXT(64, number ? "AMD" : "CPU");
    case 2: VALUE(uint32_t, number ? 1 : 0);  // features: dispatches of kernels
    case 3: VALUE(uint32_t, 1);
    case 4: VALUE(uint32_t, 0);               // base profile
    case 5: VALUE(uint32_t, 2);               // round to nearest
    case 6: VALUE(uint32_t, number ? agent->wavefront : 0);
    case 7: return memcpy(out, (uint16_t[]){1024, 1024, 1024}, 6), SUCCESS;
    case 8: VALUE(uint32_t, 1024);
    case 9: return memcpy(out, (uint32_t[]){INT32_MAX, INT32_MAX, INT32_MAX}, 12), SUCCESS;
    case 10: VALUE(uint32_t, UINT32_MAX);
    case 11: VALUE(uint32_t, 32);
    case 12: VALUE(uint32_t, number ? 128 : 0);
    case 13: VALUE(uint32_t, number ? 64 : 0);
    case 14: VALUE(uint32_t, number ? 1 << 17 : 0);
    case 15: VALUE(uint32_t, 0);
    case 16: VALUE(uint32_t, number);
    case 17: VALUE(uint32_t, number ? 1 : 0); // CPU or GPU
    case 18: return memcpy(out, (uint32_t[]){16384, 1 << 20, 0, 0}, 16), SUCCESS;
    case 19: VALUE(uint64_t, handle.handle);
    case 20: return memset(out, 0, 128), *(char *)out = has_images(agent) ? 2 : 0, SUCCESS; // HSA_EXTENSION_IMAGES
    case 21: VALUE(uint16_t, 1);
    case 22: VALUE(uint16_t, 1);
    case 24: VALUE(bool, true);
    case 0x3000:                              // elements of images: 1D, 1DA, 1DB, 2D, 2DA, 2DDEPTH, 2DADEPTH, 3D
    case 0x3001: VALUE(uint32_t, 16384);
    case 0x3002: VALUE(uint32_t, UINT32_MAX);
    case 0x3003:
    case 0x3004:
    case 0x3005:
    case 0x3006: return memcpy(out, (uint32_t[]){16384, 16384}, 8), SUCCESS;
    case 0x3007: return memcpy(out, (uint32_t[]){16384, 16384, 8192}, 12), SUCCESS;
    case 0x3008: VALUE(uint32_t, 8192);       // layers
    case 0x3009: VALUE(uint32_t, 128);        // images and samplers of a kernel
    case 0x300A: VALUE(uint32_t, 64);
    case 0x300B: VALUE(uint32_t, 16);
    case 0x300C: VALUE(uint32_t, 256);        // alignment of rows
    case 0xA000: VALUE(uint32_t, agent->chip);
    case 0xA001: VALUE(uint32_t, 64);
    case 0xA002: VALUE(uint32_t, number ? PROCESSORS : 1);
    case 0xA003: VALUE(uint32_t, 1000);       // MHz
    case 0xA004: VALUE(uint32_t, number);
    case 0xA005: VALUE(uint32_t, 4);
    case 0xA006: VALUE(uint32_t, number << 8); // bus, device and function
    case 0xA007: VALUE(uint32_t, 1024);
    case 0xA008: VALUE(uint32_t, 1000);
    case 0xA009: snprintf(text, sizeof text, "%s (%s)", HSA_NAME, agent->name); TEXT(64, text);
    case 0xA00A: VALUE(uint32_t, agent->simds * agent->waves);
    case 0xA00B: VALUE(uint32_t, agent->simds);
    case 0xA00C: VALUE(uint32_t, 1);
    case 0xA00D: VALUE(uint32_t, 1);
    case 0xA00E: return memset(out, 0, 16), SUCCESS; // registers to flush the host's writes: none
    case 0xA00F: VALUE(uint32_t, 0);
    case 0xA010: VALUE(bool, number);         // cooperative queues
    case 0xA011: snprintf(text, sizeof text, number ? "GPU-%016x" : "CPU-XX", number); TEXT(21, text);
    case 0xA012: VALUE(uint32_t, 0);
    case 0xA013: VALUE(bool, false);
    case 0xA014: VALUE(uint32_t, PROCESSORS);
    case 0xA015: VALUE(uint64_t, agent->limit - agent->used);
    case 0xA016: VALUE(uint64_t, 1000000000);
    case 0xA107: VALUE(uint32_t, 0);
    case 0xA108: VALUE(uint32_t, 0);
    case 0xA109: VALUE(uint32_t, 0);
    case 0xA10A: VALUE(uint32_t, 1);
    case 0xA10B: VALUE(uint32_t, 0);
    case 0xA110: VALUE(uint32_t, 0);
    case 0xA111: VALUE(uint32_t, 1);
    case 0xA112: VALUE(uint32_t, number);
    case 0xA113: VALUE(uint64_t, 1);
    case 0xA114: return memset(out, 0, 8), SUCCESS; // not an APU
    case 0xA115: return memset(out, 0, 8), SUCCESS;
    case 0xA116: VALUE(uint64_t, 1 << 30);
    case 0xA117: VALUE(uint64_t, 1 << 30);
    case 0xA118: return memcpy(out, (uint64_t[]){now(), now(), now(), 1000000000}, 32), SUCCESS;
    }
    return INVALID_ARGUMENT;
}
API hsa_status_t hsa_amd_agent_set_async_scratch_limit(hsa_agent_t agent, size_t limit) { return SUCCESS; }

API hsa_status_t hsa_agent_iterate_isas(hsa_agent_t agent, hsa_status_t (*call)(hsa_isa_t, void *), void *data) {
    return agent.handle > 1 ? call((hsa_isa_t){agent.handle}, data) : SUCCESS;
}
API hsa_status_t hsa_isa_get_info_alt(hsa_isa_t isa, int attribute, void *out) {
    const char *name = agents[isa.handle - 1].isa;
    switch (attribute) {
    case 0: VALUE(uint32_t, strlen(name) + 1);
    case 1: return strcpy(out, name), SUCCESS;
    case 12: return memcpy(out, (uint16_t[]){1024, 1024, 1024}, 6), SUCCESS;
    case 13: VALUE(uint32_t, 1024);
    }
    return INVALID_ARGUMENT;
}

// --- memory pools: see hsa_amd_memory_pool_allocate for their handles ---

API hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t agent, hsa_status_t (*call)(hsa_pool_t, void *), void *data) {
    for (uint64_t kind = 0; kind < (agent.handle == 1 ? 3u : 2u); kind++) {
        hsa_status_t status = call((hsa_pool_t){agent.handle * 8 + kind}, data);
        if (status) return status;
    }
    return SUCCESS;
}

// Kinds of the CPU's pools: fine-grained, coarse-grained, for arguments. Kinds of a GPU's: coarse-grained, LDS.
API hsa_status_t hsa_amd_memory_pool_get_info(hsa_pool_t pool, int attribute, void *out) {
    const int agent = (int)(pool.handle / 8) - 1, kind = (int)(pool.handle % 8);
    static const uint32_t host_flags[] = {2, 4, 2 | 1};
    const bool lds = agent && kind == 1;
    switch (attribute) {
    case 0: VALUE(uint32_t, lds ? 3 : 0);     // segment
    case 1: VALUE(uint32_t, lds ? 0 : agent ? 4 : host_flags[kind]);
    case 2:
    case 16: VALUE(uint64_t, lds ? agents[agent].lds_bytes : agent ? agents[agent].limit : 16ull << 30);
    case 5: VALUE(bool, !lds);
    case 6:
    case 7:
    case 18: VALUE(uint64_t, 4096);           // granularity, alignment
    case 15: VALUE(bool, !agent);
    case 17: VALUE(uint32_t, agent ? 1 : 0);
    }
    return INVALID_ARGUMENT;
}

struct Link { uint32_t latency[2], bandwidth[2]; bool atomics[2], coherent; uint32_t type, distance; };

API hsa_status_t hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_pool_t pool, int attribute, void *out) {
    const uint64_t owner = pool.handle / 8;
    const bool own = owner == agent.handle;
    switch (attribute) {
    // 0: never, 1: by default, 2: on request. The host copies instead of accessing the memory of GPUs.
    case 0: VALUE(uint32_t, own || owner == 1 ? 1 : agent.handle == 1 ? 0 : 2);
    case 1: VALUE(uint32_t, own ? 0 : 1);     // hops
    case 2: {
        if (!own) *(struct Link *)out = (struct Link){{1, 1}, {1, 1}, {true, true}, true, 2, 20};
        return SUCCESS;
    }
    }
    return INVALID_ARGUMENT;
}

API hsa_status_t hsa_amd_register_system_event_handler(void *call, void *data) { return SUCCESS; }
API hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t agent, int type) { return SUCCESS; }
API hsa_status_t hsa_amd_enable_logging(uint8_t *flags, void *file) { return SUCCESS; }
