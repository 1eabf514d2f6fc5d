#include "flow/hello.h"

#include <string.h>

#include "base/bytes.h"

static const uint8_t magic[4] = {0x50, 0x4C, 0x44, 0x43};

/* The numbers of a hello: offset, bits, type and name of its member. */
#define HELLO_NUMBERS(NUMBER)                                                                                \
    NUMBER(4, 16, uint16_t, version)                                                                         \
    NUMBER(6, 16, uint16_t, flags)                                                                           \
    NUMBER(8, 32, uint32_t, stream)                                                                          \
    NUMBER(12, 32, uint32_t, streams)                                                                        \
    NUMBER(32, 64, int64_t, warmup_ns)                                                                       \
    NUMBER(40, 64, int64_t, duration_ns)                                                                     \
    NUMBER(48, 64, int64_t, bytes)                                                                           \
    NUMBER(56, 32, uint32_t, message_bytes)                                                                  \
    NUMBER(60, 16, uint16_t, encoding)                                                                       \
    NUMBER(62, 16, uint16_t, carrier)                                                                        \
    NUMBER(64, 32, uint32_t, queue_bytes)                                                                    \
    NUMBER(68, 32, uint32_t, datagram_bytes)                                                                 \
    NUMBER(72, 16, uint16_t, datagram_flags)                                                                 \
    NUMBER(74, 16, uint16_t, pacing)                                                                         \
    NUMBER(76, 64, int64_t, rate_bits_per_s)
#define TOKEN_AT 16

void pl_hello_encode(const struct pl_hello *hello, uint8_t bytes[PL_HELLO_BYTES])
{
#define PUT(at, bits, type, member) pl_put##bits(bytes + (at), (uint##bits##_t)hello->member);
    memcpy(bytes, magic, sizeof magic);
    memcpy(bytes + TOKEN_AT, hello->token, PL_TOKEN_BYTES);
    HELLO_NUMBERS(PUT)
}

bool pl_hello_decode(const uint8_t bytes[PL_HELLO_BYTES], struct pl_hello *hello)
{
#define GET(at, bits, type, member) hello->member = (type)pl_get##bits(bytes + (at));
    memcpy(hello->token, bytes + TOKEN_AT, PL_TOKEN_BYTES);
    HELLO_NUMBERS(GET)
    return memcmp(bytes, magic, sizeof magic) == 0;
}

bool pl_hello_peek(const uint8_t bytes[PL_HELLO_COMMON_BYTES], uint16_t *version)
{
    *version = (uint16_t)pl_get16(bytes + 4);
    return memcmp(bytes, magic, sizeof magic) == 0;
}

void pl_answer_encode(const struct pl_answer *answer, uint8_t bytes[PL_ANSWER_BYTES])
{
    memcpy(bytes, magic, sizeof magic);
    pl_put16(bytes + 4, answer->version);
    pl_put16(bytes + 6, answer->status);
    pl_put32(bytes + 8, answer->stream);
}

bool pl_answer_decode(const uint8_t bytes[PL_ANSWER_BYTES], struct pl_answer *answer)
{
    answer->version = (uint16_t)pl_get16(bytes + 4);
    answer->status = (uint16_t)pl_get16(bytes + 6);
    answer->stream = pl_get32(bytes + 8);
    return memcmp(bytes, magic, sizeof magic) == 0;
}

void pl_busy_encode(const struct pl_busy *busy, uint8_t bytes[PL_BUSY_BYTES])
{
    pl_put32(bytes, busy->seconds);
    pl_put32(bytes + 4, busy->admitted);
    pl_put32(bytes + 8, busy->streams);
    memcpy(bytes + 12, busy->address, PL_BUSY_ADDRESS_BYTES);
}

void pl_busy_decode(const uint8_t bytes[PL_BUSY_BYTES], struct pl_busy *busy)
{
    busy->seconds = pl_get32(bytes);
    busy->admitted = pl_get32(bytes + 4);
    busy->streams = pl_get32(bytes + 8);
    memcpy(busy->address, bytes + 12, PL_BUSY_ADDRESS_BYTES);
}
