#include "adapter/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/relaxed.h"
#include "messages/schedule.h"

/* A number that no request of a trial has before 2^32 of them. */
#define FIRST_NUMBER UINT32_MAX
/* A loop that waits looks this often whether the trial was ended. */
#define LOOK_NS (50 * PL_NS_PER_MS)
bool pl_loop_prepare(struct pl_loop *loop, struct pl_loops *all, unsigned stream)
{
    const struct pl_plan *plan = all->plan;
    loop->all = all;
    loop->settings = pl_plan_settings(plan, stream);
    loop->request = malloc((size_t)plan->bytes);
    loop->log = pl_latency_log_create(plan->interval_ns, plan->warmup_ns);
    if (loop->request == NULL || loop->log == NULL)
        return false;
    pl_fill_incompressible(loop->request, (size_t)plan->bytes);
    atomic_store(&loop->asked_ns, pl_now_ns());
    return true;
}

void pl_loop_release(struct pl_loop *loop)
{
    free(loop->request);
    free(loop->log);
}

static void enter(struct pl_loop *loop, enum pl_loop_state state)
{
    atomic_store(&loop->state, (int)state);
    pl_wake(loop->all->wake_fd);
}

/* States what is wrong with a reply, or that there is none (NULL). */
static int fail_reply(struct pl_loop *loop, uint32_t number, const uint8_t *reply, size_t reply_bytes)
{
    char request[32] = "the first request";
    if (atomic_load(&loop->state) != PL_LOOP_FIRST_REPLY)
        (void)snprintf(request, sizeof request, "request %u", number);
    if (reply == NULL)
        return pl_adapter_fail(&loop->error, "reply", "%s failed without a reason", request);
    if (reply_bytes != loop->settings.bytes)
        return pl_adapter_fail(&loop->error, "reply", "%s: a reply of %zu bytes, expected %zu", request,
                               reply_bytes, loop->settings.bytes);
    return pl_adapter_fail(&loop->error, "reply", "%s: a reply with number %u, expected %u", request,
                           pl_get32(reply), number);
}

/* One request and its reply, which stays valid until the next one. When it came, or -1 with the error set. */
static pl_ns ask(struct pl_loop *loop, uint32_t number, const uint8_t **reply)
{
    size_t bytes = loop->settings.bytes;
    size_t reply_bytes = 0;
    *reply = NULL;
    pl_put32(loop->request, number);
    int failed =
        loop->all->adapter->ask(loop->connection, loop->request, bytes, reply, &reply_bytes, &loop->error);
    pl_ns now_ns = pl_now_ns();
    if (failed == 0 && *reply != NULL && reply_bytes == bytes && pl_get32(*reply) == number)
        return now_ns;
    return fail_reply(loop, number, failed == 0 ? *reply : NULL, reply_bytes);
}

/* Compares one reply byte by byte. */
static bool check_first_reply(struct pl_loop *loop)
{
    const uint8_t *reply;
    if (ask(loop, FIRST_NUMBER, &reply) < 0)
        return false;
    for (size_t i = 0; i < loop->settings.bytes; i++)
        if (reply[i] != loop->request[i])
            return pl_adapter_failed(&loop->error, "reply",
                                     "byte %zu of the first reply is 0x%02x, expected 0x%02x", i, reply[i],
                                     loop->request[i]);
    return true;
}

/* The first loop states what it uses. */
static bool describe(struct pl_loop *loop)
{
    struct pl_loops *all = loop->all;
    if (loop->settings.stream != 0)
        return true;
    if (all->adapter->describe != NULL)
        all->adapter->describe(loop->connection, all->versions, sizeof all->versions, all->settings_json,
                               sizeof all->settings_json);
    atomic_store(&loop->asked_ns, pl_now_ns());
    return all->extras == NULL || all->extras->measure_hop == NULL ||
           all->extras->measure_hop(loop->connection, &all->hop_ns, &loop->error) == 0;
}

/* How many requests this stream sends at most. */
static uint64_t find_quota(const struct pl_loop *loop)
{
    const struct pl_plan *plan = loop->all->plan;
    if (plan->requests == 0)
        return UINT64_MAX;
    uint64_t requests = (uint64_t)plan->requests;
    uint64_t streams = (uint64_t)plan->streams;
    return requests / streams + (loop->settings.stream < requests % streams ? 1 : 0);
}

static bool is_over(const struct pl_loop *loop)
{
    return pl_load_relaxed(&loop->all->over);
}

/* Waits until a request is due. False when the trial is over before. */
static bool await_due(struct pl_loop *loop, pl_ns due_ns, pl_ns end_ns, bool *behind)
{
    const struct pl_plan *plan = loop->all->plan;
    pl_ns spun_ns = 0;
    pl_ns now_ns = pl_now_ns();
    while (now_ns < due_ns && !is_over(loop))
        now_ns = pl_wait_until(pl_earlier(due_ns, now_ns + LOOK_NS), &spun_ns);
    if (now_ns >= end_ns && !*behind) {
        *behind = true;
        if (!pl_may_catch_up(plan->warmup_ns + plan->duration_ns, end_ns - due_ns))
            return false;
    }
    if (is_over(loop))
        return false;
    pl_histogram_add(&loop->lateness, now_ns - due_ns);
    /* Whoever sees this may read the lateness of a stream that has stalled. */
    atomic_store_explicit(&loop->asked_ns, now_ns, memory_order_release);
    return true;
}

/* Asks until the trial is over; false with the error set. One after the other, a request is due when the one
 * before has returned. */
static bool ask_all(struct pl_loop *loop, pl_ns run_ns)
{
    const struct pl_plan *plan = loop->all->plan;
    const struct pl_schedule schedule = {
        .start_ns = run_ns, .rate_per_s = plan->rate_per_s, .messages = (uint32_t)plan->streams};
    pl_ns end_ns = plan->requests > 0 ? INT64_MAX : run_ns + plan->warmup_ns + plan->duration_ns;
    uint64_t quota = find_quota(loop);
    bool behind = false;
    pl_ns due_ns = pl_now_ns();
    if (plan->rate_per_s == 0)
        atomic_store(&loop->asked_ns, due_ns);
    for (uint64_t number = 0; number < quota && !is_over(loop); number++) {
        if (plan->rate_per_s > 0)
            due_ns = pl_schedule_due_ns(&schedule, number);
        if (due_ns >= end_ns || (plan->rate_per_s > 0 && !await_due(loop, due_ns, end_ns, &behind)))
            break;
        const uint8_t *reply;
        pl_store_relaxed(&loop->sent, number + 1);
        pl_ns now_ns = ask(loop, (uint32_t)number, &reply);
        if (now_ns < 0)
            return false;
        pl_latency_log_add(loop->log, due_ns - run_ns, now_ns - due_ns);
        pl_store_relaxed(&loop->received, number + 1);
        pl_store_relaxed(&loop->asked_ns, plan->rate_per_s > 0 ? 0 : now_ns);
        due_ns = now_ns;
    }
    atomic_store(&loop->asked_ns, 0);
    return true;
}

static pl_ns await_stage(struct pl_loops *all, enum pl_loop_stage stage)
{
    (void)pthread_mutex_lock(&all->mutex);
    while (all->stage < stage)
        (void)pthread_cond_wait(&all->stage_changed, &all->mutex);
    pl_ns run_ns = all->run_ns;
    (void)pthread_mutex_unlock(&all->mutex);
    return run_ns;
}

void pl_loops_enter(struct pl_loops *loops, enum pl_loop_stage stage, pl_ns run_ns)
{
    (void)pthread_mutex_lock(&loops->mutex);
    loops->stage = stage;
    loops->run_ns = run_ns;
    (void)pthread_cond_broadcast(&loops->stage_changed);
    (void)pthread_mutex_unlock(&loops->mutex);
}

static bool connect_and_check(struct pl_loop *loop)
{
    loop->connection = loop->all->adapter->connect(&loop->settings, &loop->error);
    if (loop->connection == NULL)
        return pl_adapter_failed(&loop->error, "connect", "no connection, without a reason");
    enter(loop, PL_LOOP_FIRST_REPLY);
    if (!check_first_reply(loop))
        return false;
    atomic_store(&loop->asked_ns, 0);
    enter(loop, PL_LOOP_CHECKED);
    (void)await_stage(loop->all, PL_LOOPS_DESCRIBE);
    return describe(loop);
}

void *pl_loop_run(void *argument)
{
    struct pl_loop *loop = argument;
    /* Sleeps for intended times end within a microsecond instead of 50. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    bool good = connect_and_check(loop);
    if (good) {
        atomic_store(&loop->asked_ns, 0);
        enter(loop, PL_LOOP_READY);
        pl_ns run_ns = await_stage(loop->all, PL_LOOPS_RUN);
        enter(loop, PL_LOOP_RUNNING);
        good = ask_all(loop, run_ns);
        pl_latency_log_finish(loop->log);
    }
    enter(loop, good ? PL_LOOP_DONE : PL_LOOP_FAILED);
    (void)await_stage(loop->all, PL_LOOPS_CLOSE);
    if (good) { /* a connection in an unknown state is left to the end of the process */
        loop->all->adapter->close(loop->connection);
        enter(loop, PL_LOOP_CLOSED);
    }
    return NULL;
}
