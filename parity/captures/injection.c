// Records the kernel launches of a CUDA program.
//
// The driver loads this library into the program (CUDA_INJECTION64_PATH) and calls InitializeInjection, or Python loads
// it and calls parity_capture_start. CUPTI then calls `called` before and after each launch. The library needs no header
// of CUDA: it declares the few structures that it reads, and looks up functions of libcupti and libcuda by name.
//
// Each process appends to two files in the folder: PID.jsonl has a line for each launch (parity/captures/file.py
// documents the fields), PID.bin the contents of memory. A line is written after its contents, in one call, so that a
// crash of the program leaves complete lines.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
#define MAX_PARAMETERS 4096
#define MAX_ALLOCATIONS 256
#define MAX_FRAMES 48
#define NAMED_FRAMES 6
#define BLOCK 4096  // changes of large allocations are found in blocks of this size
#define SCANNED 16  // so many times the limit of an allocation is searched for changes

// CUDA and CUPTI (stable ABI)
typedef int (*Function)();
typedef struct {
    void *function;
    unsigned grid[3], block[3], shared;
    void *stream, **parameters, **extra;  // a cooperative launch does not have `extra`
} LaunchParameters;
typedef struct {
    unsigned id, padding;
    union { unsigned words[16]; char bytes[64]; } value;
} Attribute;
typedef struct {
    unsigned grid[3], block[3], shared;
    void *stream;
    Attribute *attributes;
    unsigned count;
} Configuration;
typedef struct {
    const Configuration *configuration;
    void *function, **parameters, **extra;
} ExtendedParameters;
typedef struct {
    int site;  // 0: before the call, 1: after it
    const char *api;
    const void *parameters;
    int *result;
    const char *symbol;
    void *context;
    unsigned context_id;
    uint64_t *correlation;
    unsigned correlation_id;
} ApiData;
typedef struct {
    void *context, *handle;
    struct { unsigned id; size_t size; const char *cubin; } *module;
} ResourceData;
enum { DRIVER = 1, RESOURCE = 3, MODULE_LOADED = 6 };
enum { LAUNCH = 307, LAUNCH_PTSZ = 442, COOPERATIVE = 477, COOPERATIVE_PTSZ = 478, EXTENDED = 652, EXTENDED_PTSZ = 653,
       GRAPH = 514, GRAPH_PTSZ = 515, MULTI_DEVICE = 480, BEGIN = 539, BEGIN_PTSZ = 540, END = 497, END_PTSZ = 498 };
static const int subscribed[] = {LAUNCH, LAUNCH_PTSZ, COOPERATIVE, COOPERATIVE_PTSZ, EXTENDED, EXTENDED_PTSZ,
                                 GRAPH, GRAPH_PTSZ, MULTI_DEVICE, BEGIN, BEGIN_PTSZ, END, END_PTSZ};

static Function f_function_parameter, f_kernel_parameter, f_function_module, f_kernel_library, f_module_global,
    f_library_global, f_kernel_function, f_pointer, f_copy, f_synchronize_context, f_synchronize_stream,
    f_create_stream, f_destroy_stream, f_exchange_mode, f_device, f_device_name, f_device_attribute, f_driver_version;
static const struct { const char *name; Function *function; } driver_functions[] = {
    {"cuFuncGetParamInfo", &f_function_parameter}, {"cuKernelGetParamInfo", &f_kernel_parameter},
    {"cuFuncGetModule", &f_function_module}, {"cuKernelGetLibrary", &f_kernel_library},
    {"cuKernelGetFunction", &f_kernel_function},
    {"cuModuleGetGlobal_v2", &f_module_global}, {"cuLibraryGetGlobal", &f_library_global},
    {"cuPointerGetAttribute", &f_pointer}, {"cuMemcpyAsync", &f_copy},
    {"cuCtxSynchronize", &f_synchronize_context}, {"cuStreamSynchronize", &f_synchronize_stream},
    {"cuStreamCreate", &f_create_stream}, {"cuStreamDestroy_v2", &f_destroy_stream},
    {"cuThreadExchangeStreamCaptureMode", &f_exchange_mode}, {"cuCtxGetDevice", &f_device},
    {"cuDeviceGetName", &f_device_name}, {"cuDeviceGetAttribute", &f_device_attribute},
    {"cuDriverGetVersion", &f_driver_version},
};

// State of the process

typedef struct Signature {
    struct Signature *next;
    uint64_t shape;
    unsigned long captured, skipped;
    const char *reason;
    char kernel[];
} Signature;

typedef struct Variable {
    struct Variable *next;
    char name[];
} Variable;

typedef struct {
    uint64_t address, size, begin, end;  // the bytes from begin to end are copied
    uint64_t first;                      // the lowest offset of a pointer
    unsigned char *before, *after;
} Allocation;

typedef struct {
    char *text;
    size_t used, room;
} Text;

typedef struct {
    int active;
    void *copies;
    int mode;
    Text line;
    Allocation allocations[MAX_ALLOCATIONS];
    int count, lost;
} Pending;

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;  // a launch may load its module
static struct { uint64_t launches, signatures, bytes, allocation; } limits = {3, 256, 1ull << 30, 16ull << 20};
static const char *pattern;
static int lines = -1, contents = -1;
static uint64_t written, launch_number, signature_count, graph_captures;
static int has_head;
static pid_t owner;
static void *cupti, *subscriber;
static Signature *signatures;
static Variable *variables;
static _Thread_local Pending pending;

static void add(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(Text *text, const char *format, ...) {
    for (;;) {
        va_list list;
        va_start(list, format);
        size_t left = text->room - text->used;
        int size = vsnprintf(text->text ? text->text + text->used : NULL, left, format, list);
        va_end(list);
        if (size < 0) return;
        if ((size_t)size < left) {
            text->used += size;
            return;
        }
        size_t room = (text->used + size + 1) * 2;
        char *larger = realloc(text->text, room);
        if (!larger) return;
        text->text = larger, text->room = room;
    }
}

static void add_string(Text *text, const char *string) {
    add(text, "\"");
    for (; *string; string++) {
        unsigned char c = *string;
        if (c == '"' || c == '\\') add(text, "\\%c", c);
        else if (c < 32 || c > 126) add(text, "\\u%04x", c);
        else add(text, "%c", c);
    }
    add(text, "\"");
}

static void add_hex(Text *text, const unsigned char *data, size_t size) {
    add(text, "\"");
    for (size_t i = 0; i < size; i++) add(text, "%02x", data[i]);
    add(text, "\"");
}

static int write_all(int file, const void *data, size_t size) {
    for (const char *at = data; size;) {
        ssize_t done = write(file, at, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return 0;
        at += done, size -= done;
    }
    return 1;
}

static void say(const char *message) { fprintf(stderr, "parity capture: %s\n", message); }

// Append bytes to the contents. Returns their position, or -1 if the file cannot be written.
static int64_t store(const void *data, size_t size) {
    if (!write_all(contents, data, size)) {
        say("cannot write the capture; nothing more is recorded");
        limits.bytes = 0;
        return -1;
    }
    written += size;
    return (int64_t)(written - size);
}

static void write_head(void) {
    Text text = {0};
    char name[256] = "", command[4096] = "";
    int device = 0, major = 0, minor = 0, driver = 0;
    if (!f_device(&device)) {
        f_device_name(name, (int)sizeof name, device);
        f_device_attribute(&major, 75, device);
        f_device_attribute(&minor, 76, device);
    }
    f_driver_version(&driver);
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, command, sizeof command - 1);
    if (file >= 0) close(file);
    for (ssize_t i = 0; i + 1 < size; i++)
        if (!command[i]) command[i] = ' ';
    add(&text, "{\"format\":\"parity capture\",\"version\":1,\"device\":");
    add_string(&text, name);
    add(&text, ",\"compute\":[%d,%d],\"driver\":%d,\"program\":", major, minor, driver);
    add_string(&text, command);
    add(&text, "}\n");
    write_all(lines, text.text, text.used);
    free(text.text);
}

// Variables of modules

// Remember the names of the variables in a cubin. The driver offers no list of them.
static void remember_variables(const char *cubin, size_t size) {
    const Elf64_Ehdr *head = (const void *)cubin;
    if (size < sizeof *head || memcmp(cubin, ELFMAG, SELFMAG)) return;
    if (head->e_shoff > size || head->e_shnum > (size - head->e_shoff) / sizeof(Elf64_Shdr)) return;
    const Elf64_Shdr *sections = (const void *)(cubin + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr *table = &sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= head->e_shnum) continue;
        const Elf64_Shdr *strings = &sections[table->sh_link];
        if (table->sh_offset > size || table->sh_size > size - table->sh_offset) continue;
        if (strings->sh_offset > size || strings->sh_size > size - strings->sh_offset) continue;
        const Elf64_Sym *symbols = (const void *)(cubin + table->sh_offset);
        for (size_t k = 0; k < table->sh_size / sizeof *symbols; k++) {
            if (ELF64_ST_TYPE(symbols[k].st_info) != STT_OBJECT || symbols[k].st_name >= strings->sh_size) continue;
            const char *name = cubin + strings->sh_offset + symbols[k].st_name;
            size_t length = strnlen(name, strings->sh_size - symbols[k].st_name);
            if (!length || *name == '.' || *name == '$' || strstr(name, "__nv_static") == name) continue;
            Variable *each = variables;
            while (each && (strncmp(each->name, name, length) || each->name[length])) each = each->next;
            if (each || !(each = calloc(1, sizeof *each + length + 1))) continue;
            memcpy(each->name, name, length);
            each->next = variables, variables = each;
        }
    }
}

static int copy(void *to, uint64_t from, size_t size) {
    return f_copy((uint64_t)(uintptr_t)to, from, size, pending.copies) || f_synchronize_stream(pending.copies);
}

static void add_variables(void *function) {
    void *module = NULL, *library = NULL;
    void *loaded;
    int is_kernel = f_function_module(&module, function) != 0;
    // Load the module of the kernel, so that the names of its variables are known.
    if (is_kernel && (f_kernel_library(&library, function) || f_kernel_function(&loaded, function))) return;
    int count = 0;
    for (Variable *each = variables; each; each = each->next) {
        uint64_t address = 0;
        size_t size = 0;
        if (is_kernel ? f_library_global(&address, &size, library, each->name)
                      : f_module_global(&address, &size, module, each->name))
            continue;
        void *data = size && size <= limits.allocation ? malloc(size) : NULL;
        int64_t at = data && !copy(data, address, size) ? store(data, size) : -1;
        free(data);
        if (at < 0) continue;
        add(&pending.line, count++ ? ",[" : ",\"variables\":[[");
        add_string(&pending.line, each->name);
        add(&pending.line, ",%lld,%zu]", (long long)at, size);
    }
    if (count) add(&pending.line, "]");
}

// Arguments and memory

// Add the allocation that an address points into, if there is one.
static void add_allocation(uint64_t address) {
    uint64_t start = 0;
    size_t size = 0;
    if (address < 4096 || f_pointer(&start, 11, address) || f_pointer(&size, 12, address) || !size) return;
    if (address < start || address - start >= size) return;
    for (int i = 0; i < pending.count; i++)
        if (pending.allocations[i].address == start) {
            if (address - start < pending.allocations[i].first) pending.allocations[i].first = address - start;
            return;
        }
    if (pending.count == MAX_ALLOCATIONS) {
        pending.lost = 1;
        return;
    }
    pending.allocations[pending.count++] = (Allocation){.address = start, .size = size, .first = address - start};
}

static void add_parameters(void *function, void **parameters, void **extra) {
    const unsigned char *packed = NULL;
    for (void **each = extra; !parameters && each && *each; each += 2)
        if (*each == (void *)1) packed = each[1];
    void *module;
    Function information = f_function_module(&module, function) ? f_kernel_parameter : f_function_parameter;
    add(&pending.line, ",\"parameters\":[");
    for (size_t i = 0, offset, size; i < MAX_PARAMETERS && !information(function, i, &offset, &size); i++) {
        const unsigned char *data = parameters ? parameters[i] : packed ? packed + offset : NULL;
        if (!data) break;
        add(&pending.line, "%s[%zu,", i ? "," : "", offset);
        add_hex(&pending.line, data, size);
        add(&pending.line, "]");
        for (size_t k = -offset & 7; k + 8 <= size; k += 8) {
            uint64_t word;
            memcpy(&word, data + k, 8);
            add_allocation(word);
        }
    }
    add(&pending.line, "]");
}

static void copy_before(void) {
    int kept = 0;
    for (int i = 0; i < pending.count; i++) {
        Allocation *each = &pending.allocations[i];
        each->begin = 0, each->end = each->size;
        if (each->size > limits.allocation) {
            each->begin = each->first / 256 * 256;
            uint64_t most = each->begin + SCANNED * limits.allocation;
            if (each->end > most) each->end = most;
        }
        size_t size = each->end - each->begin;
        each->before = malloc(size), each->after = malloc(size);
        if (!each->before || !each->after || copy(each->before, each->address + each->begin, size)) {
            free(each->before), free(each->after);
            pending.lost = 1;
            continue;
        }
        pending.allocations[kept++] = *each;
    }
    pending.count = kept;
}

// Store the bytes from `begin` to `end` of an allocation before the launch, and after it if they differ.
static int add_range(Allocation *each, uint64_t begin, uint64_t end, int first) {
    size_t size = end - begin;
    unsigned char *before = each->before + (begin - each->begin), *after = each->after + (begin - each->begin);
    int64_t at = store(before, size), then = at < 0 || !memcmp(before, after, size) ? -1 : store(after, size);
    if (at < 0) return 0;
    add(&pending.line, "%s[%llu,%zu,%lld,%lld]", first ? "" : ",", (unsigned long long)begin, size, (long long)at,
        (long long)then);
    return 1;
}

static void add_contents(Allocation *each) {
    if (each->size <= limits.allocation) {
        add_range(each, 0, each->size, 1);
        return;
    }
    // The bytes at the first pointer, and changed blocks behind them.
    uint64_t most = 4 * limits.allocation, kept = 0, at = each->begin, end = at + limits.allocation;
    for (int first = 1; at < each->end && kept < most; first = 0) {
        if (end > each->end) end = each->end;
        if (!add_range(each, at, end, first)) return;
        kept += end - at;
        for (at = end; at < each->end; at += BLOCK) {
            size_t size = each->end - at < BLOCK ? each->end - at : BLOCK;
            if (memcmp(each->before + (at - each->begin), each->after + (at - each->begin), size)) break;
        }
        for (end = at; end < each->end && kept + (end - at) < most; end += BLOCK) {
            size_t size = each->end - end < BLOCK ? each->end - end : BLOCK;
            if (!memcmp(each->before + (end - each->begin), each->after + (end - each->begin), size)) break;
        }
    }
}

static void add_frames(void) {
    void *frames[MAX_FRAMES], *own = NULL;
    int count = backtrace(frames, MAX_FRAMES), named = 0;
    Dl_info info;
    if (dladdr((void *)add_frames, &info)) own = info.dli_fbase;
    add(&pending.line, ",\"frames\":[");
    for (int i = 0; i < count && named < NAMED_FRAMES; i++) {
        if (!dladdr(frames[i], &info) || !info.dli_fname || info.dli_fbase == own) continue;
        const char *name = strrchr(info.dli_fname, '/');
        name = name ? name + 1 : info.dli_fname;
        if (!strncmp(name, "libcu", 5) && (strstr(name, "libcuda") || strstr(name, "libcupti"))) continue;
        Text frame = {0};
        uint64_t offset = (uint64_t)frames[i] - (uint64_t)(info.dli_sname ? info.dli_saddr : info.dli_fbase);
        add(&frame, "%s %s+0x%llx", name, info.dli_sname ? info.dli_sname : "", (unsigned long long)offset);
        add(&pending.line, "%s", named++ ? "," : "");
        if (frame.text) add_string(&pending.line, frame.text);
        free(frame.text);
    }
    add(&pending.line, "]");
}

// Calls

static uint64_t shape_of(const unsigned *grid, const unsigned *block, unsigned shared) {
    uint64_t hash = 14695981039346656037ull;
    const unsigned words[] = {grid[0], grid[1], grid[2], block[0], block[1], block[2], shared};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) hash = (hash ^ words[i]) * 1099511628211ull;
    return hash;
}

static Signature *signature_of(const char *kernel, uint64_t shape) {
    Signature **at = &signatures;
    for (; *at; at = &(*at)->next)
        if ((*at)->shape == shape && !strcmp((*at)->kernel, kernel)) return *at;
    Signature *made = calloc(1, sizeof *made + strlen(kernel) + 1);
    if (!made) return NULL;
    made->shape = shape;
    strcpy(made->kernel, kernel);
    if (shape) signature_count++;
    return *at = made;
}

static void skip(const char *kernel, uint64_t shape, const char *reason) {
    Signature *each = signature_of(kernel, shape);
    if (!each) return;
    each->skipped++;
    if (!each->reason) each->reason = reason;
}

static void before_launch(const ApiData *data, void *function, const unsigned *grid, const unsigned *block,
                          unsigned shared, void **parameters, void **extra) {
    const char *kernel = data->symbol ? data->symbol : "?";
    uint64_t number = launch_number++;
    if (pattern && *pattern && fnmatch(pattern, kernel, 0)) return;
    if (graph_captures) {
        skip(kernel, 0, "launched while a CUDA graph was recorded");
        return;
    }
    uint64_t shape = shape_of(grid, block, shared);
    Signature *signature = signature_of(kernel, shape);
    if (!signature) return;
    const char *reason = signature->captured >= limits.launches ? "limit of launches of one shape"
                         : signature_count > limits.signatures && !signature->captured ? "limit of shapes"
                         : written >= limits.bytes ? "limit of bytes" : NULL;
    if (reason) {
        signature->skipped++, signature->reason = reason;
        return;
    }
    if (!has_head++) write_head();
    pending.mode = 2;  // relaxed: work of other threads may be recorded into a graph
    f_exchange_mode(&pending.mode);
    pending.count = pending.lost = 0, pending.line.used = 0;
    if (f_synchronize_context() || f_create_stream(&pending.copies, 1)) {
        f_exchange_mode(&pending.mode);
        signature->skipped++, signature->reason = "memory could not be read";
        return;
    }
    pending.active = 1;
    signature->captured++;
    add(&pending.line, "{\"launch\":%llu,\"kernel\":", (unsigned long long)number);
    add_string(&pending.line, kernel);
    add(&pending.line, ",\"api\":\"%s\",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"shared\":%u", data->api, grid[0],
        grid[1], grid[2], block[0], block[1], block[2], shared);
    add_parameters(function, parameters, extra);
    add_variables(function);
    copy_before();
    add_frames();
}

static void after_launch(const ApiData *data) {
    int error = data->result ? *data->result : 0;
    if (!error) error = f_synchronize_context();
    add(&pending.line, ",\"allocations\":[");
    for (int i = 0; i < pending.count; i++) {
        Allocation *each = &pending.allocations[i];
        if (!error) error = copy(each->after, each->address + each->begin, each->end - each->begin);
        if (error) memcpy(each->after, each->before, each->end - each->begin);
        add(&pending.line, "%s{\"address\":%llu,\"size\":%llu,\"ranges\":[", i ? "," : "",
            (unsigned long long)each->address, (unsigned long long)each->size);
        add_contents(each);
        add(&pending.line, "]}");
        free(each->before), free(each->after);
    }
    add(&pending.line, "],\"error\":%d,\"incomplete\":%s}\n", error, pending.lost ? "true" : "false");
    if (limits.bytes) write_all(lines, pending.line.text, pending.line.used);
    f_destroy_stream(pending.copies);
    f_exchange_mode(&pending.mode);
    pending.active = 0;
}

static void launched(const ApiData *data, unsigned id) {
    if (data->site) {
        if (!pending.active) return;
        after_launch(data);
        pthread_mutex_unlock(&mutex);
        return;
    }
    pthread_mutex_lock(&mutex);  // until the launch has finished, if it is recorded
    if (lines >= 0 && owner == getpid()) {
        if (id == EXTENDED || id == EXTENDED_PTSZ) {
            const ExtendedParameters *each = data->parameters;
            const Configuration *how = each->configuration;
            before_launch(data, each->function, how->grid, how->block, how->shared, each->parameters, each->extra);
            for (unsigned i = 0; pending.active && i < how->count; i++) {
                const unsigned *words = how->attributes[i].value.words;
                if (how->attributes[i].id == 2 && *words) add(&pending.line, ",\"cooperative\":true");
                if (how->attributes[i].id == 4 && (words[0] > 1 || words[1] > 1 || words[2] > 1))
                    add(&pending.line, ",\"cluster\":[%u,%u,%u]", words[0], words[1], words[2]);
            }
        } else {
            const LaunchParameters *each = data->parameters;
            int cooperative = id == COOPERATIVE || id == COOPERATIVE_PTSZ;
            before_launch(data, each->function, each->grid, each->block, each->shared, each->parameters,
                          cooperative ? NULL : each->extra);
            if (pending.active && cooperative) add(&pending.line, ",\"cooperative\":true");
        }
    }
    if (!pending.active) pthread_mutex_unlock(&mutex);
}

static void called(void *unused, int domain, unsigned id, const void *data) {
    if (domain == RESOURCE) {
        const ResourceData *resource = data;
        pthread_mutex_lock(&mutex);
        if (resource->module && resource->module->cubin)
            remember_variables(resource->module->cubin, resource->module->size);
        pthread_mutex_unlock(&mutex);
        return;
    }
    const ApiData *api = data;
    switch (id) {
        case BEGIN: case BEGIN_PTSZ: case END: case END_PTSZ:
            if (!api->site || !api->result || *api->result) return;
            __atomic_add_fetch(&graph_captures, id == BEGIN || id == BEGIN_PTSZ ? 1 : -1, __ATOMIC_SEQ_CST);
            return;
        case GRAPH: case GRAPH_PTSZ: case MULTI_DEVICE:
            if (api->site) return;
            pthread_mutex_lock(&mutex);
            skip(api->api, 0, id == MULTI_DEVICE ? "cooperative launch on several devices" : "CUDA graph");
            pthread_mutex_unlock(&mutex);
            return;
        default:
            launched(api, id);
    }
}

static int failed(const char *what) {
    fprintf(stderr, "parity capture: nothing is recorded: %s\n", what);
    return 0;
}

static int start(void) {
    const char *folder = getenv("PARITY_CAPTURE_FOLDER"), *library = getenv("PARITY_CAPTURE_CUPTI");
    const char *numbers = getenv("PARITY_CAPTURE_LIMITS");
    if (!folder || lines >= 0) return 0;
    if (numbers && sscanf(numbers, "%lu,%lu,%lu,%lu", &limits.launches, &limits.signatures, &limits.bytes,
                          &limits.allocation) != 4)
        return failed("PARITY_CAPTURE_LIMITS is not four numbers");
    pattern = getenv("PARITY_CAPTURE_KERNEL");
    if (pattern) pattern = strdup(pattern);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!driver) return failed(dlerror());
    for (size_t i = 0; i < sizeof driver_functions / sizeof *driver_functions; i++)
        if (!(*driver_functions[i].function = (Function)dlsym(driver, driver_functions[i].name)))
            return failed("the driver is too old; CUDA 12.4 or newer is required");
    if (!(cupti = dlopen(library ? library : "libcupti.so", RTLD_NOW))) return failed(dlerror());
    Function subscribe = (Function)dlsym(cupti, "cuptiSubscribe"), enable = (Function)dlsym(cupti, "cuptiEnableCallback");
    if (!subscribe || !enable) return failed("libcupti lacks cuptiSubscribe");
    int error = subscribe(&subscriber, called, NULL);
    if (error) {
        fprintf(stderr, "parity capture: nothing is recorded: cuptiSubscribe returns error %d; a profiler or debugger "
                "may be attached, or CUPTI does not fit the driver\n", error);
        return 0;
    }
    for (size_t i = 0; i < sizeof subscribed / sizeof *subscribed; i++) enable(1, subscriber, DRIVER, subscribed[i]);
    enable(1, subscriber, RESOURCE, MODULE_LOADED);
    char path[4096];
    written = launch_number = signature_count = has_head = 0, owner = getpid();
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%d.%s", folder, (int)owner, i ? "bin" : "jsonl");
        int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (file < 0) return failed(strerror(errno));
        *(i ? &contents : &lines) = file;
    }
    return 1;
}

// Write what was not recorded, and close the files.
API void parity_capture_stop(void) {
    if (lines < 0 || owner != getpid()) return;
    Function unsubscribe = (Function)dlsym(cupti, "cuptiUnsubscribe");
    if (unsubscribe) unsubscribe(subscriber);
    pthread_mutex_lock(&mutex);
    while (signatures) {
        Signature *each = signatures;
        if (each->skipped) {
            Text text = {0};
            add(&text, "{\"skipped\":");
            add_string(&text, each->kernel);
            add(&text, ",\"count\":%lu,\"reason\":\"%s\"}\n", each->skipped, each->reason);
            write_all(lines, text.text, text.used);
            free(text.text);
        }
        signatures = each->next;
        free(each);
    }
    close(lines), close(contents);
    lines = contents = -1;
    pthread_mutex_unlock(&mutex);
}

__attribute__((destructor)) static void end(void) { parity_capture_stop(); }

API int parity_capture_start(void) { return start(); }

API int InitializeInjection(void) {
    start();
    return 1;
}
