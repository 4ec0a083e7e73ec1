// Code objects, executables and their symbols. The server reads code objects; addresses of kernels are numbers of it.
#include "hsa.h"

struct Symbol {  // as the server sends it; the name follows
    uint32_t name_bytes, kind;  // kind 0: variable, 1: kernel
    uint64_t object, size, arguments, lds, scratch, calls;
};
struct Loaded {
    struct Loaded *next;
    uint64_t number, agent;
    char *symbols;
    size_t bytes;
};
struct Executable { struct Loaded *loaded; };
struct Reader { const void *data; size_t size; };
struct Found { const struct Symbol *symbol; struct Loaded *loaded; uint64_t address; };

static uint64_t numbers;

API hsa_status_t hsa_code_object_reader_create_from_memory(const void *data, size_t size, hsa_reader_t *out) {
    struct Reader *reader = malloc(sizeof *reader);
    if (!reader) return OUT_OF_RESOURCES;
    *reader = (struct Reader){data, size};
    out->handle = (uint64_t)reader;
    return SUCCESS;
}
API hsa_status_t hsa_code_object_reader_destroy(hsa_reader_t reader) {
    free((void *)reader.handle);
    return SUCCESS;
}

API hsa_status_t hsa_executable_create_alt(int profile, int mode, const char *options, hsa_executable_t *out) {
    struct Executable *executable = calloc(1, sizeof *executable);
    out->handle = (uint64_t)executable;
    return executable ? SUCCESS : OUT_OF_RESOURCES;
}

API hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t handle, hsa_agent_t agent, hsa_reader_t reader,
                                                       const char *options, uint64_t *out) {
    struct Executable *executable = (struct Executable *)handle.handle;
    const struct Reader *source = (struct Reader *)reader.handle;
    struct Loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded) return OUT_OF_RESOURCES;
    loaded->number = atomic_fetch_add((_Atomic uint64_t *)&numbers, 1) + 1, loaded->agent = agent.handle;
    struct Reply reply = {ERROR};
    loaded->symbols = server_ask(LOAD, (uint64_t[]){loaded->number, agent.handle - 2}, 2, source->data, source->size, &reply);
    loaded->bytes = reply.bytes;
    if (reply.status) {
        free(loaded->symbols), free(loaded);
        return INVALID_CODE_OBJECT;
    }
    loaded->next = executable->loaded, executable->loaded = loaded;
    if (out) *out = (uint64_t)loaded;
    return SUCCESS;
}
API hsa_status_t hsa_executable_freeze(hsa_executable_t executable, const char *options) { return SUCCESS; }
API hsa_status_t hsa_executable_destroy(hsa_executable_t handle) {
    struct Executable *executable = (struct Executable *)handle.handle;
    for (struct Loaded *each = executable->loaded, *next; each; each = next) {
        next = each->next;
        server_tell(UNLOAD, &each->number, 1, NULL, 0);  // symbols may be in use, so they are kept
    }
    free(executable);
    return SUCCESS;
}

API hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t handle, const char *name, const hsa_agent_t *agent,
                                                   hsa_symbol_t *out) {
    struct Executable *executable = (struct Executable *)handle.handle;
    for (struct Loaded *loaded = executable->loaded; loaded; loaded = loaded->next)
        for (const char *at = loaded->symbols; at < loaded->symbols + loaded->bytes;) {
            const struct Symbol *symbol = (const struct Symbol *)at;
            const char *own = at + sizeof *symbol;
            if (strlen(name) + 1 == symbol->name_bytes && !memcmp(own, name, symbol->name_bytes) &&
                (!agent || agent->handle == loaded->agent)) {
                struct Found *found = malloc(sizeof *found);
                if (!found) return OUT_OF_RESOURCES;
                *found = (struct Found){symbol, loaded, 0};
                out->handle = (uint64_t)found;
                return SUCCESS;
            }
            at = own + (symbol->name_bytes + 7) / 8 * 8;
        }
    return INVALID_SYMBOL_NAME;
}

API hsa_status_t hsa_executable_symbol_get_info(hsa_symbol_t handle, int attribute, void *out) {
    struct Found *found = (struct Found *)handle.handle;
    const struct Symbol *symbol = found->symbol;
    const char *name = (const char *)(symbol + 1);
    switch (attribute) {
    case 0: VALUE(uint32_t, symbol->kind);
    case 1: VALUE(uint32_t, symbol->name_bytes - 1);
    case 2: return memcpy(out, name, symbol->name_bytes - 1), SUCCESS;
    case 5: VALUE(uint32_t, 1);               // linkage: program
    case 17: VALUE(bool, true);
    case 20: VALUE(uint64_t, found->loaded->agent);
    case 6: VALUE(uint32_t, 0);               // allocation: agent
    case 7: VALUE(uint32_t, 0);               // segment: global
    case 8: VALUE(uint32_t, 16);
    case 9: VALUE(uint32_t, symbol->size);
    case 10: VALUE(bool, false);
    case 11: VALUE(uint32_t, symbol->arguments);
    case 12: VALUE(uint32_t, 64);
    case 13: VALUE(uint32_t, symbol->lds);
    case 14: VALUE(uint32_t, symbol->scratch);
    case 15: VALUE(bool, symbol->calls);
    case 22: VALUE(uint64_t, symbol->object);
    case 21: {
        struct Reply reply = {SUCCESS, found->address};
        if (!found->address)
            free(server_ask(VARIABLE, &found->loaded->number, 1, name, symbol->name_bytes - 1, &reply));
        *(uint64_t *)out = found->address = reply.value;
        return reply.status ? ERROR : SUCCESS;
    }
    }
    return INVALID_ARGUMENT;
}

// AMD's extension for loaders: the host's address of code is the address itself.
static hsa_status_t query_host_address(const void *device, const void **host) {
    *host = device;
    return SUCCESS;
}
static hsa_status_t query_nothing(void) { return NOT_SUPPORTED; }

API hsa_status_t hsa_system_get_major_extension_table(uint16_t extension, uint16_t version, size_t size, void *table) {
    const void *functions[] = {query_host_address, query_nothing, query_nothing};
    if (extension != 0x201) return NOT_SUPPORTED;
    memset(table, 0, size);
    memcpy(table, functions, size < sizeof functions ? size : sizeof functions);
    return SUCCESS;
}
