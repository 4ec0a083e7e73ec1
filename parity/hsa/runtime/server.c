// The connection to the process that executes kernels. HSA_PYTHON and HSA_ROOT (the folder that holds the package) are
// defined by library.py.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hsa.h"

#define VALUES 12

struct Request { uint64_t action, values[VALUES], bytes; };

extern char **environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int connection = -1;
static int failures;
static pid_t child;

static bool transfer(bool sending, void *data, size_t bytes) {
    while (bytes) {
        ssize_t done = sending ? send(connection, data, bytes, MSG_NOSIGNAL) : recv(connection, data, bytes, 0);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        data = (char *)data + done, bytes -= (size_t)done;
    }
    return true;
}

static bool post(enum Action action, const uint64_t *values, int count, const void *data, size_t bytes) {
    struct Request request = {action, {0}, bytes};
    memcpy(request.values, values, (size_t)count * sizeof *values);
    return connection >= 0 && transfer(true, &request, sizeof request) && transfer(true, (void *)data, bytes);
}

// Ends the program. AMD's runtime would go on with code objects that were not loaded, and crash.
_Noreturn static void lost(void) {
    int status;
    char how[32] = "";
    close(connection);  // so that the process ends if it has not
    if (waitpid(child, &status, 0) == child)
        snprintf(how, sizeof how, WIFSIGNALED(status) ? " by signal %d" : " with exit status %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    fprintf(stderr, "parity: the emulated GPUs are lost: the process that executes their kernels ended%s\n", how);
    fflush(stdout);
    _exit(1);
}

void server_tell(enum Action action, const uint64_t *values, int count, const void *data, size_t bytes) {
    pthread_mutex_lock(&lock);
    post(action, values, count, data, bytes);
    pthread_mutex_unlock(&lock);
}

void *server_ask(enum Action action, const uint64_t *values, int count, const void *data, size_t bytes, struct Reply *reply) {
    char *found = NULL;
    pthread_mutex_lock(&lock);
    if (!post(action, values, count, data, bytes) || !transfer(false, reply, sizeof *reply) ||
        (reply->bytes && (!(found = malloc(reply->bytes)) || !transfer(false, found, reply->bytes))))
        lost();
    if (reply->status) failures++;
    pthread_mutex_unlock(&lock);
    return found;
}

// A program that ignores the error of a kernel fails nevertheless.
static void at_exit(int status, void *nothing) {
    struct Reply reply;
    if (connection >= 0) free(server_ask(FINISH, NULL, 0, NULL, 0, &reply));
    if (failures && !status) {
        fflush(NULL);
        _exit(1);
    }
}

static int above(int file) { return fcntl(file, F_DUPFD_CLOEXEC, 16); }

hsa_status_t server_start(void) {
    int ends[2], memory[2];
    char program[] = "import gc, sys; gc.disable(); sys.path.insert(0, sys.argv[1]); from parity.hsa.server import main; main(3, 4, 5)";
    char *command[] = {HSA_PYTHON, "-P", "-c", program, HSA_ROOT, NULL};
    posix_spawn_file_actions_t files;
    if (!memory_open(memory)) {
        fprintf(stderr, "parity: cannot map %llu GiB of addresses at %#llx for the memory of emulated GPUs\n", SPACE >> 30, BASE);
        return OUT_OF_RESOURCES;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return OUT_OF_RESOURCES;
    // Above the numbers that the child gets, so that none replaces another.
    const int high[3] = {above(ends[1]), above(memory[0]), above(memory[1])};
    posix_spawn_file_actions_init(&files);
    for (int i = 0; i < 3; i++) posix_spawn_file_actions_adddup2(&files, high[i], 3 + i);
    const int failed = posix_spawn(&child, HSA_PYTHON, &files, NULL, command, environ);
    posix_spawn_file_actions_destroy(&files);
    for (int i = 0; i < 3; i++) close(high[i]);
    close(ends[1]);
    if (failed) {
        fprintf(stderr, "parity: cannot start %s, which executes the kernels of emulated GPUs: %s\n", HSA_PYTHON, strerror(failed));
        close(ends[0]);
        return OUT_OF_RESOURCES;
    }
    connection = ends[0];
    on_exit(at_exit, NULL);
    return SUCCESS;
}
