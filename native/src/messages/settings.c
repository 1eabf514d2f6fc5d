#include "messages/settings.h"

#include "base/options.h"

#define QUEUE_MIN_BYTES (INT64_C(256) << 10)
#define POLLED_BATCH_MAX_BYTES (32 << 10) /* one thread writes and reads: neither may wait for the other */
#define QUEUE_MAX_BYTES (INT64_C(256) << 20)

bool pl_queue_is_possible(int64_t bytes)
{
    return bytes >= QUEUE_MIN_BYTES && bytes <= QUEUE_MAX_BYTES && (bytes & (bytes - 1)) == 0;
}

static const char *const placements[] = {"apart", "threaded", "fused", NULL};

const char *pl_placement_name(enum pl_placement placement)
{
    return placements[placement];
}

bool pl_message_settings_check(struct pl_message_settings *settings, const struct pl_message_words *words,
                               struct pl_error *error)
{
    static const char *const encodings[] = {"fixed", "protobuf", NULL};
    static const char *const waits[] = {"block", "poll", NULL};
    int encoding = pl_parse_choice("encoding", words->encoding, encodings, error);
    int wait = pl_parse_choice("wait", words->wait, waits, error);
    int placement = pl_parse_choice("placement", words->placement, placements, error);
    if (encoding < 0 || wait < 0 || placement < 0)
        return false;
    settings->placement = (enum pl_placement)placement;
    settings->encoding = (enum pl_encoding)encoding;
    settings->polls = wait == 1;
    if (settings->bytes > 0 && settings->bytes < PL_MESSAGE_MIN_BYTES)
        return pl_error_usage(error, "--message-bytes must be at least 4, the bytes of a message's number");
    if (!pl_queue_is_possible(settings->queue_bytes))
        return pl_error_usage(error, "--queue-bytes must be a power of two from 262144 to 268435456");
    bool queued = settings->placement == PL_PLACEMENT_THREADED || settings->carrier == PL_CARRIER_RING ||
                  settings->carrier == PL_CARRIER_EVENT;
    if (queued && settings->batch_bytes > settings->queue_bytes / 2)
        return pl_error_usage(error, "--batch-bytes must be at most half of --queue-bytes");
    if (settings->batch_max_delay_ns > 0 && settings->batch_min_delay_ns > settings->batch_max_delay_ns)
        return pl_error_usage(error, "--batch-min-delay-ns must not exceed --batch-max-delay-ns");
    bool delays = settings->batch_min_delay_ns > 0 || settings->batch_max_delay_ns > 0;
    if (delays && (settings->batch_bytes == 0 || settings->rate_per_s == 0))
        return pl_error_usage(
            error,
            "delays of batches need --batch-bytes and --messages-per-s: without a rate a batch is full "
            "at once");
    /* Without messages, UDP carries a flow of datagrams. */
    if (settings->bytes == 0 && settings->carrier != PL_CARRIER_STREAM && settings->carrier != PL_CARRIER_UDP)
        return pl_error_usage(error, "--transport: %s carries messages: give --message-bytes",
                              pl_carrier_name(settings->carrier));
    if (settings->placement != PL_PLACEMENT_APART &&
        (settings->replies || settings->carrier != PL_CARRIER_STREAM))
        return pl_error_usage(error,
                              "--placement: threads of one process have neither --reply nor --transport");
    if (settings->placement == PL_PLACEMENT_FUSED && (settings->batch_bytes > 0 || settings->rate_per_s > 0))
        return pl_error_usage(
            error, "--placement fused calls the sink for each message: it has no --batch-bytes and no "
                   "--messages-per-s");
    if (settings->bytes == 0 && (settings->replies || settings->placement != PL_PLACEMENT_APART ||
                                 settings->rate_per_s > 0 || settings->batch_bytes > 0))
        return pl_error_usage(
            error, "--reply, --placement, --messages-per-s and --batch-bytes need --message-bytes");
    if (settings->replies && settings->polls && settings->batch_bytes > POLLED_BATCH_MAX_BYTES)
        return pl_error_usage(error, "--batch-bytes must be at most 32768 with --reply and --wait poll");
    if (pl_carrier_is_datagram(settings->carrier) &&
        (settings->bytes > PL_DATAGRAM_MAX_BYTES || settings->batch_bytes > PL_DATAGRAM_MAX_BYTES))
        return pl_error_usage(error,
                              "--message-bytes and --batch-bytes: a datagram carries at most 65000 bytes");
    return true;
}
