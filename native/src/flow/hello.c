#include "flow/hello.h"

#include <string.h>

#include "base/bytes.h"

static const uint8_t magic[4] = {0x50, 0x4C, 0x44, 0x43};

void pl_hello_encode(const struct pl_hello *hello, uint8_t bytes[PL_HELLO_BYTES])
{
    memcpy(bytes, magic, sizeof magic);
    pl_put16(bytes + 4, hello->version);
    pl_put16(bytes + 6, hello->flags);
    pl_put32(bytes + 8, hello->stream);
    pl_put32(bytes + 12, hello->streams);
    memcpy(bytes + 16, hello->token, PL_TOKEN_BYTES);
    pl_put64(bytes + 32, (uint64_t)hello->warmup_ns);
    pl_put64(bytes + 40, (uint64_t)hello->duration_ns);
    pl_put64(bytes + 48, (uint64_t)hello->bytes);
    pl_put32(bytes + 56, hello->message_bytes);
    pl_put16(bytes + 60, hello->encoding);
    pl_put16(bytes + 62, hello->carrier);
    pl_put32(bytes + 64, hello->queue_bytes);
    pl_put32(bytes + 68, hello->datagram_bytes);
    pl_put16(bytes + 72, hello->datagram_flags);
    pl_put16(bytes + 74, hello->pacing);
    pl_put64(bytes + 76, (uint64_t)hello->rate_bits_per_s);
}

bool pl_hello_decode(const uint8_t bytes[PL_HELLO_BYTES], struct pl_hello *hello)
{
    hello->version = (uint16_t)pl_get16(bytes + 4);
    hello->flags = (uint16_t)pl_get16(bytes + 6);
    hello->stream = pl_get32(bytes + 8);
    hello->streams = pl_get32(bytes + 12);
    memcpy(hello->token, bytes + 16, PL_TOKEN_BYTES);
    hello->warmup_ns = (int64_t)pl_get64(bytes + 32);
    hello->duration_ns = (int64_t)pl_get64(bytes + 40);
    hello->bytes = (int64_t)pl_get64(bytes + 48);
    hello->message_bytes = pl_get32(bytes + 56);
    hello->encoding = (uint16_t)pl_get16(bytes + 60);
    hello->carrier = (uint16_t)pl_get16(bytes + 62);
    hello->queue_bytes = pl_get32(bytes + 64);
    hello->datagram_bytes = pl_get32(bytes + 68);
    hello->datagram_flags = (uint16_t)pl_get16(bytes + 72);
    hello->pacing = (uint16_t)pl_get16(bytes + 74);
    hello->rate_bits_per_s = (int64_t)pl_get64(bytes + 76);
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
