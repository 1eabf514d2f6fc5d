/* The least that a program can do to send messages to another process on this host: what the engine is compared with.
 *
 *   bare_messages unix|pipe|shared-memory ping|rate block|poll BYTES SECONDS SENDER_CORE RECEIVER_CORE
 *
 * Two processes, each pinned to its core, with one message per call. ping: the second process returns each message, and
 * the next one is sent then; the clock is read before each write and after each read. rate: the second process reads
 * what there is, up to 256 KiB at a time, as the engine. Nothing is numbered, checked or recorded but the round trips, which are stored
 * and sorted at the end. The first 400 ms are left out. block: a reader sleeps; poll: it tries again at once.
 * shared-memory: a ring of 1 MiB with a count of each side; a side that must wait for the other one and may sleep does
 * so by futex, and is woken only then. Prints messages_per_s, seconds, and with ping p50_ns and p99_ns.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES (UINT64_C(1) << 20)
#define READ_BYTES ((size_t)256 << 10)
#define WARMUP_NS (INT64_C(400) * 1000 * 1000)
#define TRIPS_MAX ((size_t)1 << 25)

struct ring {
    alignas(128) _Atomic uint64_t written;
    alignas(128) _Atomic uint64_t read;
    alignas(128) _Atomic uint32_t reader_sleeps;
    alignas(128) _Atomic uint32_t writer_sleeps;
    alignas(128) uint8_t data[RING_BYTES];
};

/* One process's end. */
struct end {
    int read_fd;
    int write_fd;
    struct ring *in; /* NULL: descriptors */
    struct ring *out;
    bool polls;
};

static bool is_ring(const struct end *end)
{
    return end->in != NULL;
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void wake(_Atomic uint32_t *sleeps)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(sleeps, memory_order_relaxed) != 0) {
        atomic_store(sleeps, 0);
        (void)syscall(SYS_futex, sleeps, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

/* Until `counter` is no longer `seen`. */
static void await(_Atomic uint64_t *counter, uint64_t seen, _Atomic uint32_t *sleeps, bool polls)
{
    while (atomic_load_explicit(counter, memory_order_acquire) == seen) {
        if (polls)
            continue;
        atomic_store(sleeps, 1);
        if (atomic_load(counter) == seen)
            (void)syscall(SYS_futex, sleeps, FUTEX_WAIT, 1, NULL, NULL, 0);
    }
}

static void put(struct ring *ring, const uint8_t *message, size_t bytes, bool polls)
{
    uint64_t at = atomic_load_explicit(&ring->written, memory_order_relaxed);
    uint64_t read;
    while (at + bytes - (read = atomic_load_explicit(&ring->read, memory_order_acquire)) > RING_BYTES)
        await(&ring->read, read, &ring->writer_sleeps, polls);
    size_t offset = at % RING_BYTES;
    size_t first = bytes < RING_BYTES - offset ? bytes : RING_BYTES - offset;
    memcpy(ring->data + offset, message, first);
    memcpy(ring->data, message + first, bytes - first);
    atomic_store_explicit(&ring->written, at + bytes, memory_order_release);
    wake(&ring->reader_sleeps);
}

static size_t take(struct ring *ring, uint8_t *data, size_t most, bool polls)
{
    uint64_t at = atomic_load_explicit(&ring->read, memory_order_relaxed);
    await(&ring->written, at, &ring->reader_sleeps, polls);
    uint64_t ready = atomic_load_explicit(&ring->written, memory_order_acquire) - at;
    size_t bytes = ready < most ? ready : most;
    size_t offset = at % RING_BYTES;
    size_t first = bytes < RING_BYTES - offset ? bytes : RING_BYTES - offset;
    memcpy(data, ring->data + offset, first);
    memcpy(data + first, ring->data, bytes - first);
    atomic_store_explicit(&ring->read, at + bytes, memory_order_release);
    if (ready - bytes <= RING_BYTES / 2)
        wake(&ring->writer_sleeps);
    return bytes;
}

static void write_message(const struct end *end, const uint8_t *message, size_t bytes)
{
    if (is_ring(end)) {
        put(end->out, message, bytes, end->polls);
        return;
    }
    for (size_t written = 0; written < bytes;) {
        ssize_t count = write(end->write_fd, message + written, bytes - written);
        if (count > 0)
            written += (size_t)count;
        else if (errno != EAGAIN)
            fail("write");
    }
}

/* At least one byte; 0 at the end of the data. */
static size_t read_some(const struct end *end, uint8_t *data, size_t most)
{
    if (is_ring(end))
        return take(end->in, data, most, end->polls);
    ssize_t count;
    while ((count = read(end->read_fd, data, most)) < 0)
        if (errno != EAGAIN)
            fail("read");
    return (size_t)count;
}

static bool read_message(const struct end *end, uint8_t *data, size_t bytes)
{
    for (size_t have = 0; have < bytes;) {
        size_t count = read_some(end, data + have, bytes - have);
        if (count == 0)
            return false;
        have += count;
    }
    return true;
}

static void pin(const char *core)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET((size_t)atoi(core), &cores);
    if (sched_setaffinity(0, sizeof cores, &cores) != 0)
        fail("pin");
}

/* Both ends of a connection: [0] of the sender, [1] of the receiver. */
static void connect_ends(const char *kind, bool polls, struct end ends[2])
{
    int there[2];
    int back[2];
    ends[0] = ends[1] = (struct end){.polls = polls};
    if (strcmp(kind, "shared-memory") == 0) {
        struct ring *rings = mmap(NULL, 2 * sizeof *rings, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (rings == MAP_FAILED)
            fail("mmap");
        ends[0].out = ends[1].in = &rings[0];
        ends[0].in = ends[1].out = &rings[1];
        return;
    }
    if (strcmp(kind, "pipe") == 0) {
        if (pipe(there) != 0 || pipe(back) != 0)
            fail("pipe");
    } else {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, there) != 0)
            fail("socketpair");
        /* One socket reads and writes: [0] is the receiver's, [1] the sender's. */
        back[0] = there[1];
        back[1] = there[0];
    }
    ends[0].write_fd = there[1];
    ends[0].read_fd = back[0];
    ends[1].read_fd = there[0];
    ends[1].write_fd = back[1];
    int fds[] = {there[0], there[1], back[0], back[1]};
    for (size_t i = 0; polls && i < sizeof fds / sizeof fds[0]; i++)
        if (fcntl(fds[i], F_SETFL, O_NONBLOCK) != 0)
            fail("fcntl");
}

static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void ping(const struct end *end, size_t bytes, int64_t seconds)
{
    static uint8_t message[READ_BYTES];
    uint32_t *trips = malloc(TRIPS_MAX * sizeof *trips);
    if (trips == NULL)
        fail("malloc");
    memset(trips, 0, TRIPS_MAX * sizeof *trips); /* no page fault while the clock runs */
    size_t count = 0;
    int64_t begin_ns = now_ns() + WARMUP_NS;
    int64_t end_ns = begin_ns + seconds * INT64_C(1000000000);
    int64_t sent_ns;
    int64_t back_ns;
    do {
        sent_ns = now_ns();
        write_message(end, message, bytes);
        if (!read_message(end, message, bytes))
            break;
        back_ns = now_ns();
        if (sent_ns >= begin_ns && count < TRIPS_MAX)
            trips[count++] = (uint32_t)(back_ns - sent_ns);
    } while (back_ns < end_ns);
    if (count == 0)
        exit(1);
    qsort(trips, count, sizeof *trips, compare);
    printf("messages_per_s=%.1f\nseconds=%jd\np50_ns=%u\np99_ns=%u\n", (double)count / (double)seconds,
           (intmax_t)seconds, trips[count / 2], trips[count - count / 100 - 1]);
}

static void answer(const struct end *end, size_t bytes)
{
    static uint8_t message[READ_BYTES];
    while (read_message(end, message, bytes))
        write_message(end, message, bytes);
}

static void send_all(const struct end *end, size_t bytes)
{
    static uint8_t message[READ_BYTES];
    for (;;) /* until the parent ends it */
        write_message(end, message, bytes);
}

static void receive(const struct end *end, size_t bytes, int64_t seconds)
{
    static uint8_t data[READ_BYTES];
    uint64_t received = 0;
    int64_t begin_ns = now_ns() + WARMUP_NS;
    int64_t end_ns = begin_ns + seconds * INT64_C(1000000000);
    for (int64_t at_ns = 0; at_ns < end_ns;) {
        size_t count = read_some(end, data, sizeof data);
        at_ns = now_ns();
        if (at_ns >= begin_ns)
            received += count;
    }
    printf("messages_per_s=%.1f\nseconds=%jd\n", (double)received / (double)bytes / (double)seconds,
           (intmax_t)seconds);
}

int main(int count, char **words)
{
    if (count != 8)
        return 2;
    bool pings = strcmp(words[2], "ping") == 0;
    size_t bytes = (size_t)atol(words[4]);
    int64_t seconds = atol(words[5]);
    struct end ends[2];
    if (bytes == 0 || bytes > READ_BYTES)
        return 2;
    connect_ends(words[1], strcmp(words[3], "poll") == 0, ends);
    /* The child is the one that is ended: it answers, or it sends. */
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        pin(pings ? words[7] : words[6]);
        if (pings)
            answer(&ends[1], bytes);
        else
            send_all(&ends[0], bytes);
        return 0;
    }
    pin(pings ? words[6] : words[7]);
    if (pings)
        ping(&ends[0], bytes, seconds);
    else
        receive(&ends[1], bytes, seconds);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    return 0;
}
