// Queues of packets, and copies of memory. One thread executes the packets of all queues, each queue in its order; a
// queue whose next packet waits for a signal lets the others go on.
#include "hsa.h"

struct Queue {  // hsa_queue_t, and what this library needs
    uint32_t type, features;
    void *base;
    hsa_signal_t doorbell;
    uint32_t size, reserved;
    uint64_t id;
    _Atomic uint64_t write, read;
    int agent;
    bool failed;
    void (*callback)(hsa_status_t, struct Queue *, void *);
    void *data;
    struct Queue *next;
};

union Packet {
    struct { _Atomic uint16_t header; uint16_t setup, block[3], reserved; uint32_t grid[3], scratch, lds; uint64_t object, arguments, id; hsa_signal_t completion; } dispatch;
    struct { uint16_t header, reserved; uint32_t more; hsa_signal_t dependencies[5]; uint64_t id; hsa_signal_t completion; } barrier;
    struct { uint16_t header; uint8_t format, reserved; uint32_t more; hsa_signal_t signal; int64_t value, mask; uint32_t condition, other; uint64_t unused[2]; hsa_signal_t completion; } waiting;
};
_Static_assert(sizeof(union Packet) == 64, "a packet has 64 bytes");
enum { VENDOR = 0, INVALID = 1, DISPATCH = 2, BARRIER_AND = 3, BARRIER_OR = 5, BARRIER_VALUE = 2 };
enum { COOPERATIVE = 2 };  // the type of a queue

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static struct Queue *queues;
static struct Job *jobs;
static pthread_t thread;
static bool started, stopping;
static uint64_t wakes, queue_ids;

void processor_wake(void) {
    pthread_mutex_lock(&lock);
    wakes++;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
}

static int64_t value_of(hsa_signal_t signal) { return signal.handle ? atomic_load(&signal_of(signal)->value) : 0; }

// Whether the signals that a packet waits for have their values.
static bool is_ready(const union Packet *packet, int type) {
    bool any = false, all = true, none = true;
    if (type == VENDOR && packet->waiting.format == BARRIER_VALUE)
        return !packet->waiting.signal.handle ||
               condition_holds((int)packet->waiting.condition, value_of(packet->waiting.signal) & packet->waiting.mask,
                               packet->waiting.value);
    if (type != BARRIER_AND && type != BARRIER_OR) return true;
    for (int i = 0; i < 5; i++) {
        if (!packet->barrier.dependencies[i].handle) continue;
        const bool done = value_of(packet->barrier.dependencies[i]) == 0;
        none = false, any |= done, all &= done;
    }
    return type == BARRIER_AND ? all : any || none;
}

static hsa_status_t launch(const union Packet *packet, bool cooperative) {
    const uint64_t values[] = {packet->dispatch.object,  packet->dispatch.arguments, packet->dispatch.grid[0],
                               packet->dispatch.grid[1], packet->dispatch.grid[2],   packet->dispatch.block[0],
                               packet->dispatch.block[1], packet->dispatch.block[2], packet->dispatch.lds,
                               cooperative};
    struct Reply reply = {ERROR};
    free(server_ask(LAUNCH, values, 10, NULL, 0, &reply));
    return (hsa_status_t)reply.status;
}

// Executes the next packet of a queue; returns false if the queue has none, or it has to wait.
static bool advance(struct Queue *queue) {
    const uint64_t index = atomic_load(&queue->read);
    if (queue->failed || index >= atomic_load(&queue->write)) return false;
    union Packet *packet = (union Packet *)queue->base + index % queue->size;
    const uint16_t header = atomic_load(&packet->dispatch.header);
    const int type = header & 0xff;
    if (type == INVALID || !is_ready(packet, type)) return false;
    pthread_mutex_unlock(&lock);
    hsa_status_t status = SUCCESS;
    const uint64_t start = now();
    if (type == DISPATCH)
        status = launch(packet, queue->type == COOPERATIVE);
    else if (type != BARRIER_AND && type != BARRIER_OR && !(type == VENDOR && packet->waiting.format == BARRIER_VALUE))
        status = INVALID_PACKET_FORMAT;
    const hsa_signal_t completion = packet->dispatch.completion;
    atomic_store(&packet->dispatch.header, INVALID);
    atomic_fetch_add(&queue->read, 1);
    if (status) {  // as on a GPU, the queue stops; the callback tells the program
        queue->failed = true;
        if (queue->callback) queue->callback(status, queue, queue->data);
    }
    signal_finish(completion, start, now());
    pthread_mutex_lock(&lock);
    return true;
}

static bool is_free(const struct Job *job) {
    for (int i = 0; i < job->count; i++)
        if (value_of(job->dependencies[i])) return false;
    return true;
}

static bool perform_job(void) {
    for (struct Job **place = &jobs; *place; place = &(*place)->next)
        if (is_free(*place)) {
            struct Job *job = *place;
            *place = job->next;
            pthread_mutex_unlock(&lock);
            const uint64_t start = now();
            job->work(job);
            signal_finish(job->completion, start, now());
            free(job);
            pthread_mutex_lock(&lock);
            return true;
        }
    return false;
}

static void *process(void *nothing) {
    pthread_mutex_lock(&lock);
    while (!stopping) {
        const uint64_t seen = wakes;
        bool progress = perform_job();
        for (struct Queue *queue = queues; queue; queue = queue->next) progress |= advance(queue);
        if (!progress && seen == wakes) pthread_cond_wait(&work, &lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void start(void) {
    if (!started) started = !pthread_create(&thread, NULL, process, NULL) && !pthread_detach(thread);
}

void processor_stop(void) {
    stopping = true;
    processor_wake();
}

void job_submit(struct Job *job) {
    pthread_mutex_lock(&lock);
    struct Job **last = &jobs;
    while (*last) last = &(*last)->next;
    *last = job;
    start();
    wakes++;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
}

// --- the interface of queues ---

API hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size, uint32_t type,
                                  void (*callback)(hsa_status_t, struct Queue *, void *), void *data, uint32_t scratch,
                                  uint32_t lds, struct Queue **out) {
    if (agent.handle < 2 || agent.handle > (uint64_t)agent_count + 1) return INVALID_AGENT;
    struct Queue *queue = calloc(1, sizeof *queue);
    struct Signal *doorbell = signal_new(0);
    if (!queue || !doorbell || posix_memalign(&queue->base, 64, size * sizeof(union Packet))) return OUT_OF_RESOURCES;
    memset(queue->base, 0, size * sizeof(union Packet));
    for (uint32_t i = 0; i < size; i++) ((union Packet *)queue->base)[i].dispatch.header = INVALID;
    queue->type = type, queue->features = 1, queue->doorbell.handle = (uint64_t)doorbell, queue->size = size;
    queue->agent = (int)agent.handle - 1, queue->callback = callback, queue->data = data;
    pthread_mutex_lock(&lock);
    queue->id = ++queue_ids, queue->next = queues, queues = queue;
    start();
    pthread_mutex_unlock(&lock);
    *out = queue;
    return SUCCESS;
}

API hsa_status_t hsa_queue_destroy(struct Queue *queue) {
    pthread_mutex_lock(&lock);
    for (struct Queue **place = &queues; *place; place = &(*place)->next)
        if (*place == queue) {
            *place = queue->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    return SUCCESS;  // the thread may still be in a packet of the queue, so its memory is kept
}

API uint64_t hsa_queue_add_write_index_screlease(struct Queue *queue, uint64_t count) {
    return atomic_fetch_add(&queue->write, count);
}
API uint64_t hsa_queue_load_read_index_relaxed(const struct Queue *queue) { return atomic_load(&((struct Queue *)queue)->read); }
API uint64_t hsa_queue_load_read_index_scacquire(const struct Queue *queue) { return hsa_queue_load_read_index_relaxed(queue); }
API uint64_t hsa_queue_load_write_index_relaxed(const struct Queue *queue) { return atomic_load(&((struct Queue *)queue)->write); }
API hsa_status_t hsa_amd_queue_cu_set_mask(const struct Queue *queue, uint32_t count, const uint32_t *mask) { return SUCCESS; }
API hsa_status_t hsa_amd_queue_set_priority(struct Queue *queue, int priority) { return SUCCESS; }

// --- copies ---

static hsa_status_t copy_area(struct Job *job) {
    const struct Rectangle *a = &job->area;
    for (uint64_t z = 0; z < a->z; z++)
        for (uint64_t y = 0; y < a->y; y++)
            memory_copy(a->to + z * a->to_slice + y * a->to_pitch, a->from + z * a->from_slice + y * a->from_pitch, a->x);
    return SUCCESS;
}

static hsa_status_t copy_later(struct Rectangle area, uint32_t count, const hsa_signal_t *dependencies, hsa_signal_t completion) {
    struct Job *job = calloc(1, sizeof *job);
    if (!job || count > 64) return OUT_OF_RESOURCES;
    job->work = copy_area, job->area = area, job->completion = completion, job->count = (int)count;
    if (count) memcpy(job->dependencies, dependencies, count * sizeof *dependencies);
    job_submit(job);
    return SUCCESS;
}

API hsa_status_t hsa_amd_memory_async_copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent, size_t size,
                                           uint32_t count, const hsa_signal_t *dependencies, hsa_signal_t completion) {
    return copy_later((struct Rectangle){to, from, 0, 0, 0, 0, size, 1, 1}, count, dependencies, completion);
}
API hsa_status_t hsa_amd_memory_async_copy_on_engine(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
                                                     size_t size, uint32_t count, const hsa_signal_t *dependencies,
                                                     hsa_signal_t completion, int engine, bool force) {
    return hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, count, dependencies, completion);
}
struct Pitched { char *base; size_t pitch, slice; };
struct Three { uint32_t x, y, z; };
API hsa_status_t hsa_amd_memory_async_copy_rect(const struct Pitched *to, const struct Three *to_at, const struct Pitched *from,
                                                const struct Three *from_at, const struct Three *range, hsa_agent_t agent,
                                                int direction, uint32_t count, const hsa_signal_t *dependencies,
                                                hsa_signal_t completion) {
    const struct Rectangle area = {to->base + to_at->z * to->slice + to_at->y * to->pitch + to_at->x,
                                   from->base + from_at->z * from->slice + from_at->y * from->pitch + from_at->x,
                                   to->pitch, to->slice, from->pitch, from->slice, range->x, range->y, range->z};
    return copy_later(area, count, dependencies, completion);
}
API hsa_status_t hsa_amd_memory_copy_engine_status(hsa_agent_t to, hsa_agent_t from, uint32_t *mask) {
    *mask = 1;
    return SUCCESS;
}
API hsa_status_t hsa_amd_memory_get_preferred_copy_engine(hsa_agent_t to, hsa_agent_t from, uint32_t *mask) {
    *mask = 1;
    return SUCCESS;
}
