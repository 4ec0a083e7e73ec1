// Signals. They are in memory that GPUs can access. All changes by this library wake those who wait.
#include <time.h>

#include "hsa.h"

#define CHUNK 512

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct Signal *unused;

struct Handler {
    struct Handler *next;
    struct Signal *signal;
    int condition;
    int64_t compared;
    bool (*call)(int64_t, void *);
    void *argument;
};
static struct Handler *handlers;
static pthread_t thread;
static bool started;

uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void signals_changed(void) {
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    processor_wake();
}

bool condition_holds(int condition, int64_t value, int64_t compared) {
    switch (condition) {
    case 0: return value == compared;
    case 1: return value != compared;
    case 2: return value < compared;
    default: return value >= compared;
    }
}

struct Signal *signal_new(int64_t value) {
    pthread_mutex_lock(&lock);
    if (!unused) {
        struct Block *block = memory_allocate(0, CHUNK * sizeof(struct Signal), 4096, WRITTEN, "signals");
        struct Signal *all = block ? (struct Signal *)block->address : NULL;
        for (int i = 0; all && i < CHUNK; i++) all[i].unused = (uint64_t)unused, unused = &all[i];
    }
    struct Signal *signal = unused;
    if (signal) {
        unused = (struct Signal *)signal->unused;
        *signal = (struct Signal){.kind = 1, .value = value};
    }
    pthread_mutex_unlock(&lock);
    return signal;
}

void signal_finish(hsa_signal_t signal, uint64_t start, uint64_t end) {
    if (signal.handle) {
        signal_of(signal)->start = start, signal_of(signal)->end = end;
        atomic_fetch_sub(&signal_of(signal)->value, 1);
    }
    signals_changed();
}

// Waits until the condition holds or `timeout` (ns) has passed. Kernels change signals without a notice, hence the limit.
static int64_t wait(struct Signal *signal, int condition, int64_t compared, uint64_t timeout) {
    const uint64_t begin = now();
    pthread_mutex_lock(&lock);
    int64_t value;
    while (!condition_holds(condition, value = atomic_load(&signal->value), compared) && now() - begin < timeout) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 10000000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&changed, &lock, &until);
    }
    pthread_mutex_unlock(&lock);
    return value;
}

static void *watch(void *nothing) {
    pthread_mutex_lock(&lock);
    for (;;) {
        struct Handler *ready = NULL;
        for (struct Handler **place = &handlers; *place && !ready; place = &(*place)->next)
            if (condition_holds((*place)->condition, atomic_load(&(*place)->signal->value), (*place)->compared)) {
                ready = *place;
                *place = ready->next;
                break;
            }
        if (!ready) {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_sec++;
            pthread_cond_timedwait(&changed, &lock, &until);
            continue;
        }
        pthread_mutex_unlock(&lock);
        const bool again = ready->call(atomic_load(&ready->signal->value), ready->argument);
        pthread_mutex_lock(&lock);
        if (again)
            ready->next = handlers, handlers = ready;
        else
            free(ready);
    }
    return NULL;
}

API hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t signal, int condition, int64_t value,
                                              bool (*call)(int64_t, void *), void *argument) {
    struct Handler *handler = calloc(1, sizeof *handler);
    if (!handler) return OUT_OF_RESOURCES;
    *handler = (struct Handler){NULL, signal_of(signal), condition, value, call, argument};
    pthread_mutex_lock(&lock);
    if (!started) started = !pthread_create(&thread, NULL, watch, NULL) && !pthread_detach(thread);
    struct Handler **last = &handlers;  // handlers run in the order of their registration
    while (*last) last = &(*last)->next;
    *last = handler;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

API hsa_status_t hsa_amd_signal_create(int64_t value, uint32_t count, const hsa_agent_t *list, uint64_t flags,
                                       hsa_signal_t *out) {
    struct Signal *signal = signal_new(value);
    out->handle = (uint64_t)signal;
    return signal ? SUCCESS : OUT_OF_RESOURCES;
}
API hsa_status_t hsa_signal_create(int64_t value, uint32_t count, const hsa_agent_t *list, hsa_signal_t *out) {
    return hsa_amd_signal_create(value, count, list, 0, out);
}
API hsa_status_t hsa_signal_destroy(hsa_signal_t signal) {
    if (!signal.handle) return INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    signal_of(signal)->unused = (uint64_t)unused;
    unused = signal_of(signal);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}
API hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t signal, volatile int64_t **out) {
    *out = (volatile int64_t *)&signal_of(signal)->value;
    return SUCCESS;
}
API int64_t hsa_signal_load_relaxed(hsa_signal_t signal) { return atomic_load(&signal_of(signal)->value); }
API void hsa_signal_store_relaxed(hsa_signal_t signal, int64_t value) {
    atomic_store(&signal_of(signal)->value, value);
    signals_changed();
}
API void hsa_signal_store_screlease(hsa_signal_t signal, int64_t value) { hsa_signal_store_relaxed(signal, value); }
API void hsa_signal_silent_store_relaxed(hsa_signal_t signal, int64_t value) { atomic_store(&signal_of(signal)->value, value); }
API void hsa_signal_add_relaxed(hsa_signal_t signal, int64_t value) {
    atomic_fetch_add(&signal_of(signal)->value, value);
    signals_changed();
}
API void hsa_signal_subtract_relaxed(hsa_signal_t signal, int64_t value) { hsa_signal_add_relaxed(signal, -value); }
API int64_t hsa_signal_wait_scacquire(hsa_signal_t signal, int condition, int64_t value, uint64_t timeout, int state) {
    return wait(signal_of(signal), condition, value, timeout);
}

struct Times { uint64_t start, end; };
API hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal, struct Times *out) {
    *out = (struct Times){signal_of(signal)->start, signal_of(signal)->end};
    return SUCCESS;
}
API hsa_status_t hsa_amd_profiling_get_async_copy_time(hsa_signal_t signal, struct Times *out) {
    return hsa_amd_profiling_get_dispatch_time((hsa_agent_t){0}, signal, out);
}
API hsa_status_t hsa_amd_profiling_set_profiler_enabled(void *queue, int enable) { return SUCCESS; }
API hsa_status_t hsa_amd_profiling_async_copy_enable(bool enable) { return SUCCESS; }
