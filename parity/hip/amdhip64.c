// A libamdhip64 without a GPU. It forwards HIP's module API to a process that executes kernels in parity's emulator.
//
// Every function sends a request to that process and waits for the answer. This file only holds state that must be in
// the caller's process: host memory, the current device and the last error of each thread, and the layout of each
// kernel's arguments. runtime.py implements the requests.
//
// HIP_PYTHON, HIP_ROOT (the folder that holds the package) and HIP_ERRORS (value, name and text of every error) are
// defined by library.py.

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
#define ARGUMENTS 12
#define PROPERTIES_BYTES 1472
#define OLD_PROPERTIES_BYTES 792

typedef int hipError_t;
enum {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorNotInitialized = 3,
    hipErrorInvalidMemcpyDirection = 21,
    hipErrorInvalidDevice = 101,
    hipErrorInvalidImage = 200,
    hipErrorFileNotFound = 301,
    hipErrorNotReady = 600,
    hipErrorUnknown = 999,
};
enum { HostToHost, HostToDevice, DeviceToHost, DeviceToDevice, Default };

struct Request {
    char api[48];    // the function that was called, for messages and planted faults
    char action[24];  // the method of runtime.py
    int64_t device;
    uint64_t arguments[ARGUMENTS];
    uint64_t bytes;  // number of bytes that follow
};

struct Reply {
    int64_t error;
    uint64_t value;
    uint64_t bytes;  // number of bytes that follow
};

struct Argument {
    uint32_t offset, size;
};

struct Function {
    uint64_t handle;
    uint32_t bytes, count;
    struct Argument arguments[];
};

extern char **environ;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int connection = -1;
static pid_t owner;
static int64_t devices;
static uint64_t memory_begin, memory_end;
static _Thread_local int current_device;
static _Thread_local hipError_t last_error;

static int transfer(int sending, void *data, size_t bytes) {
    while (bytes) {
        ssize_t done = sending ? send(connection, data, bytes, MSG_NOSIGNAL) : recv(connection, data, bytes, 0);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return 0;
        data = (char *)data + done;
        bytes -= (size_t)done;
    }
    return 1;
}

static hipError_t lost(void) {
    static int told;
    if (!told++) fprintf(stderr, "parity: the device is lost: the process that emulates it has ended\n");
    return hipErrorUnknown;
}

// One request and its answer, with the mutex held. At most `size` bytes of the answer are kept in `out`.
static hipError_t exchange(struct Request *request, const void *in, uint64_t *value, void *out, size_t size) {
    struct Reply reply;
    char rest[4096];
    if (!transfer(1, request, sizeof *request) || !transfer(1, (void *)in, request->bytes) ||
        !transfer(0, &reply, sizeof reply))
        return lost();
    size_t kept = reply.bytes < size ? reply.bytes : size;
    if (!transfer(0, out, kept)) return lost();
    for (uint64_t left = reply.bytes - kept; left;) {
        size_t part = left < sizeof rest ? left : sizeof rest;
        if (!transfer(0, rest, part)) return lost();
        left -= part;
    }
    if (value) *value = reply.value;
    return (hipError_t)reply.error;
}

static hipError_t start(void) {
    int ends[2];
    char program[] = "import sys; sys.path.insert(0, sys.argv[1]); from parity.hip.server import main; main(3)";
    char *command[] = {HIP_PYTHON, "-P", "-c", program, HIP_ROOT, NULL};
    posix_spawn_file_actions_t files;
    pid_t child;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return hipErrorNotInitialized;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], 3);
    int failed = posix_spawn(&child, HIP_PYTHON, &files, NULL, command, environ);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    connection = ends[0];
    owner = getpid();
    struct Request hello = {.action = "hello"};
    uint64_t range[2];
    uint64_t count;
    if (failed || exchange(&hello, NULL, &count, range, sizeof range)) return hipErrorNotInitialized;
    devices = (int64_t)count;
    memory_begin = range[0];
    memory_end = range[0] + range[1];
    // Reserve the device's addresses in this process, so that hipMemcpyDefault can tell host and device memory apart.
    mmap((void *)range[0], range[1], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    return hipSuccess;
}

static hipError_t noted(hipError_t error) {
    if (error && error != hipErrorNotReady) last_error = error;
    return error;
}

static hipError_t ask_with(const char *api, const char *action, const uint64_t *arguments, size_t count, const void *in,
                           size_t bytes, uint64_t *value, void *out, size_t size) {
    struct Request request = {.device = current_device, .bytes = bytes};
    snprintf(request.api, sizeof request.api, "%s", api);
    snprintf(request.action, sizeof request.action, "%s", action);
    memcpy(request.arguments, arguments, count * sizeof *arguments);
    pthread_mutex_lock(&mutex);
    hipError_t error = connection < 0 ? start() : hipSuccess;
    if (!error && owner != getpid()) error = hipErrorNotInitialized;  // after a fork, the connection belongs to the parent
    if (!error) error = exchange(&request, in, value, out, size);
    pthread_mutex_unlock(&mutex);
    return noted(error);
}

#define VALUES(...) ((uint64_t[]){0, ##__VA_ARGS__}) + 1, sizeof((uint64_t[]){0, ##__VA_ARGS__}) / 8 - 1
#define ASK(action, ...) ask_with(__func__, action, VALUES(__VA_ARGS__), NULL, 0, NULL, NULL, 0)
#define ASK_VALUE(action, value, ...) ask_with(__func__, action, VALUES(__VA_ARGS__), NULL, 0, value, NULL, 0)
#define ASK_BYTES(action, out, size, ...) ask_with(__func__, action, VALUES(__VA_ARGS__), NULL, 0, NULL, out, size)
#define TELL(action, in, size, ...) ask_with(__func__, action, VALUES(__VA_ARGS__), in, size, NULL, NULL, 0)
#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

// Errors

static const struct {
    hipError_t value;
    const char *name, *text;
} errors[] = {HIP_ERRORS};

static const char *error_text(hipError_t error, int name) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].value == error) return name ? errors[i].name : errors[i].text;
    return name ? "hipErrorUnknown" : "unknown error";
}

API const char *hipGetErrorName(hipError_t error) { return error_text(error, 1); }
API const char *hipGetErrorString(hipError_t error) { return error_text(error, 0); }
API hipError_t hipDrvGetErrorName(hipError_t error, const char **text) {
    *text = error_text(error, 1);
    return hipSuccess;
}
API hipError_t hipDrvGetErrorString(hipError_t error, const char **text) {
    *text = error_text(error, 0);
    return hipSuccess;
}
API hipError_t hipPeekAtLastError(void) { return last_error; }
API hipError_t hipGetLastError(void) {
    hipError_t error = last_error;
    last_error = hipSuccess;
    return error;
}

// Devices

API hipError_t hipInit(unsigned flags) { return ASK("nothing"); }
API hipError_t hipDriverGetVersion(int *version) { return ASK_BYTES("version", version, sizeof *version); }
API hipError_t hipRuntimeGetVersion(int *version) { return ASK_BYTES("version", version, sizeof *version); }
API hipError_t hipGetDeviceCount(int *count) {
    hipError_t error = ASK("nothing");
    *count = error ? 0 : (int)devices;
    return error;
}
API hipError_t hipGetDevice(int *device) {
    *device = current_device;
    return hipSuccess;
}
API hipError_t hipSetDevice(int device) {
    hipError_t error = ASK("nothing");
    if (error) return error;
    if (device < 0 || device >= devices) return noted(hipErrorInvalidDevice);
    current_device = device;
    return hipSuccess;
}
API hipError_t hipDeviceGet(int *device, int ordinal) {
    hipError_t error = ASK("nothing");
    if (error) return error;
    if (ordinal < 0 || ordinal >= devices) return noted(hipErrorInvalidDevice);
    *device = ordinal;
    return hipSuccess;
}
API hipError_t hipGetDevicePropertiesR0600(void *properties, int device) {
    return ASK_BYTES("properties", properties, PROPERTIES_BYTES, (uint64_t)device);
}
// Called by programs that were compiled with a HIP older than 6.
API hipError_t hipGetDeviceProperties(void *properties, int device) {
    return ASK_BYTES("properties", properties, OLD_PROPERTIES_BYTES, (uint64_t)device, 1);
}
API hipError_t hipDeviceGetName(char *name, int size, int device) {
    char properties[PROPERTIES_BYTES];
    hipError_t error = ASK_BYTES("properties", properties, sizeof properties, (uint64_t)device);
    if (!error) snprintf(name, (size_t)size, "%s", properties);
    return error;
}
API hipError_t hipDeviceGetPCIBusId(char *bus, int size, int device) {
    char text[32] = "";
    hipError_t error = ASK_BYTES("bus", text, sizeof text - 1, (uint64_t)device);
    if (!error) snprintf(bus, (size_t)size, "%s", text);
    return error;
}
API hipError_t hipDeviceGetAttribute(int *value, int attribute, int device) {
    return ASK_BYTES("attribute", value, sizeof *value, (uint64_t)attribute, (uint64_t)device);
}
API hipError_t hipDeviceTotalMem(size_t *bytes, int device) {
    uint64_t found[2];
    hipError_t error = ASK_BYTES("memory", found, sizeof found);
    if (!error) *bytes = found[1];
    return error;
}
API hipError_t hipMemGetInfo(size_t *left, size_t *total) {
    uint64_t found[2];
    hipError_t error = ASK_BYTES("memory", found, sizeof found);
    if (!error) *left = found[0], *total = found[1];
    return error;
}
API hipError_t hipDeviceSynchronize(void) { return ASK("synchronize"); }
API hipError_t hipDeviceReset(void) { return ASK("reset"); }

// Memory

API hipError_t hipMalloc(void **memory, size_t size) {
    uint64_t address = 0;
    hipError_t error = ASK_VALUE("allocate", &address, size);
    *memory = (void *)(uintptr_t)address;
    return error;
}
API hipError_t hipFree(void *memory) { return ASK("free", ADDRESS(memory)); }
API hipError_t hipMallocAsync(void **memory, size_t size, void *stream) {
    uint64_t address = 0;
    hipError_t error = ASK_VALUE("allocate", &address, size);
    *memory = (void *)(uintptr_t)address;
    return error;
}
API hipError_t hipFreeAsync(void *memory, void *stream) { return ASK("free", ADDRESS(memory)); }
API hipError_t hipHostMalloc(void **memory, size_t size, unsigned flags) {
    *memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    return noted(*memory ? hipSuccess : hipErrorOutOfMemory);
}
API hipError_t hipHostFree(void *memory) {
    free(memory);
    return hipSuccess;
}

static int is_device(const void *memory) { return ADDRESS(memory) >= memory_begin && ADDRESS(memory) < memory_end; }

static hipError_t copy(const char *api, void *to, const void *from, size_t size, int kind) {
    if (kind == Default) {
        hipError_t error = ask_with(api, "nothing", NULL, 0, NULL, 0, NULL, NULL, 0);
        if (error) return error;
        kind = (is_device(from) ? DeviceToHost : HostToHost) + (is_device(to) ? HostToDevice : HostToHost);
    }
    uint64_t arguments[] = {ADDRESS(kind == DeviceToHost ? from : to), ADDRESS(from), size};
    switch (kind) {
        case HostToHost: memmove(to, from, size); return hipSuccess;
        case HostToDevice: return ask_with(api, "upload", arguments, 1, from, size, NULL, NULL, 0);
        case DeviceToHost: arguments[1] = size; return ask_with(api, "download", arguments, 2, NULL, 0, NULL, to, size);
        case DeviceToDevice: return ask_with(api, "copy", arguments, 3, NULL, 0, NULL, NULL, 0);
    }
    return noted(hipErrorInvalidMemcpyDirection);
}

API hipError_t hipMemcpy(void *to, const void *from, size_t size, int kind) {
    return copy(__func__, to, from, size, kind);
}
API hipError_t hipMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream) {
    return copy(__func__, to, from, size, kind);
}
API hipError_t hipMemcpyHtoD(void *to, void *from, size_t size) {
    return copy(__func__, to, from, size, HostToDevice);
}
API hipError_t hipMemcpyHtoDAsync(void *to, void *from, size_t size, void *stream) {
    return copy(__func__, to, from, size, HostToDevice);
}
API hipError_t hipMemcpyDtoH(void *to, void *from, size_t size) {
    return copy(__func__, to, from, size, DeviceToHost);
}
API hipError_t hipMemcpyDtoHAsync(void *to, void *from, size_t size, void *stream) {
    return copy(__func__, to, from, size, DeviceToHost);
}
API hipError_t hipMemcpyDtoD(void *to, void *from, size_t size) {
    return copy(__func__, to, from, size, DeviceToDevice);
}
API hipError_t hipMemcpyDtoDAsync(void *to, void *from, size_t size, void *stream) {
    return copy(__func__, to, from, size, DeviceToDevice);
}

#define FILL(name, value_type, element_bytes)                                                    \
    API hipError_t name(void *to, value_type value, size_t count) {                              \
        return ASK("fill", ADDRESS(to), (uint64_t)value, element_bytes, count);                  \
    }                                                                                            \
    API hipError_t name##Async(void *to, value_type value, size_t count, void *stream) {         \
        return ASK("fill", ADDRESS(to), (uint64_t)value, element_bytes, count);                  \
    }
FILL(hipMemset, int, 1)
FILL(hipMemsetD8, unsigned char, 1)
FILL(hipMemsetD16, unsigned short, 2)
FILL(hipMemsetD32, int, 4)

// Streams and events: work runs when it is enqueued

static hipError_t made(hipError_t error, uint64_t handle, void **object) {
    *object = error ? NULL : (void *)(uintptr_t)handle;
    return error;
}

API hipError_t hipStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    uint64_t handle = 0;
    return made(ASK_VALUE("make_stream", &handle), handle, stream);
}
API hipError_t hipStreamCreateWithFlags(void **stream, unsigned flags) {
    uint64_t handle = 0;
    return made(ASK_VALUE("make_stream", &handle), handle, stream);
}
API hipError_t hipStreamCreate(void **stream) {
    uint64_t handle = 0;
    return made(ASK_VALUE("make_stream", &handle), handle, stream);
}
API hipError_t hipStreamDestroy(void *stream) { return ASK("destroy", ADDRESS(stream)); }
API hipError_t hipStreamSynchronize(void *stream) { return ASK("synchronize", ADDRESS(stream)); }
API hipError_t hipStreamQuery(void *stream) { return ASK("synchronize", ADDRESS(stream)); }
API hipError_t hipStreamWaitEvent(void *stream, void *event, unsigned flags) {
    return ASK("synchronize", ADDRESS(stream));
}
API hipError_t hipEventCreateWithFlags(void **event, unsigned flags) {
    uint64_t handle = 0;
    return made(ASK_VALUE("make_event", &handle), handle, event);
}
API hipError_t hipEventCreate(void **event) {
    uint64_t handle = 0;
    return made(ASK_VALUE("make_event", &handle), handle, event);
}
API hipError_t hipEventDestroy(void *event) { return ASK("destroy", ADDRESS(event)); }
API hipError_t hipEventRecord(void *event, void *stream) { return ASK("record", ADDRESS(event), ADDRESS(stream)); }
API hipError_t hipEventSynchronize(void *event) { return ASK("recorded", ADDRESS(event)); }
API hipError_t hipEventQuery(void *event) { return ASK("recorded", ADDRESS(event)); }
API hipError_t hipEventElapsedTime(float *milliseconds, void *begin, void *end) {
    return ASK_BYTES("elapsed", milliseconds, sizeof *milliseconds, ADDRESS(begin), ADDRESS(end));
}

// Modules

// The size of an ELF file in memory, from its headers; 0 for other data. Unreadable memory must not cause a crash.
static size_t elf_size(const void *image) {
    struct {
        unsigned char magic[16];
        uint16_t type, machine;
        uint32_t version;
        uint64_t entry, segments, sections;
        uint32_t flags;
        uint16_t header_size, segment_size, segment_count, section_size, section_count, names;
    } head;
    struct iovec here = {&head, sizeof head}, there = {(void *)image, sizeof head};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != sizeof head) return 0;
    if (memcmp(head.magic, "\177ELF\2\1", 6)) return 0;
    return head.sections + (uint64_t)head.section_size * head.section_count;
}

static hipError_t load(const char *api, void **module, const void *image, size_t size) {
    *module = NULL;
    if (!size || size > (size_t)1 << 31) return noted(hipErrorInvalidImage);
    void *content = malloc(size);
    if (!content) return noted(hipErrorOutOfMemory);
    struct iovec here = {content, size}, there = {(void *)image, size};
    uint64_t handle = 0;
    hipError_t error = process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size
                           ? ask_with(api, "load", NULL, 0, content, size, &handle, NULL, 0)
                           : noted(hipErrorInvalidImage);
    free(content);
    return made(error, handle, module);
}

API hipError_t hipModuleLoadData(void **module, const void *image) {
    return load(__func__, module, image, elf_size(image));
}
API hipError_t hipModuleLoadDataEx(void **module, const void *image, unsigned count, void *options, void **values) {
    return load(__func__, module, image, elf_size(image));
}
API hipError_t hipModuleLoad(void **module, const char *path) {
    FILE *file = fopen(path, "rb");
    *module = NULL;
    if (!file) return noted(hipErrorFileNotFound);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    void *content = malloc(size > 0 ? (size_t)size : 1);
    size_t read = content ? fread(content, 1, (size_t)size, file) : 0;
    fclose(file);
    hipError_t error = load(__func__, module, content, read);
    free(content);
    return error;
}
API hipError_t hipModuleUnload(void *module) { return ASK("destroy", ADDRESS(module)); }
API hipError_t hipModuleGetFunction(void **function, void *module, const char *name) {
    struct Function *made = calloc(1, sizeof *made + 1024 * sizeof(struct Argument));
    *function = NULL;
    if (!made) return noted(hipErrorOutOfMemory);
    hipError_t error = ask_with(__func__, "find", VALUES(ADDRESS(module)), name, strlen(name), &made->handle,
                                &made->bytes, 8 + 1024 * sizeof(struct Argument));
    if (error)
        free(made);
    else
        *function = made;  // lives as long as the process: HIP cannot destroy a function
    return error;
}
API hipError_t hipModuleGetGlobal(void **address, size_t *bytes, void *module, const char *name) {
    uint64_t found = 0, size = 0;
    hipError_t error = ask_with(__func__, "global", VALUES(ADDRESS(module)), name, strlen(name), &found, &size, sizeof size);
    if (address) *address = (void *)(uintptr_t)found;
    if (bytes) *bytes = size;
    return error;
}
API hipError_t hipFuncSetAttribute(const void *function, int attribute, int value) { return ASK("nothing"); }

// Launches with arguments as a list of pointers, or as one buffer (HIP_LAUNCH_PARAM_BUFFER_POINTER and _SIZE).
API hipError_t hipModuleLaunchKernel(struct Function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                     void *stream, void **parameters, void **extra) {
    if (!function) return noted(hipErrorInvalidValue);
    char packed[4096 + 8] = {0};
    const void *arguments = packed;
    size_t size = function->bytes;
    if (extra) {
        for (; ADDRESS(*extra) == 1 || ADDRESS(*extra) == 2; extra += 2)
            if (ADDRESS(*extra) == 1)
                arguments = extra[1];
            else
                size = *(size_t *)extra[1];
    } else if (size > sizeof packed || (function->count && !parameters)) {
        return noted(hipErrorInvalidValue);
    } else {
        for (uint32_t i = 0; i < function->count; i++)
            memcpy(packed + function->arguments[i].offset, parameters[i], function->arguments[i].size);
    }
    return TELL("launch", arguments, size, function->handle, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                shared_bytes, ADDRESS(stream));
}
