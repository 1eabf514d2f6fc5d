#include "adapter/asking.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "adapter/records.h"
#include "base/descriptor.h"
#include "base/events.h"
#include "base/json.h"
#include "flow/phases.h"
#include "messages/round_trips.h"

/* For connecting and the first reply together, and for null requests. */
#define CONNECT_S 10
#define SETTLE_NS (200 * PL_NS_PER_MS)  /* for the other loops, after one has failed */
#define LOOK_AGAIN_NS (2 * PL_NS_PER_S) /* at most, between two looks at a reply that is late */

struct asking {
    struct pl_loops all;
    struct pl_loop *loops;
    uint32_t count;
    struct pl_events *events;
    struct pl_round_trips trips;
    struct pl_phases phases;
    struct pl_ask_sample begin; /* of the steady window */
    struct pl_ask_sample end;
    struct pl_json json;
    struct pl_adapter_error error;
    bool written; /* false: the output is gone */
    bool go;
    bool priority_granted;
    bool started;
    const char *reason; /* of an early end */
};

static enum pl_loop_state state_of(const struct pl_loop *loop)
{
    return (enum pl_loop_state)atomic_load(&loop->state);
}

static bool all_reached(const struct asking *asking, enum pl_loop_state state)
{
    for (uint32_t s = 0; s < asking->count; s++)
        if (state_of(&asking->loops[s]) < state)
            return false;
    return true;
}

/* The first failure of a loop becomes the program's. */
static void take_failures(struct asking *asking)
{
    for (uint32_t s = 0; s < asking->count && asking->error.stage[0] == 0; s++)
        if (state_of(&asking->loops[s]) == PL_LOOP_FAILED)
            asking->error = asking->loops[s].error;
}

static void fail_slow(struct asking *asking, const struct pl_loop *loop, pl_ns now_ns, pl_ns asked_ns)
{
    static const char *const awaited[] = {[PL_LOOP_CONNECTING] = "no connection",
                                          [PL_LOOP_FIRST_REPLY] = "no reply to the first request",
                                          [PL_LOOP_CHECKED] = "no replies to null requests"};
    enum pl_loop_state state = state_of(loop);
    if (state < PL_LOOP_READY)
        (void)pl_adapter_fail(&asking->error, state == PL_LOOP_CONNECTING ? "connect" : "stall",
                              "%s within %d s (stream %u)", awaited[state], CONNECT_S, loop->settings.stream);
    else
        (void)pl_adapter_fail(&asking->error, "stall", "no reply for %.3g s, after %llu replies (stream %u)",
                              (double)(now_ns - asked_ns) / 1e9,
                              (unsigned long long)atomic_load(&loop->received), loop->settings.stream);
}

/* Between two looks at a reply that is late: where all threads had no core, it may be there. */
static pl_ns find_look_again_ns(const struct asking *asking)
{
    return pl_earlier(asking->all.plan->stall_ns / 4, LOOK_AGAIN_NS);
}

/* Fails where a reply is awaited for too long, and that is seen twice. When to look next. */
static pl_ns watch(struct asking *asking, pl_ns now_ns)
{
    pl_ns stall_ns = asking->all.plan->stall_ns;
    /* Whatever is requested from now on is late after this. */
    pl_ns next_ns = now_ns + (asking->started ? stall_ns : CONNECT_S * PL_NS_PER_S);
    for (uint32_t s = 0; s < asking->count && asking->error.stage[0] == 0; s++) {
        struct pl_loop *loop = &asking->loops[s];
        pl_ns asked_ns = atomic_load(&loop->asked_ns);
        if (asked_ns == 0 || state_of(loop) == PL_LOOP_FAILED)
            continue;
        pl_ns limit_ns = asked_ns + (state_of(loop) < PL_LOOP_READY ? CONNECT_S * PL_NS_PER_S : stall_ns);
        if (now_ns >= limit_ns) {
            if (loop->slow_asked_ns != asked_ns) {
                loop->slow_asked_ns = asked_ns;
                loop->slow_since_ns = now_ns;
            }
            limit_ns = loop->slow_since_ns + find_look_again_ns(asking);
            if (now_ns >= limit_ns)
                fail_slow(asking, loop, now_ns, asked_ns);
        }
        next_ns = pl_earlier(next_ns, limit_ns);
    }
    return next_ns;
}

/* The CPU time of the program without this thread, and what every stream has received. */
static void take_sample(struct asking *asking, struct pl_ask_sample *sample, pl_ns at_ns)
{
    struct rusage all = {0};
    struct timespec spent = {0};
    (void)getrusage(RUSAGE_SELF, &all);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    sample->taken = true;
    sample->at_ns = at_ns;
    sample->cpu_ns = pl_timespec_ns(&spent) - pl_thread_cpu_ns(pthread_self());
    sample->user_ns = pl_timeval_ns(&all.ru_utime);
    sample->system_ns = pl_timeval_ns(&all.ru_stime);
    const struct pl_asker_extras *extras = asking->all.extras;
    for (uint32_t s = 0; s < asking->count; s++) {
        sample->received[s] = atomic_load(&asking->loops[s].received);
        pl_ns user_ns = 0;
        pl_ns system_ns = 0;
        if (extras != NULL && extras->add_usage != NULL)
            extras->add_usage(asking->loops[s].connection, &user_ns, &system_ns);
        sample->cpu_ns += user_ns + system_ns;
        sample->user_ns += user_ns;
        sample->system_ns += system_ns;
    }
}

static void collect(struct asking *asking)
{
    for (uint32_t s = 0; s < asking->count; s++)
        asking->written =
            pl_round_trips_collect(&asking->trips, asking->loops[s].log, s, &asking->json) && asking->written;
}

/* Closes the interval that is over, and samples where a phase ends with it. */
static void tick(struct asking *asking, pl_ns now_ns)
{
    pl_ns at_ns = now_ns - asking->all.run_ns;
    enum pl_phase before = asking->phases.current;
    (void)pl_phases_close(&asking->phases, at_ns);
    enum pl_phase after = asking->phases.current;
    if (before == PL_WARMUP && after != PL_WARMUP)
        take_sample(asking, &asking->begin, at_ns);
    if (before != PL_DRAIN && after == PL_DRAIN)
        take_sample(asking, &asking->end, at_ns);
    collect(asking);
}

/* Waits for one event: a command, a loop's change of state, the end of an interval, of patience, or of
 * `deadline_ns`. */
static void step(struct asking *asking, pl_ns deadline_ns)
{
    pl_ns now_ns = pl_now_ns();
    deadline_ns = pl_earlier(deadline_ns, watch(asking, now_ns));
    if (asking->started)
        deadline_ns = pl_earlier(deadline_ns, asking->all.run_ns + pl_phases_next_ns(&asking->phases));
    struct pl_wait wait = {.deadline_ns = deadline_ns, .fds = {asking->all.wake_fd, -1}};
    enum pl_command command = pl_events_wait(asking->events, &wait);
    asking->go = asking->go || command == PL_COMMAND_GO;
    if (pl_command_ends(command) && asking->reason == NULL)
        asking->reason = pl_command_reason(command);
    if (wait.ready[0])
        pl_clear_wake(asking->all.wake_fd);
    now_ns = pl_now_ns();
    if (asking->started && now_ns >= asking->all.run_ns + pl_phases_next_ns(&asking->phases))
        tick(asking, now_ns);
}

static bool goes_on(struct asking *asking)
{
    take_failures(asking);
    return asking->error.stage[0] == 0 && asking->written;
}

/* Affinity of the whole process, and real-time priority, both inherited by all threads and programs that are
 * started later. This thread gets the next higher priority, after the loops were started. */
static bool set_scheduling(struct asking *asking)
{
    const struct pl_plan *plan = asking->all.plan;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (unsigned core = 0; core < PL_PLAN_CORES; core++)
        if (plan->cores[core])
            CPU_SET(core, &cores);
    if (CPU_COUNT(&cores) > 0 && sched_setaffinity(0, sizeof cores, &cores) != 0)
        return pl_adapter_failed(&asking->error, "limit", "the program cannot run on the given cores: %s",
                                 strerror(errno));
    const struct sched_param real_time = {.sched_priority = (int)plan->priority};
    /* musl has no sched_setscheduler(): it fails with ENOSYS. */
    asking->priority_granted =
        plan->priority > 0 && pthread_setschedparam(pthread_self(), SCHED_FIFO, &real_time) == 0;
    return true;
}

static bool start_loops(struct asking *asking)
{
    for (; asking->count < (uint32_t)asking->all.plan->streams; asking->count++) {
        struct pl_loop *loop = &asking->loops[asking->count];
        if (!pl_loop_prepare(loop, &asking->all, asking->count)) {
            pl_loop_release(loop);
            return pl_adapter_failed(&asking->error, "limit", "no memory for %lld streams",
                                     (long long)asking->all.plan->streams);
        }
        int cause = pthread_create(&loop->thread, NULL, pl_loop_run, loop);
        if (cause != 0) {
            pl_loop_release(loop);
            return pl_adapter_failed(&asking->error, "limit", "no thread for stream %u: %s", asking->count,
                                     strerror(cause));
        }
    }
    const struct sched_param above = {.sched_priority = (int)asking->all.plan->priority + 1};
    if (asking->priority_granted)
        (void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &above);
    return true;
}

static bool prepare(struct asking *asking)
{
    size_t streams = (size_t)asking->all.plan->streams;
    struct pl_error error = {0};
    asking->all.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    asking->events = pl_events_open("stdin", &error);
    asking->loops = calloc(streams, sizeof *asking->loops);
    asking->begin.received = calloc(streams, sizeof *asking->begin.received);
    asking->end.received = calloc(streams, sizeof *asking->end.received);
    if (asking->all.wake_fd >= 0 && asking->events != NULL && asking->loops != NULL &&
        asking->begin.received != NULL && asking->end.received != NULL)
        return true;
    return pl_adapter_failed(&asking->error, "limit", "no memory or descriptors for %zu streams", streams);
}

/* Starts the trial of loops that are ready. */
static void start(struct asking *asking)
{
    const struct pl_plan *plan = asking->all.plan;
    bool by_time = plan->requests == 0;
    asking->trips.warmup_ns = plan->warmup_ns;
    asking->trips.steady_end_ns = by_time ? plan->warmup_ns + plan->duration_ns : INT64_MAX;
    pl_phases_begin(&asking->phases, plan->interval_ns, plan->warmup_ns,
                    by_time ? plan->duration_ns : PL_UNPLANNED_NS);
    if (plan->warmup_ns == 0)
        take_sample(asking, &asking->begin, 0);
    pl_ns run_ns = pl_now_ns();
    asking->started = true;
    pl_loops_enter(&asking->all, PL_LOOPS_RUN, run_ns);
    asking->written = pl_adapter_write_start(&asking->json, run_ns);
}

/* Ends what still runs and waits for it: as long as for a reply, and shortly after a failure. */
static void settle(struct asking *asking)
{
    atomic_store(&asking->all.over, true);
    /* A second look more than watch() needs, which names the stream that has stalled. */
    pl_ns deadline_ns = pl_now_ns() + asking->all.plan->stall_ns + 2 * find_look_again_ns(asking);
    bool failed = false;
    while (asking->written && !all_reached(asking, PL_LOOP_DONE) && pl_now_ns() < deadline_ns) {
        if (!goes_on(asking) && !failed) {
            failed = true;
            deadline_ns = pl_earlier(deadline_ns, pl_now_ns() + SETTLE_NS);
        }
        step(asking, deadline_ns);
    }
    take_failures(asking);
    if (asking->begin.taken && !asking->end.taken)
        take_sample(asking, &asking->end, pl_now_ns() - asking->all.run_ns);
    collect(asking); /* a stalled loop's open interval is not complete, and not touched */
}

static void write_result(struct asking *asking)
{
    const struct pl_histogram *lateness = NULL;
    if (asking->all.plan->rate_per_s > 0) {
        for (uint32_t s = 1; s < asking->count; s++)
            pl_histogram_merge(&asking->loops[0].lateness, &asking->loops[s].lateness);
        lateness = &asking->loops[0].lateness;
    }
    const struct pl_ask_result result = {.loops = asking->loops,
                                         .trips = &asking->trips,
                                         .lateness = lateness,
                                         .begin = asking->begin.taken ? &asking->begin : NULL,
                                         .end = asking->end.taken ? &asking->end : NULL,
                                         .streams = asking->count,
                                         .reason = asking->reason};
    asking->written = pl_adapter_write_ask_result(&asking->json, &result) && asking->written;
}

/* Whether all loops have reached a state before a failure or a command that ends the trial. */
static bool await_all(struct asking *asking, enum pl_loop_state state)
{
    while (goes_on(asking) && asking->reason == NULL && !all_reached(asking, state))
        step(asking, PL_NEVER);
    return goes_on(asking) && asking->reason == NULL;
}

static void run(struct asking *asking)
{
    if (!await_all(asking, PL_LOOP_CHECKED))
        return;
    pl_loops_enter(&asking->all, PL_LOOPS_DESCRIBE, 0);
    if (!await_all(asking, PL_LOOP_READY))
        return;
    asking->written = pl_adapter_write_ready(&asking->json, &asking->all, asking->priority_granted);
    while (goes_on(asking) && asking->reason == NULL && !asking->go)
        step(asking, PL_NEVER);
    if (!goes_on(asking) || asking->reason != NULL)
        return;
    start(asking);
    (void)await_all(asking, PL_LOOP_DONE);
}

/* Joins and frees what ended in order; true when everything did. */
static bool close_all(struct asking *asking)
{
    pl_ns deadline_ns = pl_now_ns() + asking->all.plan->stall_ns;
    if (asking->error.stage[0] != 0 || !all_reached(asking, PL_LOOP_DONE))
        return false;
    pl_loops_enter(&asking->all, PL_LOOPS_CLOSE, asking->all.run_ns);
    while (!all_reached(asking, PL_LOOP_CLOSED) && pl_now_ns() < deadline_ns) {
        struct pl_wait wait = {.deadline_ns = deadline_ns, .fds = {asking->all.wake_fd, -1}};
        (void)pl_events_wait(asking->events, &wait);
        if (wait.ready[0])
            pl_clear_wake(asking->all.wake_fd);
    }
    if (!all_reached(asking, PL_LOOP_CLOSED))
        return false;
    for (uint32_t s = 0; s < asking->count; s++) {
        (void)pthread_join(asking->loops[s].thread, NULL);
        pl_loop_release(&asking->loops[s]);
    }
    return true;
}

static void release(struct asking *asking)
{
    pl_close(asking->all.wake_fd);
    pl_events_close(asking->events);
    free(asking->loops);
    free(asking->begin.received);
    free(asking->end.received);
    pl_json_release(&asking->json);
}

enum pl_status pl_asking_run(const struct pl_adapter *adapter, const struct pl_asker_extras *extras,
                             const struct pl_plan *plan)
{
    /* Threads that hang in a library may use it until the process ends, so it is not on the stack. */
    static struct asking asking;
    asking = (struct asking){.all = {.adapter = adapter,
                                     .extras = extras,
                                     .plan = plan,
                                     .mutex = PTHREAD_MUTEX_INITIALIZER,
                                     .stage_changed = PTHREAD_COND_INITIALIZER,
                                     .hop_ns = -1},
                             .written = true};
    enum pl_status status = PL_OK;
    if (prepare(&asking) && set_scheduling(&asking) && start_loops(&asking))
        run(&asking);
    if (asking.started)
        settle(&asking);
    if (asking.error.stage[0] != 0) {
        status = pl_adapter_write_error(plan->name, &asking.error);
        asking.reason = asking.error.text;
    } else if (asking.reason != NULL) {
        status = PL_ENDED;
    }
    if (asking.started || status == PL_ENDED)
        write_result(&asking);
    if (!asking.written)
        status = PL_RESOURCES;
    if (close_all(&asking))
        release(&asking);
    return status;
}
