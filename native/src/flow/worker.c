#include "flow/worker.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/relaxed.h"
#include "flow/flow_kind.h"
#include "flow/run_queue.h"

void pl_worker_publish(struct pl_worker *worker, pl_ns now_ns)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        pl_store_relaxed(&worker->user_ns, pl_timeval_ns(&usage.ru_utime));
        pl_store_relaxed(&worker->system_ns, pl_timeval_ns(&usage.ru_stime));
    }
    pl_store_relaxed(&worker->waiting_ns, pl_run_queue_waiting_ns(worker->schedule_fd));
    pl_store_relaxed(&worker->system_calls, worker->calls);
    worker->published_ns = now_ns;
}

/* Lets the main thread read the CPU time of this thread, which publishes nothing while it waits in a call. */
static void show_cpu_clock(struct pl_worker *worker)
{
    clockid_t clock;
    if (pthread_getcpuclockid(pthread_self(), &clock) == 0)
        atomic_store(&worker->cpu_clock, clock);
}

void *pl_worker_main(void *argument)
{
    struct pl_worker *worker = argument;
    const struct pl_flow_kind *kind = worker->shared->kind;
    struct pollfd wake = {.fd = worker->wake_fd, .events = POLLIN};
    int mode;
    while ((mode = atomic_load(&worker->shared->mode)) == PL_MODE_WAIT)
        (void)poll(&wake, 1, -1);
    if (mode == PL_MODE_QUIT)
        return NULL;
    /* Opened as late as this, because the other workers' pipes have precedence where descriptors are scarce.
     */
    worker->schedule_fd = pl_run_queue_open();
    pl_worker_publish(worker, pl_now_ns());
    if (kind->long_calls) {
        /* Sleeps for intended times end within a microsecond instead of 50. */
        (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
        show_cpu_clock(worker);
    }
    kind->run(worker);
    pl_worker_publish(worker, pl_now_ns());
    atomic_store(&worker->cpu_clock, 0);
    return NULL;
}

void pl_worker_record_first_byte(struct pl_worker *worker, pl_ns now_ns)
{
    int64_t none = 0;
    if (worker->first_byte_seen)
        return;
    worker->first_byte_seen = true;
    if (atomic_compare_exchange_strong(&worker->shared->first_byte_ns, &none, now_ns))
        pl_wake(worker->shared->main_wake_fd);
}

void pl_worker_note_exhausted(struct pl_worker *worker, uint32_t streams)
{
    struct pl_shared *shared = worker->shared;
    if (atomic_fetch_add(&shared->exhausted, streams) + streams == shared->streams)
        pl_wake(shared->main_wake_fd);
}

void pl_worker_close(struct pl_worker *worker, struct pl_stream *stream, int failure)
{
    struct pl_shared *shared = worker->shared;
    (void)epoll_ctl(worker->epoll_fd, EPOLL_CTL_DEL, stream->fd, NULL);
    worker->calls++;
    if (failure != 0) {
        int64_t none = -1;
        atomic_store(&stream->failure, failure);
        (void)atomic_compare_exchange_strong(&shared->failed_stream, &none, (int64_t)stream->number);
    }
    atomic_store(&stream->state, failure != 0 ? PL_STREAM_FAILED : PL_STREAM_ENDED);
    if (atomic_fetch_add(&shared->closed, 1) + 1 == shared->streams || failure != 0)
        pl_wake(shared->main_wake_fd);
}

bool pl_worker_count(struct pl_worker *worker, size_t bytes)
{
    struct pl_shared *shared = worker->shared;
    if (shared->max_bytes == 0 || atomic_fetch_add(&shared->counted, bytes) + bytes < shared->max_bytes)
        return true;
    int running = PL_MODE_RUN;
    if (atomic_compare_exchange_strong(&shared->mode, &running,
                                       shared->receives ? PL_MODE_QUIT : PL_MODE_SHUT)) {
        atomic_store(&shared->capped, true);
        pl_wake(shared->main_wake_fd);
    }
    return false;
}
