#include "flow/pool.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/relaxed.h"
#include "flow/flow_kind.h"
#include "flow/priority.h"
#include "flow/sockopts.h"
#include "flow/worker.h"

/* The threads need little stack; the default of 8 MiB each would count against the memory limit. */
#define STACK_BYTES (256 << 10)
/* The pattern of random bytes that fills a pipe. */
#define PIPE_FILL_BYTES (64 << 10)
#define KICK_NS (1 * PL_NS_PER_MS)

struct pl_pool {
    struct pl_shared shared;
    struct pl_worker *workers;
    uint32_t count;
    uint32_t lanes; /* shares of the streams, of which each has a worker, or one for each direction */
    bool joined;
    bool zero_copy; /* requested */
    bool spliced;   /* the pipes are open */
    const char *reason;
    struct pl_priority priority;
};

/* Prepares the bytes to send. For splicing they are in a pipe; the buffer serves a socket that does not
 * support splice. */
static bool prepare_data(struct pl_pool *pool, struct pl_worker *worker, struct pl_error *error)
{
    const struct pl_shared *shared = &pool->shared;
    worker->pipeline = PL_PIPELINE_CLOSED;
    worker->read_buffer = malloc(shared->read_bytes);
    bool writes = shared->transmits && !shared->kind->own_data;
    worker->write_buffer = writes ? malloc(shared->write_bytes) : NULL;
    if (worker->read_buffer == NULL || (writes && worker->write_buffer == NULL))
        return pl_error_set(error, PL_RESOURCES, "workers", ENOMEM, "no memory for the buffers of a worker");
    if (!writes)
        return true;
    pl_fill_incompressible(worker->write_buffer, shared->write_bytes);
    if (!pool->zero_copy)
        return true;
    size_t fill = shared->write_bytes < PIPE_FILL_BYTES ? shared->write_bytes : PIPE_FILL_BYTES;
    if (!pl_pipeline_open(&worker->pipeline, worker->write_buffer, fill)) {
        pool->spliced = false;
        pool->reason = "no pipes to splice from";
        pl_pipeline_close(&worker->pipeline);
    }
    return true;
}

static bool start_thread(struct pl_worker *worker)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int failure = pthread_create(&worker->thread, &attributes, pl_worker_main, worker);
    (void)pthread_attr_destroy(&attributes);
    errno = failure;
    return failure == 0;
}

/* Pins a running thread, since not every C library has the attribute for it. */
static bool pin_thread(const struct pl_worker *worker)
{
    cpu_set_t pinned;
    if (worker->core < 0)
        return true;
    CPU_ZERO(&pinned);
    CPU_SET((size_t)worker->core, &pinned);
    errno = pthread_setaffinity_np(worker->thread, sizeof pinned, &pinned);
    return errno == 0;
}

static bool prepare_worker(struct pl_pool *pool, const struct pl_flow *flow, uint32_t index,
                           struct pl_stream *streams, struct pl_error *error)
{
    struct pl_worker *worker = &pool->workers[index];
    const uint32_t lanes = pool->lanes;
    worker->streams = calloc(pool->shared.streams / lanes + 1, sizeof(struct pl_stream *));
    if (worker->streams == NULL)
        return pl_error_set(error, PL_RESOURCES, "workers", ENOMEM, "no memory for worker %u", index);
    for (uint32_t i = index % lanes % pool->shared.streams; i < pool->shared.streams; i += lanes)
        worker->streams[worker->count++] = &streams[i];
    uint32_t turn = PL_TURNS_OF_ALL / (worker->count > 0 ? worker->count : 1);
    worker->turn = turn < 1 ? 1 : turn > PL_TURN_MAX ? PL_TURN_MAX : (int)turn;
    if (!prepare_data(pool, worker, error))
        return false;
    const struct pl_flow_kind *kind = pool->shared.kind;
    if (kind->prepare_worker != NULL && !kind->prepare_worker(worker, flow, index, lanes, error))
        return false;
    worker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    worker->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (worker->epoll_fd < 0 || worker->wake_fd < 0 ||
        epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, worker->wake_fd, &event) != 0)
        return pl_error_set(error, PL_RESOURCES, "workers", errno, "no descriptors for worker %u", index);
    worker->started = start_thread(worker);
    if (!worker->started)
        pl_error_set(error, PL_RESOURCES, "workers", errno, "cannot start worker %u", index);
    else if (!pin_thread(worker))
        pl_error_set(error, PL_SETUP, "workers", errno, "cannot pin worker %u to core %d", index,
                     worker->core);
    else
        return true;
    return false;
}

static void describe_work(struct pl_pool *pool, const struct pl_flow *flow)
{
    struct pl_shared *shared = &pool->shared;
    atomic_init(&shared->failed_stream, -1);
    shared->kind = flow->kind;
    shared->messages = flow->messages.bytes > 0 ? &flow->messages : NULL;
    shared->offered_ns = flow->warmup_ns + flow->duration_ns;
    shared->datagrams = flow->datagrams.carried ? &flow->datagrams : NULL;
    shared->warmup_ns = flow->warmup_ns;
    shared->drain_timeout_ns = flow->drain_timeout_ns;
    shared->accepting = flow->accepting;
    shared->transmits = flow->transmits;
    shared->receives = flow->receives;
    shared->half_closes = flow->transport != PL_SCTP;
    shared->streams = (uint32_t)flow->streams;
    shared->write_bytes = (size_t)flow->write_bytes;
    shared->read_bytes = (size_t)flow->read_bytes;
    shared->max_bytes = (uint64_t)flow->volume_limit_bytes;
    pool->zero_copy = flow->zero_copy;
    pool->spliced = flow->zero_copy && flow->transmits;
    shared->discards = flow->zero_copy && pl_transport_is_tcp(flow->transport);
    if (flow->zero_copy && flow->receives && !shared->discards)
        pool->reason = "only TCP can discard received bytes in the kernel";
    if (flow->pacing == PL_PACING_USER)
        shared->user_rate_bits_per_s = pl_flow_stream_rate(flow);
}

static bool prepare(struct pl_pool *pool, const struct pl_flow *flow, struct pl_error *error)
{
    describe_work(pool, flow);
    pool->shared.main_wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    pool->lanes = (uint32_t)flow->workers;
    const struct pl_flow_kind *kind = pool->shared.kind;
    uint32_t count = pool->lanes * (kind->count_threads != NULL ? kind->count_threads(flow) : 1);
    size_t bytes = count * sizeof *pool->workers;
    pool->workers = aligned_alloc(alignof(struct pl_worker), bytes);
    if (pool->shared.main_wake_fd < 0 || pool->workers == NULL)
        return pl_error_set(error, PL_RESOURCES, "workers", errno, "no resources for %u workers", count);
    memset(pool->workers, 0, bytes);
    pool->count = count;
    for (uint32_t i = 0; i < pool->count; i++) {
        struct pl_worker *worker = &pool->workers[i];
        worker->epoll_fd = worker->wake_fd = worker->schedule_fd = -1;
        atomic_init(&worker->waiting_ns, -1);
        worker->pipeline = PL_PIPELINE_CLOSED;
        worker->shared = &pool->shared;
        worker->applied_mode = PL_MODE_WAIT;
        worker->core = flow->core_count > 0 ? flow->cores[i % flow->core_count] : -1;
    }
    return true;
}

/* Pinning to a core outside the process's affinity would silently do nothing. */
static bool check_cores(const struct pl_flow *flow, struct pl_error *error)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (flow->core_count > 0 && sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return true;
    for (size_t i = 0; i < flow->core_count; i++)
        if (!CPU_ISSET((size_t)flow->cores[i], &allowed))
            return pl_error_set(error, PL_SETUP, "workers", 0,
                                "--pin: core %d is not available to this process", flow->cores[i]);
    return true;
}

static bool prepare_streams(const struct pl_flow *flow, struct pl_stream *streams, struct pl_error *error)
{
    const struct pl_flow_kind *kind = flow->kind;
    for (uint32_t i = 0; flow->transmits && i < (uint32_t)flow->streams; i++) {
        if (flow->bytes > 0)
            streams[i].quota_bytes = pl_flow_stream_bytes(flow, i);
        if (kind->prepare_stream != NULL && !kind->prepare_stream(flow, &streams[i], error))
            return false;
    }
    return true;
}

struct pl_pool *pl_pool_start(const struct pl_flow *flow, struct pl_stream *streams, struct pl_error *error)
{
    struct pl_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        pl_error_set(error, PL_RESOURCES, "workers", ENOMEM, "no memory for the workers");
        return NULL;
    }
    pool->shared.main_wake_fd = -1;
    bool started = check_cores(flow, error) && pl_priority_check(&flow->messages, error) &&
                   prepare_streams(flow, streams, error) && prepare(pool, flow, error);
    for (uint32_t i = 0; started && i < pool->count; i++)
        started = prepare_worker(pool, flow, i, streams, error);
    /* When one worker has no pipes, the others, which still wait for their mode, copy as well, so that one
     * transfer holds for all. */
    for (uint32_t i = 0; started && !pool->spliced && i < pool->count; i++)
        pl_pipeline_close(&pool->workers[i].pipeline);
    if (started) {
        pl_priority_grant(&pool->priority, pool->workers, pool->count, flow->messages.priority);
        return pool;
    }
    pl_pool_free(pool);
    return NULL;
}

static void set_mode(struct pl_pool *pool, enum pl_pool_mode mode)
{
    /* Modes only advance: a worker may already have advanced it at the limit of bytes. */
    int current = atomic_load(&pool->shared.mode);
    while (current < (int)mode && !atomic_compare_exchange_weak(&pool->shared.mode, &current, (int)mode))
        continue;
    for (uint32_t i = 0; i < pool->count; i++) {
        if (pool->workers[i].wake_fd >= 0)
            pl_wake(pool->workers[i].wake_fd);
        if (pool->shared.kind->kick != NULL)
            pool->shared.kind->kick(&pool->workers[i]);
    }
}

pl_ns pl_pool_run(struct pl_pool *pool)
{
    pl_ns now_ns = pl_now_ns();
    atomic_store(&pool->shared.run_ns, now_ns);
    set_mode(pool, PL_MODE_RUN);
    return now_ns;
}

void pl_pool_shut(struct pl_pool *pool)
{
    set_mode(pool, PL_MODE_SHUT);
}

/* A thread that was just about to wait misses a kick, so it is kicked until it has ended. */
static void join(const struct pl_pool *pool, const struct pl_worker *worker)
{
    const struct timespec step = {.tv_nsec = KICK_NS};
    void (*kick)(const struct pl_worker *) = pool->shared.kind->kick;
    while (kick != NULL && pthread_tryjoin_np(worker->thread, NULL) == EBUSY) {
        kick(worker);
        (void)nanosleep(&step, NULL);
    }
    if (kick == NULL)
        (void)pthread_join(worker->thread, NULL);
}

void pl_pool_join(struct pl_pool *pool)
{
    if (pool->joined)
        return;
    set_mode(pool, PL_MODE_QUIT);
    for (uint32_t i = 0; i < pool->count; i++)
        if (pool->workers[i].started)
            join(pool, &pool->workers[i]);
    pool->joined = true;
}

void pl_pool_free(struct pl_pool *pool)
{
    if (pool == NULL)
        return;
    pl_pool_join(pool);
    pl_priority_restore(&pool->priority);
    for (uint32_t i = 0; i < pool->count; i++) {
        struct pl_worker *worker = &pool->workers[i];
        pl_close(worker->epoll_fd);
        pl_close(worker->wake_fd);
        pl_close(worker->schedule_fd);
        free(worker->streams);
        free(worker->pacing_errors);
        free(worker->state);
        pl_pipeline_close(&worker->pipeline);
        free(worker->read_buffer);
        free(worker->write_buffer);
    }
    free(pool->workers);
    pl_close(pool->shared.main_wake_fd);
    free(pool);
}

int pl_pool_fd(const struct pl_pool *pool)
{
    return pool->shared.main_wake_fd;
}

void pl_pool_clear_wake(struct pl_pool *pool)
{
    pl_clear_wake(pool->shared.main_wake_fd);
}

struct pl_pool_state pl_pool_state(const struct pl_pool *pool)
{
    const struct pl_shared *shared = &pool->shared;
    return (struct pl_pool_state){
        .closed = atomic_load(&shared->closed),
        .exhausted = atomic_load(&shared->exhausted) == shared->streams,
        .failed_stream = atomic_load(&shared->failed_stream),
        .first_byte_ns = atomic_load(&shared->first_byte_ns),
        .capped = atomic_load(&shared->capped),
    };
}

void pl_pool_merge_pacing_errors(const struct pl_pool *pool, struct pl_pacing_errors *into)
{
    for (uint32_t i = 0; i < pool->count; i++) {
        const struct pl_pacing_errors *errors = pool->workers[i].pacing_errors;
        if (errors == NULL)
            continue;
        pl_histogram_merge(&into->error_ns, &errors->error_ns);
        pl_histogram_merge(&into->call_ns, &errors->call_ns);
    }
}

uint32_t pl_pool_workers(const struct pl_pool *pool)
{
    return pool->count;
}

struct pl_worker_usage pl_pool_usage(const struct pl_pool *pool, uint32_t worker)
{
    const struct pl_worker *of = &pool->workers[worker];
    struct pl_worker_usage usage = {
        .user_ns = pl_load_relaxed(&of->user_ns),
        .system_ns = pl_load_relaxed(&of->system_ns),
        .waiting_ns = pl_load_relaxed(&of->waiting_ns),
        .wake_ups = pl_load_relaxed(&of->wake_ups),
        .spun_ns = pl_load_relaxed(&of->spun_ns),
        .system_calls = pl_load_relaxed(&of->system_calls),
    };
    struct timespec spent;
    clockid_t clock = (clockid_t)atomic_load(&of->cpu_clock);
    if (clock != 0 && clock_gettime(clock, &spent) == 0) {
        int64_t rest_ns = spent.tv_sec * PL_NS_PER_S + spent.tv_nsec - usage.user_ns - usage.system_ns;
        usage.system_ns += rest_ns > 0 ? rest_ns : 0; /* it is spent in a call, or soon published */
    }
    return usage;
}

int64_t pl_pool_priority(const struct pl_pool *pool)
{
    return pool->priority.granted;
}

int pl_pool_core(const struct pl_pool *pool, uint32_t worker)
{
    return pool->workers[worker].core;
}

struct pl_transfer pl_pool_transfer(const struct pl_pool *pool)
{
    const struct pl_shared *shared = &pool->shared;
    struct pl_transfer transfer = {.reason = pool->reason};
    bool spliced = pool->spliced && atomic_load(&shared->splice_failure) == 0;
    if (shared->transmits)
        transfer.send = spliced ? "splice" : "copy";
    if (shared->receives)
        transfer.receive = shared->discards ? "truncate" : "copy";
    if (pool->spliced && !spliced)
        transfer.reason = "this kind of socket does not support splice";
    return transfer;
}
