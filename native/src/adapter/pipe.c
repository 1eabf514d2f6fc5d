#include "adapter/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/kernel_file.h"
#include "messages/recording_cost.h"

/* So that no request or reply is written in two parts. */
#define PIPE_BYTES (2 * PL_ADAPTER_BYTES_MAX)
#define NULL_REQUESTS 1001
#define END_MS 1000

struct client {
    pid_t pid;
    int to_fd;
    int from_fd;
    uint8_t data[PL_PIPE_PREFIX_BYTES + PL_ADAPTER_BYTES_MAX];
};

static char *const *command;

void pl_pipe_set_command(char *const *words)
{
    command = words;
}

/* In the child, between fork() and exec. */
static void become_client(const int input[2], const int output[2], int failure_fd)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(input[0], STDIN_FILENO) >= 0 && dup2(output[1], STDOUT_FILENO) >= 0 &&
        signal(SIGPIPE, SIG_DFL) != SIG_ERR && signal(SIGXFSZ, SIG_DFL) != SIG_ERR &&
        sigprocmask(SIG_SETMASK, &none, NULL) == 0)
        (void)execvp(command[0], command);
    int cause = errno;
    (void)!write(failure_fd, &cause, sizeof cause);
    _exit(127);
}

static void close_pair(const int fds[2])
{
    for (int i = 0; i < 2; i++)
        pl_close(fds[i]);
}

/* 0, or the errno with which the program did not start. */
static int start_client(struct client *client)
{
    int input[2] = {-1, -1};
    int output[2] = {-1, -1};
    int failure[2] = {-1, -1};
    int cause = 0;
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0 || pipe2(failure, O_CLOEXEC) != 0)
        cause = errno;
    if (cause == 0) {
        client->pid = fork();
        if (client->pid == 0)
            become_client(input, output, failure[1]);
        cause = client->pid < 0 ? errno : 0;
    }
    if (cause != 0) {
        close_pair(input);
        close_pair(output);
        close_pair(failure);
        return cause;
    }
    (void)close(input[0]);
    (void)close(output[1]);
    (void)close(failure[1]);
    client->to_fd = input[1];
    client->from_fd = output[0];
    (void)fcntl(client->to_fd, F_SETPIPE_SZ, PIPE_BYTES);
    (void)fcntl(client->from_fd, F_SETPIPE_SZ, PIPE_BYTES);
    if (read(failure[0], &cause, sizeof cause) != (ssize_t)sizeof cause)
        cause = 0;
    (void)close(failure[0]);
    return cause;
}

/* Ends the program: it is to end by itself at the end of its stdin. Its status as waitpid() has it. */
static int end_client(struct client *client)
{
    int status = 0;
    (void)close(client->to_fd);
    struct pollfd output = {.fd = client->from_fd, .events = POLLIN};
    pl_ns deadline_ns = pl_now_ns() + END_MS * PL_NS_PER_MS;
    /* The end of its stdout is that of the program. */
    while (pl_now_ns() < deadline_ns && poll(&output, 1, END_MS) > 0 &&
           read(client->from_fd, client->data, sizeof client->data) > 0) {
    }
    (void)close(client->from_fd);
    for (int tries = 0; waitpid(client->pid, &status, WNOHANG) == 0; tries++) {
        const struct timespec moment = {.tv_nsec = PL_NS_PER_MS};
        if (tries == 100)
            (void)kill(client->pid, SIGKILL);
        (void)nanosleep(&moment, NULL);
    }
    client->to_fd = client->from_fd = -1;
    return status;
}

static void *connect_client(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        (void)pl_adapter_fail(error, "limit", "no memory for stream %u", settings->stream);
        return NULL;
    }
    int cause = start_client(client);
    if (cause == 0)
        return client;
    (void)pl_adapter_fail(error, "start", "'%.80s' does not start: %s", command[0], strerror(cause));
    if (client->pid > 0)
        (void)end_client(client);
    free(client);
    return NULL;
}

/* States how the program has ended, in the middle of a request. */
static int fail_ended(struct client *client, struct pl_adapter_error *error)
{
    int status = end_client(client);
    if (WIFSIGNALED(status))
        return pl_adapter_fail(error, "exit", "'%.80s' was ended by signal %d", command[0], WTERMSIG(status));
    return pl_adapter_fail(error, "exit", "'%.80s' ended with status %d instead of a reply", command[0],
                           WEXITSTATUS(status));
}

static int write_request(struct client *client, const uint8_t *request, size_t bytes,
                         struct pl_adapter_error *error)
{
    const union { /* writev() only reads, though iovec has no const */
        const uint8_t *read;
        void *write;
    } content = {.read = request};
    uint8_t prefix[PL_PIPE_PREFIX_BYTES];
    size_t written = 0;
    pl_put32(prefix, (uint32_t)bytes);
    while (written < sizeof prefix + bytes) {
        struct iovec parts[2] = {{prefix, sizeof prefix}, {content.write, bytes}};
        size_t of_prefix = written < sizeof prefix ? written : sizeof prefix;
        parts[0].iov_base = prefix + of_prefix;
        parts[0].iov_len -= of_prefix;
        parts[1].iov_base = (uint8_t *)parts[1].iov_base + (written - of_prefix);
        parts[1].iov_len -= written - of_prefix;
        ssize_t count = writev(client->to_fd, parts, 2);
        if (count < 0 && errno != EINTR)
            return fail_ended(client, error);
        written += count > 0 ? (size_t)count : 0;
    }
    return 0;
}

int pl_pipe_decode(const uint8_t *data, size_t have, size_t expected, const uint8_t **reply,
                   struct pl_adapter_error *error)
{
    if (have < PL_PIPE_PREFIX_BYTES)
        return 0;
    uint32_t length = pl_get32(data);
    if (length != expected && expected == 0)
        return pl_adapter_fail(error, "contract", "the null request (length 0) got a reply of length %u",
                               length);
    if (length != expected)
        return pl_adapter_fail(error, "reply", "a reply of length %u, expected %zu", length, expected);
    if (have > PL_PIPE_PREFIX_BYTES + expected)
        return pl_adapter_fail(error, "reply", "%zu bytes behind the reply",
                               have - PL_PIPE_PREFIX_BYTES - expected);
    if (have < PL_PIPE_PREFIX_BYTES + expected)
        return 0;
    *reply = data + PL_PIPE_PREFIX_BYTES;
    return 1;
}

static int read_reply(struct client *client, size_t expected, const uint8_t **reply,
                      struct pl_adapter_error *error)
{
    for (size_t have = 0;;) {
        ssize_t count = read(client->from_fd, client->data + have, sizeof client->data - have);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return fail_ended(client, error);
        have += (size_t)count;
        int found = pl_pipe_decode(client->data, have, expected, reply, error);
        if (found != 0)
            return found < 0 ? -1 : 0;
    }
}

static int ask_client(void *connection, const uint8_t *request, size_t bytes, const uint8_t **reply,
                      size_t *reply_bytes, struct pl_adapter_error *error)
{
    if (write_request(connection, request, bytes, error) != 0 ||
        read_reply(connection, bytes, reply, error) != 0)
        return -1;
    *reply_bytes = bytes;
    return 0;
}

static void close_client(void *connection)
{
    (void)end_client(connection);
    free(connection);
}

static int measure_hop(void *connection, double *hop_ns, struct pl_adapter_error *error)
{
    static double durations_ns[NULL_REQUESTS]; /* one loop measures it */
    pl_ns before_ns = pl_now_ns();
    for (int i = 0; i < NULL_REQUESTS; i++) {
        const uint8_t *reply;
        if (write_request(connection, NULL, 0, error) != 0 || read_reply(connection, 0, &reply, error) != 0)
            return -1;
        pl_ns now_ns = pl_now_ns();
        durations_ns[i] = (double)(now_ns - before_ns);
        before_ns = now_ns;
    }
    *hop_ns = pl_median(durations_ns, NULL_REQUESTS);
    return 0;
}

/* In ticks of 1/100 s, values 14 and 15 of the process's line; false where it cannot be read. */
static bool read_ticks(pid_t pid, long long *user, long long *system)
{
    char path[48];
    char line[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    size_t count = file != NULL ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file != NULL)
        (void)fclose(file);
    line[count] = 0;
    const char *at = strrchr(line, ')'); /* behind the name */
    if (at == NULL)
        return false;
    at++;
    for (int value = 3; value < 14; value++) {
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    char *end;
    *user = strtoll(at, &end, 10);
    if (end == at)
        return false;
    at = end;
    *system = strtoll(at, &end, 10);
    return end != at;
}

/* The sum is exact, the shares are those of up to 10 ms before. */
static void add_usage(void *connection, pl_ns *user_ns, pl_ns *system_ns)
{
    const struct client *client = connection;
    struct timespec spent;
    clockid_t clock;
    long long user = 0;
    long long system = 0;
    if (clock_getcpuclockid(client->pid, &clock) != 0 || clock_gettime(clock, &spent) != 0)
        return;
    pl_ns sum_ns = pl_timespec_ns(&spent);
    if (!read_ticks(client->pid, &user, &system) || user + system <= 0)
        user = system = 1;
    pl_ns of_user_ns = (pl_ns)((double)sum_ns * ((double)user / (double)(user + system)));
    *user_ns += of_user_ns;
    *system_ns += sum_ns - of_user_ns;
}

const struct pl_adapter pl_pipe_adapter = {
    .connect = connect_client, .ask = ask_client, .close = close_client, .answer = NULL, .describe = NULL};

const struct pl_asker_extras pl_pipe_extras = {.measure_hop = measure_hop, .add_usage = add_usage};
