#include "datagrams/datagram_settings.h"

#include "datagrams/datagram_header.h"

#define IPV4_HEADERS 28
#define IPV6_HEADERS 48
/* A super-packet of a paced stream has at most its rate's bytes of this time, as those of TCP have. */
#define SUPER_PACKETS_PER_S 1000
/* Handed over in one call: few system calls, and the data stays in the second-level cache. */
#define CALL_BYTES (256 << 10)
#define BATCH_MAX 64
/* Over all streams of a thread: each of many has a turn in the shortest interval. */
#define BATCH_OF_ALL 2048

int64_t pl_datagram_fit(int64_t mtu_bytes, bool v6)
{
    int64_t bytes = mtu_bytes - (v6 ? IPV6_HEADERS : IPV4_HEADERS);
    return bytes < PL_DATAGRAM_MAX_PAYLOAD_BYTES ? bytes : PL_DATAGRAM_MAX_PAYLOAD_BYTES;
}

static uint32_t clamp(int64_t value, int64_t most)
{
    return (uint32_t)(value < 1 ? 1 : value > most ? most : value);
}

void pl_datagram_settings_derive(struct pl_datagram_settings *settings, int64_t stream_rate_bits_per_s,
                                 uint32_t streams)
{
    int64_t bytes = settings->bytes > 0 ? settings->bytes : PL_DATAGRAM_MIN_BYTES;
    settings->segments = 1;
    if (settings->gso) {
        settings->segments = clamp(PL_DATAGRAM_MAX_PAYLOAD_BYTES / bytes, PL_SEGMENTS_MAX);
        int64_t paced = stream_rate_bits_per_s / 8 / SUPER_PACKETS_PER_S / bytes;
        if (stream_rate_bits_per_s > 0)
            settings->segments = clamp(paced, settings->segments);
    }
    int64_t most = CALL_BYTES / (bytes * settings->segments);
    int64_t fair = streams > 0 ? BATCH_OF_ALL / streams / settings->segments : BATCH_MAX;
    settings->batch = clamp(most < fair ? most : fair, BATCH_MAX);
}

int64_t pl_datagram_call_bytes(const struct pl_datagram_settings *settings)
{
    return settings->bytes * settings->segments * settings->batch;
}
