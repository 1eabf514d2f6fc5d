#include "pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "worker.h"

struct pl_pool {
    struct pl_shared shared;
    struct pl_worker *workers;
    uint32_t count;
    bool joined;
};

/* Data that a compressing path cannot shrink: an xorshift sequence, the same for every run. */
static void fill_buffer(uint8_t *buffer, size_t size)
{
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        buffer[i] = (uint8_t)(state >> 56);
    }
}

static bool prepare_worker(struct pl_pool *pool, uint32_t index, struct pl_stream *streams,
                           struct pl_error *error)
{
    struct pl_worker *worker = &pool->workers[index];
    worker->shared = &pool->shared;
    worker->applied_mode = PL_MODE_WAIT;
    worker->streams = calloc(pool->shared.streams / pool->count + 1, sizeof *worker->streams);
    worker->buffer = malloc(pool->shared.chunk_bytes);
    if (worker->streams == NULL || worker->buffer == NULL) {
        pl_error_set(error, PL_RESOURCES, "workers", ENOMEM, "no memory for worker %u", index);
        return false;
    }
    fill_buffer(worker->buffer, pool->shared.chunk_bytes);
    for (uint32_t i = index; i < pool->shared.streams; i += pool->count)
        worker->streams[worker->count++] = &streams[i];
    worker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    worker->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (worker->epoll_fd < 0 || worker->wake_fd < 0 ||
        epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, worker->wake_fd, &event) != 0) {
        pl_error_set(error, PL_RESOURCES, "workers", errno, "no descriptors for worker %u", index);
        return false;
    }
    int failure = pthread_create(&worker->thread, NULL, pl_worker_run, worker);
    worker->started = failure == 0;
    if (failure != 0)
        pl_error_set(error, PL_RESOURCES, "workers", failure, "cannot start worker %u", index);
    return worker->started;
}

static bool prepare(struct pl_pool *pool, const struct pl_flow *flow, bool sending, struct pl_error *error)
{
    struct pl_shared *shared = &pool->shared;
    atomic_init(&shared->mode, PL_MODE_WAIT);
    atomic_init(&shared->closed, 0);
    atomic_init(&shared->failed_stream, -1);
    atomic_init(&shared->first_byte_ns, 0);
    atomic_init(&shared->counted, 0);
    atomic_init(&shared->capped, false);
    shared->sending = sending;
    shared->streams = (uint32_t)flow->streams;
    shared->chunk_bytes = (size_t)flow->chunk_bytes;
    shared->max_bytes = (uint64_t)flow->max_bytes;
    shared->main_wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    size_t bytes = (size_t)flow->workers * sizeof *pool->workers;
    pool->workers = aligned_alloc(alignof(struct pl_worker), bytes);
    if (shared->main_wake_fd < 0 || pool->workers == NULL) {
        pl_error_set(error, PL_RESOURCES, "workers", errno, "no resources for %lld workers",
                     (long long)flow->workers);
        return false;
    }
    memset(pool->workers, 0, bytes);
    pool->count = (uint32_t)flow->workers;
    for (uint32_t i = 0; i < pool->count; i++)
        pool->workers[i].epoll_fd = pool->workers[i].wake_fd = -1;
    return true;
}

struct pl_pool *pl_pool_start(const struct pl_flow *flow, bool sending, struct pl_stream *streams,
                              struct pl_error *error)
{
    struct pl_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        pl_error_set(error, PL_RESOURCES, "workers", ENOMEM, "no memory for the workers");
        return NULL;
    }
    bool started = prepare(pool, flow, sending, error);
    for (uint32_t i = 0; started && i < pool->count; i++)
        started = prepare_worker(pool, i, streams, error);
    if (started)
        return pool;
    pl_pool_free(pool);
    return NULL;
}

static void set_mode(struct pl_pool *pool, enum pl_pool_mode mode)
{
    /* Modes only go forward: a worker may have gone further by itself, at the limit of bytes. */
    int current = atomic_load(&pool->shared.mode);
    while (current < (int)mode && !atomic_compare_exchange_weak(&pool->shared.mode, &current, (int)mode))
        continue;
    for (uint32_t i = 0; i < pool->count; i++)
        if (pool->workers[i].wake_fd >= 0)
            pl_wake(pool->workers[i].wake_fd);
}

void pl_pool_run(struct pl_pool *pool)
{
    set_mode(pool, PL_MODE_RUN);
}

void pl_pool_shut(struct pl_pool *pool)
{
    set_mode(pool, PL_MODE_SHUT);
}

void pl_pool_join(struct pl_pool *pool)
{
    if (pool->joined)
        return;
    set_mode(pool, PL_MODE_QUIT);
    for (uint32_t i = 0; i < pool->count; i++)
        if (pool->workers[i].started)
            (void)pthread_join(pool->workers[i].thread, NULL);
    pool->joined = true;
}

void pl_pool_free(struct pl_pool *pool)
{
    if (pool == NULL)
        return;
    pl_pool_join(pool);
    for (uint32_t i = 0; i < pool->count; i++) {
        struct pl_worker *worker = &pool->workers[i];
        if (worker->epoll_fd >= 0)
            (void)close(worker->epoll_fd);
        if (worker->wake_fd >= 0)
            (void)close(worker->wake_fd);
        free(worker->streams);
        free(worker->buffer);
    }
    free(pool->workers);
    if (pool->shared.main_wake_fd >= 0)
        (void)close(pool->shared.main_wake_fd);
    free(pool);
}

int pl_pool_fd(const struct pl_pool *pool)
{
    return pool->shared.main_wake_fd;
}

void pl_pool_settle_wake(struct pl_pool *pool)
{
    uint64_t wakes;
    (void)!read(pool->shared.main_wake_fd, &wakes, sizeof wakes);
}

uint32_t pl_pool_closed(const struct pl_pool *pool)
{
    return atomic_load(&pool->shared.closed);
}

int64_t pl_pool_failed_stream(const struct pl_pool *pool)
{
    return atomic_load(&pool->shared.failed_stream);
}

pl_ns pl_pool_first_byte_ns(const struct pl_pool *pool)
{
    return atomic_load(&pool->shared.first_byte_ns);
}

bool pl_pool_capped(const struct pl_pool *pool)
{
    return atomic_load(&pool->shared.capped);
}

uint32_t pl_pool_workers(const struct pl_pool *pool)
{
    return pool->count;
}

struct pl_worker_cpu pl_pool_cpu(const struct pl_pool *pool, uint32_t worker)
{
    const struct pl_worker *of = &pool->workers[worker];
    return (struct pl_worker_cpu){
        .user_ns = atomic_load_explicit(&of->user_ns, memory_order_relaxed),
        .system_ns = atomic_load_explicit(&of->system_ns, memory_order_relaxed),
    };
}
