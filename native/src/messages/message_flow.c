#include "messages/message_flow.h"

#include "messages/message_reader.h"
#include "messages/message_worker.h"
#include "streams/stream_flow.h"

bool pl_message_flow_check(struct pl_flow *flow, struct pl_error *error)
{
    struct pl_message_settings *messages = &flow->messages;
    const char *wrong = NULL;
    if (!pl_message_settings_check(messages, &flow->message_words, error))
        return false;
    if (messages->bytes == 0)
        return true;
    if (flow->transmits && flow->receives)
        wrong = "--direction both is for streams of bytes: leave it out with --message-bytes";
    else if (flow->receives && messages->placement != PL_PLACEMENT_APART)
        wrong = "--placement needs --direction forward";
    else if (messages->replies && !flow->transmits)
        wrong = "--reply needs --direction forward";
    else if (flow->streams > PL_MESSAGE_STREAMS_MAX)
        wrong = "--message-bytes allows 256 streams at most";
    else if (flow->bytes > 0 && messages->rate_per_s > 0)
        wrong = "--bytes and --messages-per-s exclude each other";
    else if (flow->bytes > 0 && flow->receivers_text[0] != 0)
        wrong = "--bytes and --receivers exclude each other";
    else if (flow->rate_bits_per_s > 0 || flow->stream_rate_bits_per_s > 0 || flow->zero_copy)
        wrong =
            "--rate-bits-per-s, --stream-rate-bits-per-s and --transfer zero-copy are for streams of bytes";
    if (wrong != NULL)
        return pl_error_usage(error, "%s", wrong);
    flow->receives = flow->receives || messages->replies || messages->placement != PL_PLACEMENT_APART;
    return true;
}

void pl_message_flow_state(const struct pl_flow *flow, struct pl_hello *hello)
{
    const struct pl_message_settings *messages = &flow->messages;
    hello->message_bytes = (uint32_t)messages->bytes;
    hello->encoding = (uint16_t)messages->encoding;
    hello->carrier = (uint16_t)messages->carrier;
    hello->queue_bytes = messages->bytes > 0 ? (uint32_t)messages->queue_bytes : 0;
}

/* Whether a hello's words about messages are possible. */
static bool are_possible(const struct pl_flow *flow, const struct pl_hello *hello)
{
    const uint16_t ways = PL_HELLO_FORWARD | PL_HELLO_REVERSE;
    bool replies = (hello->flags & PL_HELLO_REPLIES) != 0;
    if (hello->message_bytes == 0)
        return !replies && (hello->carrier == PL_CARRIER_STREAM || hello->datagram_bytes > 0);
    /* Messages are not paced: an end with a rate limit does not send any. */
    if ((hello->flags & PL_HELLO_REVERSE) != 0 &&
        (flow->rate_bits_per_s > 0 || flow->stream_rate_bits_per_s > 0))
        return false;
    if (hello->message_bytes < PL_MESSAGE_MIN_BYTES || hello->message_bytes > PL_MESSAGE_MAX_BYTES ||
        hello->encoding >= PL_ENCODINGS || hello->carrier >= PL_CARRIERS ||
        hello->streams > PL_MESSAGE_STREAMS_MAX || !pl_queue_is_possible(hello->queue_bytes) ||
        replies != ((hello->flags & ways) == ways) ||
        (pl_carrier_is_datagram((enum pl_carrier)hello->carrier) &&
         hello->message_bytes > PL_DATAGRAM_MAX_BYTES))
        return false;
    return hello->carrier == PL_CARRIER_STREAM ||
           pl_carrier_transport((enum pl_carrier)hello->carrier) == flow->transport;
}

bool pl_message_flow_adopt(struct pl_flow *flow, const struct pl_hello *hello)
{
    struct pl_message_settings *messages = &flow->messages;
    if (!are_possible(flow, hello))
        return false;
    struct pl_message_settings stated = *messages;
    stated.agreed = true;
    stated.bytes = hello->message_bytes;
    stated.encoding = (enum pl_encoding)hello->encoding;
    stated.carrier = (enum pl_carrier)hello->carrier;
    stated.replies = (hello->flags & PL_HELLO_REPLIES) != 0;
    if (hello->message_bytes > 0)
        stated.queue_bytes = hello->queue_bytes;
    if (messages->agreed)
        return stated.bytes == messages->bytes && stated.encoding == messages->encoding &&
               stated.carrier == messages->carrier && stated.replies == messages->replies &&
               stated.queue_bytes == messages->queue_bytes;
    *messages = stated;
    return true;
}

void pl_message_flow_derive(struct pl_flow *flow)
{
    flow->workers = flow->streams > 0 ? pl_message_workers(flow) : 1;
    flow->read_bytes = PL_MESSAGE_READ_BYTES;
    pl_stream_flow_fit(flow);
}
