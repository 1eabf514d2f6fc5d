/* The engine's round trips and the harness's loop, by one scripted clock: the same durations make the same
 * intervals and histograms, one after the other and at an offered rate. Time passes in the transport alone.
 *
 * The sources are part of this file, so that their clock, their transport and their waits are the scripted
 * ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define pl_now_ns scripted_now_ns
#define pl_wait_until scripted_wait_until
#define pl_channel_read scripted_read
#define pl_channel_try_read scripted_try_read
#define pl_channel_end_writing scripted_end_writing
#define pl_role_send_batch scripted_send_batch
#define pl_role_sends scripted_sends
#define pl_role_is_over scripted_is_over
#define pl_role_find_quota scripted_find_quota
#define pl_role_tick scripted_tick
#define pl_role_count_received scripted_count_received
#define pl_role_publish_sequence scripted_publish_sequence
#define pl_role_end_stream scripted_end_stream
#define pl_pace_begin scripted_pace_begin
#define pl_pace_step scripted_pace_step
#define pl_pace_finish scripted_pace_finish
#define pl_asker_run engine_asker_run
#define pl_receiver_run engine_receiver_run
#define pl_poller_run engine_poller_run
#define pl_reader_take engine_reader_take
#define pl_reader_step engine_reader_step
#define pl_reader_run engine_reader_run
#define pl_loop_prepare harness_loop_prepare
#define pl_loop_release harness_loop_release
#define pl_loop_run harness_loop_run
#define pl_loops_enter harness_loops_enter
#define ask engine_ask
#include "messages/message_reader.c"
#include "messages/requests.c"
#undef ask
#undef FIRST_NUMBER
#include "adapter/loop.c"

#include "check.h"

enum { BYTES = 64, ROUND_TRIPS = 400 };
#define INTERVAL_NS (10 * PL_NS_PER_MS)
#define WARMUP_NS (15 * PL_NS_PER_MS)
#define DURATION_NS (25 * PL_NS_PER_MS)
#define START_NS (7 * PL_NS_PER_S)

/* The clock and the transport of either side. */
static struct {
    pl_ns now_ns;
    uint64_t asked; /* round trips so far */
    pl_ns durations_ns[ROUND_TRIPS];
    uint8_t message[BYTES];
    struct pl_schedule schedule; /* of the engine's receiver */
    uint64_t returned;
    uint64_t count; /* that it receives */
} script;

/* Short ones, some of several intervals, one that is over the end of the warm-up. */
static void write_script(void)
{
    memset(&script, 0, sizeof script);
    script.now_ns = START_NS;
    for (uint64_t i = 0; i < ROUND_TRIPS; i++)
        script.durations_ns[i] = 20000 + (pl_ns)(i * i * 7919 % 400000);
    script.durations_ns[40] = 3 * PL_NS_PER_MS;
    script.durations_ns[60] = 12 * PL_NS_PER_MS;
}

pl_ns scripted_now_ns(void)
{
    return script.now_ns;
}

pl_ns scripted_wait_until(pl_ns due_ns, pl_ns *spun_ns)
{
    (void)spun_ns;
    script.now_ns = due_ns > script.now_ns ? due_ns : script.now_ns;
    return script.now_ns;
}

static void pass_round_trip(void)
{
    script.now_ns += script.durations_ns[script.asked++ % ROUND_TRIPS];
}

int scripted_send_batch(struct pl_worker *worker, struct pl_stream *stream)
{
    (void)worker;
    memcpy(script.message, stream->endpoint->batch.data, BYTES);
    pl_batch_clear(&stream->endpoint->batch);
    script.returned = 0;
    return 0;
}

/* One after the other: what was sent, once. At a rate: the next message of the schedule. */
ssize_t scripted_read(struct pl_channel *channel, uint8_t *data, size_t room, pl_ns deadline_ns)
{
    (void)channel;
    (void)deadline_ns;
    CHECK(room >= BYTES);
    if (script.count > 0) {
        if (script.returned == script.count)
            return 0;
        (void)scripted_wait_until(pl_schedule_due_ns(&script.schedule, script.returned), NULL);
        pl_put32(script.message, (uint32_t)script.returned);
    } else if (script.returned > 0) {
        return 0;
    }
    script.returned++;
    pass_round_trip();
    memcpy(data, script.message, BYTES);
    return BYTES;
}

ssize_t scripted_try_read(struct pl_channel *channel, uint8_t *data, size_t room)
{
    return scripted_read(channel, data, room, PL_NEVER);
}

void scripted_end_writing(struct pl_channel *channel)
{
    (void)channel;
    script.returned = 1;
}

bool scripted_sends(const struct pl_worker *worker)
{
    (void)worker;
    return script.now_ns < START_NS + WARMUP_NS + DURATION_NS;
}

bool scripted_is_over(const void *worker)
{
    (void)worker;
    return false;
}

uint64_t scripted_find_quota(const struct pl_worker *worker, const struct pl_stream *stream)
{
    (void)worker;
    (void)stream;
    return 1;
}

void scripted_tick(struct pl_worker *worker, pl_ns now_ns)
{
    (void)worker;
    (void)now_ns;
}

void scripted_count_received(struct pl_worker *worker, struct pl_stream *stream, size_t bytes, pl_ns now_ns)
{
    (void)worker;
    (void)stream;
    CHECK_EQUAL(bytes, BYTES);
    CHECK_EQUAL(now_ns, script.now_ns);
}

void scripted_publish_sequence(struct pl_endpoint *endpoint)
{
    CHECK_EQUAL(endpoint->sequence.missing, 0);
}

void scripted_end_stream(struct pl_worker *worker, struct pl_stream *stream, int cause)
{
    (void)worker;
    (void)stream;
    CHECK_EQUAL(cause, 0);
}

struct pl_pace scripted_pace_begin(const struct pl_worker *worker)
{
    (void)worker;
    return (struct pl_pace){.schedule = script.schedule};
}

pl_ns scripted_pace_step(struct pl_pace *pace, struct pl_worker *worker, pl_ns now_ns, uint64_t most,
                         int *cause, uint32_t *failed)
{
    (void)pace;
    (void)worker;
    (void)now_ns;
    (void)most;
    (void)cause;
    (void)failed;
    return PL_NEVER;
}

int scripted_pace_finish(struct pl_pace *pace, struct pl_worker *worker, int cause, uint32_t *failed)
{
    (void)pace;
    (void)worker;
    (void)failed;
    return cause;
}

/* The engine's role over the script; free the log. */
static struct pl_latency_log *run_engine(void (*role)(struct pl_worker *))
{
    static uint8_t read_buffer[PL_MESSAGE_READ_BYTES];
    static uint8_t content[BYTES];
    const struct pl_message_settings settings = {
        .bytes = BYTES, .encoding = PL_ENCODING_FIXED, .replies = true};
    struct pl_shared shared = {.messages = &settings, .streams = 1};
    struct pl_endpoint *endpoint = aligned_alloc(128, (sizeof *endpoint + 127) / 128 * 128);
    CHECK(endpoint != NULL);
    if (endpoint == NULL)
        return NULL;
    memset(endpoint, 0, sizeof *endpoint);
    endpoint->round_trips = pl_latency_log_create(INTERVAL_NS, WARMUP_NS);
    CHECK(pl_batch_open(&endpoint->batch, &settings, content));
    struct pl_stream stream = {.endpoint = endpoint, .fd = -1};
    struct pl_stream *streams[] = {&stream};
    struct pl_worker worker = {.shared = &shared, .streams = streams, .count = 1, .read_buffer = read_buffer};
    atomic_store(&shared.run_ns, START_NS);
    role(&worker);
    struct pl_latency_log *log = endpoint->round_trips;
    pl_batch_close(&endpoint->batch);
    free(endpoint);
    return log;
}

static int echo(void *connection, const uint8_t *request, size_t bytes, const uint8_t **reply,
                size_t *reply_bytes, struct pl_adapter_error *error)
{
    (void)connection;
    (void)error;
    pass_round_trip();
    *reply = request;
    *reply_bytes = bytes;
    return 0;
}

/* The harness's loop over the script; free the log. */
static struct pl_latency_log *run_harness(int64_t rate_per_s, uint64_t *sent)
{
    static const struct pl_adapter adapter = {.ask = echo};
    struct pl_plan plan;
    struct pl_adapter_error error = {0};
    CHECK(pl_plan_parse("{\"interval_ns\": 10000000}", "ask", &plan, &error));
    plan.warmup_ns = WARMUP_NS;
    plan.duration_ns = DURATION_NS;
    plan.rate_per_s = rate_per_s;
    struct pl_loops all = {.adapter = &adapter, .plan = &plan, .wake_fd = -1};
    struct pl_loop *loop = calloc(1, sizeof *loop);
    CHECK(loop != NULL && pl_loop_prepare(loop, &all, 0));
    if (loop == NULL)
        return NULL;
    CHECK(ask_all(loop, START_NS));
    pl_latency_log_finish(loop->log);
    CHECK_EQUAL(atomic_load(&loop->sent), atomic_load(&loop->received));
    *sent = atomic_load(&loop->sent);
    struct pl_latency_log *log = loop->log;
    loop->log = NULL;
    pl_loop_release(loop);
    free(loop);
    return log;
}

/* The same intervals with the same counts; how many round trips there are in all. */
static uint64_t check_same(struct pl_latency_log *engine, struct pl_latency_log *harness)
{
    uint64_t count = 0;
    int intervals = 0;
    for (;; intervals++) {
        const struct pl_latency_slot *left = pl_latency_log_next(engine);
        const struct pl_latency_slot *right = pl_latency_log_next(harness);
        CHECK((left == NULL) == (right == NULL));
        if (left == NULL || right == NULL)
            break;
        CHECK_EQUAL(right->start_ns, left->start_ns);
        CHECK_EQUAL(right->end_ns, left->end_ns);
        CHECK(memcmp(&right->durations, &left->durations, sizeof left->durations) == 0);
        count += left->durations.count;
        pl_latency_log_release(engine);
        pl_latency_log_release(harness);
    }
    CHECK(intervals >= 4);
    free(engine);
    free(harness);
    return count;
}

static void check_one_after_the_other(void)
{
    uint64_t sent = 0;
    write_script();
    struct pl_latency_log *engine = run_engine(pl_asker_run);
    write_script();
    struct pl_latency_log *harness = run_harness(0, &sent);
    CHECK_EQUAL(check_same(engine, harness), sent);
    CHECK(sent > 80);
}

/* 4,000 a second, of which long round trips hold some up: they are as old as their schedule. */
static void check_at_a_rate(void)
{
    uint64_t sent = 0;
    write_script();
    struct pl_latency_log *harness = run_harness(4000, &sent);
    write_script();
    script.schedule = (struct pl_schedule){.start_ns = START_NS, .rate_per_s = 4000, .messages = 1};
    script.count = sent;
    struct pl_latency_log *engine = run_engine(pl_receiver_run);
    CHECK_EQUAL(check_same(engine, harness), sent);
    CHECK(sent > 80);
}

int main(void)
{
    check_one_after_the_other();
    check_at_a_rate();
    CHECK_RETURN();
}
