/* The roles of an end whose messages are returned: one at a time, or at an offered rate with many under way.
 */
#include "messages/message_pace.h"
#include "messages/message_reader.h"
#include "messages/roles.h"

/* A datagram without an answer for this time is lost; streams lose none. */
#define LOST_NS PL_NS_PER_S

/* Reads one whole answer. 0, or an errno; EAGAIN at `deadline_ns`. */
static int await_answer(struct pl_worker *worker, struct pl_endpoint *endpoint, pl_ns deadline_ns,
                        uint32_t *number)
{
    const struct pl_message_settings *messages = worker->shared->messages;
    uint8_t *data = worker->read_buffer;
    for (size_t have = 0;;) {
        ssize_t count =
            pl_channel_read(&endpoint->channel, data + have, PL_MESSAGE_READ_BYTES - have, deadline_ns);
        if (count <= 0)
            return count == 0 ? EPIPE : errno;
        have += (size_t)count;
        const uint8_t *content;
        ssize_t bytes = pl_decode(messages->encoding, data, have, (size_t)messages->bytes, number, &content);
        if (bytes < 0)
            return PL_BREACH_MESSAGE;
        if (bytes > 0)
            return (size_t)bytes == have ? 0 : PL_BREACH_ANSWER;
    }
}

/* One message there and back. 0, or an errno. */
static int ask(struct pl_worker *worker, struct pl_stream *stream, pl_ns run_ns)
{
    struct pl_endpoint *endpoint = stream->endpoint;
    struct pl_batch *batch = &endpoint->batch;
    uint32_t asked = (uint32_t)batch->number;
    uint32_t number = asked;
    pl_batch_fill(batch, 1);
    size_t bytes = batch->used_bytes;
    pl_ns sent_ns = pl_now_ns();
    bool datagrams = pl_carrier_is_datagram(endpoint->channel.carrier);
    pl_ns deadline_ns = datagrams ? sent_ns + LOST_NS : PL_NEVER;
    int cause = pl_role_send_batch(worker, stream);
    do
        cause = cause == 0 ? await_answer(worker, endpoint, deadline_ns, &number) : cause;
    while (cause == 0 && number != asked && datagrams && pl_now_ns() < deadline_ns);
    if (cause == 0 && number != asked)
        cause = datagrams ? EAGAIN : PL_BREACH_ANSWER;
    if (cause != 0)
        return cause == EAGAIN ? 0 : cause; /* the number that follows will show the loss */
    pl_ns now_ns = pl_now_ns();
    pl_latency_log_add(endpoint->round_trips, sent_ns - run_ns, now_ns - sent_ns);
    pl_sequence_add(&endpoint->sequence, number);
    pl_role_count_received(worker, stream, bytes, now_ns);
    pl_role_publish_sequence(endpoint);
    pl_role_tick(worker, now_ns);
    return 0;
}

/* Reads what still returns, up to the end that the relay states. 0, or an errno. */
static int drain(struct pl_worker *worker, struct pl_stream *stream)
{
    struct pl_channel *channel = &stream->endpoint->channel;
    pl_channel_end_writing(channel);
    pl_ns deadline_ns = pl_now_ns() + LOST_NS;
    ssize_t count = 1;
    while (count > 0 && pl_now_ns() < deadline_ns)
        count = pl_channel_read(channel, worker->read_buffer, PL_MESSAGE_READ_BYTES, deadline_ns);
    return count >= 0 || errno == EAGAIN ? 0 : errno;
}

void pl_asker_run(struct pl_worker *worker)
{
    struct pl_stream *stream = worker->streams[0];
    pl_ns run_ns = atomic_load(&worker->shared->run_ns);
    int cause = 0;
    while (cause == 0 && pl_role_sends(worker) && pl_role_find_quota(worker, stream) > 0)
        cause = ask(worker, stream, run_ns);
    if (cause == ECANCELED && !pl_role_is_over(worker)) /* the limit of bytes */
        cause = 0;
    pl_latency_log_finish(stream->endpoint->round_trips);
    if (cause == 0)
        cause = drain(worker, stream);
    pl_role_end_stream(worker, stream, cause);
}

/* Counts and times a message that has returned; the reader's context is the schedule. */
static int take_answer(const struct pl_message_reader *reader, uint32_t number, const uint8_t *content,
                       pl_ns now_ns)
{
    struct pl_endpoint *endpoint = reader->stream->endpoint;
    const struct pl_schedule *schedule = reader->context;
    /* The whole number: the nearest to the one that is expected, of which the message carries 32 bits. */
    uint64_t whole = endpoint->answered + (uint64_t)(int64_t)(int32_t)(number - (uint32_t)endpoint->answered);
    pl_ns due_ns = (int64_t)whole < 0 ? PL_NEVER : pl_schedule_due_ns(schedule, whole);
    if (due_ns > now_ns) /* it was never sent */
        return PL_BREACH_ANSWER;
    if (whole >= endpoint->answered)
        endpoint->answered = whole + 1;
    pl_latency_log_add(endpoint->round_trips, due_ns - schedule->start_ns, now_ns - due_ns);
    return pl_count_message(reader, number, content, now_ns);
}

static ssize_t take_answers(const struct pl_message_reader *reader, const uint8_t *data, size_t have,
                            pl_ns now_ns)
{
    return pl_read_messages(reader, data, have, now_ns, take_answer);
}

void pl_receiver_run(struct pl_worker *worker)
{
    struct pl_stream *stream = worker->streams[0];
    struct pl_endpoint *endpoint = stream->endpoint;
    const struct pl_schedule schedule = pl_pace_begin(worker).schedule;
    struct pl_message_reader reader = {
        .worker = worker, .stream = stream, .handle = take_answers, .context = &schedule};
    int cause = 0;
    while (cause == 0) {
        bool over = atomic_load(&endpoint->sends_over);
        int step = pl_reader_step(&reader, pl_now_ns() + LOST_NS);
        if (step < 0 && errno != EAGAIN)
            cause = errno;
        else if (step == 0 ||
                 (step < 0 && over)) /* nothing for a second after the last one: the rest is lost */
            break;
    }
    if (cause == 0)
        cause = atomic_load(&endpoint->send_failure);
    pl_latency_log_finish(endpoint->round_trips);
    pl_role_end_stream(worker, stream, cause);
}

/* One thread that sends, receives and spins. */
struct poller {
    struct pl_message_reader reader;
    struct pl_pace pace;
};

/* Reads what has returned. While there is no room to write it goes on reading as well, since the relay may
 * wait for just that before it reads. 0, or an errno. */
static int poll_answers(void *context)
{
    struct pl_message_reader *reader = &((struct poller *)context)->reader;
    ssize_t count =
        pl_channel_try_read(&reader->stream->endpoint->channel, reader->worker->read_buffer + reader->have,
                            PL_MESSAGE_READ_BYTES - reader->have);
    if (count > 0)
        return pl_reader_take(reader, (size_t)count);
    return count == 0 ? EPIPE : errno == EAGAIN || errno == EINTR ? 0 : errno;
}

/* Late messages are sent one between two reads, so that sending delays no round trip. 0, or an errno. */
static int send_and_poll(struct poller *poller)
{
    struct pl_worker *worker = poller->reader.worker;
    pl_ns next_ns = 0;
    uint32_t failed = 0;
    int cause = 0;
    while (cause == 0 && pl_role_sends(worker)) {
        pl_ns now_ns = pl_now_ns();
        if (now_ns >= next_ns)
            next_ns = pl_pace_step(&poller->pace, worker, now_ns, 1, &cause, &failed);
        if (cause == 0)
            cause = poll_answers(poller);
    }
    return pl_pace_finish(&poller->pace, worker, cause, &failed);
}

void pl_poller_run(struct pl_worker *worker)
{
    struct pl_stream *stream = worker->streams[0];
    struct pl_channel *channel = &stream->endpoint->channel;
    struct poller poller = {.reader = {.worker = worker, .stream = stream, .handle = take_answers},
                            .pace = pl_pace_begin(worker)};
    poller.reader.context = &poller.pace.schedule;
    channel->meanwhile = poll_answers;
    channel->meanwhile_context = &poller;
    int cause = send_and_poll(&poller);
    channel->meanwhile = NULL;
    if (cause == 0)
        pl_channel_end_writing(channel);
    int step = cause == 0 ? 1 : 0;
    while (step > 0)
        step = pl_reader_step(&poller.reader, pl_now_ns() + LOST_NS);
    if (step < 0 && errno != EAGAIN)
        cause = errno;
    pl_latency_log_finish(stream->endpoint->round_trips);
    pl_role_end_stream(worker, stream, cause);
}
