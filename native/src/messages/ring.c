#include "messages/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdalign.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/relaxed.h"
#include "messages/breach.h"

#define SLEEP_NS (100 * PL_NS_PER_MS)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
/* Neither side writes to a line that the other one writes to; pairs of lines are fetched together. */
#define APART 128

/* One side's sleep: `sleeps` is set before it sleeps, and the other side advances `word` and wakes it. */
struct sleeper {
    alignas(APART) _Atomic uint32_t sleeps;
    _Atomic uint32_t word;
};

struct pl_ring_head {
    alignas(APART) _Atomic uint64_t written;
    _Atomic uint32_t closed;
    alignas(APART) _Atomic uint64_t read;
    struct sleeper reader;
    struct sleeper writer;
};

static size_t mapped_size(size_t bytes)
{
    return sizeof(struct pl_ring_head) + bytes;
}

int pl_ring_create(size_t bytes, struct pl_error *error)
{
    int fd = memfd_create("pathlab-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    off_t size = (off_t)mapped_size(bytes);
    /* Takes the pages now: a limit on them then fails the call, and not the first access, which would kill
     * the process. Whether there is memory for them is checked before (endpoint.c). */
    if (fd >= 0 && ftruncate(fd, size) == 0 && fallocate(fd, 0, 0, size) == 0 &&
        fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    pl_error_set(error, PL_RESOURCES, "queue", errno, "no shared memory for a queue of %zu bytes", bytes);
    pl_close(fd);
    return -1;
}

bool pl_ring_map(struct pl_ring *ring, int fd, size_t bytes, struct pl_error *error)
{
    struct stat facts;
    size_t size = mapped_size(bytes);
    int seals = fcntl(fd, F_GET_SEALS);
    if (fstat(fd, &facts) != 0 || seals < 0 || (seals & SEALS) != SEALS || facts.st_size != (off_t)size)
        return pl_error_set(error, PL_PEER, "queue", 0, "the peer's queue is not one of %zu bytes", bytes);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED)
        return pl_error_set(error, PL_RESOURCES, "queue", errno, "cannot map a queue of %zu bytes", bytes);
    ring->head = memory;
    ring->data = (uint8_t *)memory + sizeof(struct pl_ring_head);
    ring->bytes = bytes;
    ring->mapped_bytes = size;
    return true;
}

void pl_ring_unmap(struct pl_ring *ring)
{
    if (ring->head != NULL)
        (void)munmap(ring->head, ring->mapped_bytes);
    ring->head = NULL;
}

ssize_t pl_ring_readable(struct pl_ring *ring)
{
    uint64_t written = atomic_load_explicit(&ring->head->written, memory_order_acquire);
    if (written - ring->seen <= ring->bytes)
        return (ssize_t)(written - ring->seen);
    errno = PL_BREACH_QUEUE;
    return -1;
}

ssize_t pl_ring_writable(struct pl_ring *ring)
{
    uint64_t read = atomic_load_explicit(&ring->head->read, memory_order_acquire);
    if (ring->tail - read <= ring->bytes)
        return (ssize_t)(ring->bytes - (ring->tail - read));
    errno = PL_BREACH_QUEUE;
    return -1;
}

static void futex_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Wakes the other side if it sleeps. The fence orders this side's new count before the look at `sleeps`, as
 * the other side sets `sleeps` before it looks at the count. */
static void wake(struct sleeper *sleeper, int event_fd)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (pl_load_relaxed(&sleeper->sleeps) == 0)
        return;
    pl_store_relaxed(&sleeper->sleeps, 0);
    if (event_fd >= 0) {
        pl_wake(event_fd);
        return;
    }
    (void)atomic_fetch_add(&sleeper->word, 1);
    futex_wake(&sleeper->word);
}

void pl_ring_write(struct pl_ring *ring, const uint8_t *data, size_t bytes)
{
    size_t at = (size_t)ring->tail & (ring->bytes - 1);
    size_t first = bytes < ring->bytes - at ? bytes : ring->bytes - at;
    memcpy(ring->data + at, data, first);
    memcpy(ring->data, data + first, bytes - first);
    ring->tail += bytes;
    atomic_store_explicit(&ring->head->written, ring->tail, memory_order_release);
    wake(&ring->head->reader, ring->wait == PL_RING_EVENT ? ring->event_fd : -1);
}

void pl_ring_read(struct pl_ring *ring, uint8_t *data, size_t bytes)
{
    size_t at = (size_t)ring->seen & (ring->bytes - 1);
    size_t first = bytes < ring->bytes - at ? bytes : ring->bytes - at;
    memcpy(data, ring->data + at, first);
    memcpy(data + first, ring->data, bytes - first);
    ring->seen += bytes;
    atomic_store_explicit(&ring->head->read, ring->seen, memory_order_release);
    /* A writer that found no room sleeps until half of the queue is free, not for each message anew. */
    uint64_t written = pl_load_relaxed(&ring->head->written);
    if (written - ring->seen <= ring->bytes / 2)
        wake(&ring->head->writer, -1);
}

static void futex_sleep(_Atomic uint32_t *word, uint32_t expected)
{
    const struct timespec most = {.tv_nsec = SLEEP_NS};
    (void)syscall(SYS_futex, word, FUTEX_WAIT, expected, &most, NULL, 0);
}

static void event_sleep(int event_fd)
{
    struct pollfd event = {.fd = event_fd, .events = POLLIN};
    if (poll(&event, 1, SLEEP_NS / PL_NS_PER_MS) > 0)
        pl_clear_wake(event_fd);
}

void pl_ring_await_bytes(struct pl_ring *ring)
{
    struct sleeper *own = &ring->head->reader;
    uint32_t word = atomic_load(&own->word);
    atomic_store(&own->sleeps, 1);
    atomic_thread_fence(memory_order_seq_cst);
    if (pl_ring_readable(ring) == 0 && !pl_ring_is_closed(ring)) {
        if (ring->wait == PL_RING_EVENT)
            event_sleep(ring->event_fd);
        else
            futex_sleep(&own->word, word);
    }
    pl_store_relaxed(&own->sleeps, 0);
}

void pl_ring_await_room(struct pl_ring *ring)
{
    struct sleeper *own = &ring->head->writer;
    uint32_t word = atomic_load(&own->word);
    atomic_store(&own->sleeps, 1);
    atomic_thread_fence(memory_order_seq_cst);
    if (pl_ring_writable(ring) < (ssize_t)ring->bytes / 2)
        futex_sleep(&own->word, word);
    pl_store_relaxed(&own->sleeps, 0);
}

void pl_ring_close_writer(struct pl_ring *ring)
{
    atomic_store(&ring->head->closed, 1);
    wake(&ring->head->reader, ring->wait == PL_RING_EVENT ? ring->event_fd : -1);
}

bool pl_ring_is_closed(const struct pl_ring *ring)
{
    return atomic_load(&ring->head->closed) != 0;
}
