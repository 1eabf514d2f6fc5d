#include "echo_wire.h"

#include <string.h>

void pl_echo_greeting_encode(const uint8_t token[PL_TOKEN_BYTES], uint32_t message_bytes,
                             uint8_t bytes[PL_ECHO_GREETING_BYTES])
{
    memcpy(bytes, token, PL_TOKEN_BYTES);
    for (int i = 0; i < 4; i++)
        bytes[PL_TOKEN_BYTES + i] = (uint8_t)(message_bytes >> (24 - 8 * i));
}

bool pl_echo_greeting_admit(const uint8_t bytes[PL_ECHO_GREETING_BYTES], const uint8_t token[PL_TOKEN_BYTES],
                            uint32_t *message_bytes)
{
    uint32_t size = 0;
    for (int i = 0; i < 4; i++)
        size = size << 8 | bytes[PL_TOKEN_BYTES + i];
    *message_bytes = size;
    return pl_token_equal(bytes, token) && size >= PL_PROBE_HEAD_BYTES && size <= PL_ECHO_MESSAGE_MAX;
}

void pl_echo_write_held(uint8_t *probe, size_t bytes, pl_ns stamp_realtime_ns, pl_ns received_ns)
{
    if (bytes < PL_PROBE_HELD_BYTES)
        return;
    pl_ns user_ns = pl_now_ns() - received_ns;
    pl_ns held_ns = stamp_realtime_ns != 0 ? pl_realtime_ns() - stamp_realtime_ns : user_ns;
    /* A clock that was set meanwhile would make it less than what this process itself saw. */
    if (held_ns < user_ns)
        held_ns = user_ns;
    pl_put_u64(probe + PL_PROBE_HELD_AT, (uint64_t)held_ns);
}
