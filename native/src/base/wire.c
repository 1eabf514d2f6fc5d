#include "base/wire.h"

#include <string.h>

static const uint8_t magic[4] = {0x50, 0x4C, 0x44, 0x43};

static void put_u16(uint8_t *bytes, uint16_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)(value & 0xFF);
}

static void put_u32(uint8_t *bytes, uint32_t value)
{
    put_u16(bytes, (uint16_t)(value >> 16));
    put_u16(bytes + 2, (uint16_t)(value & 0xFFFF));
}

static uint16_t get_u16(const uint8_t *bytes)
{
    return (uint16_t)((unsigned)bytes[0] << 8 | bytes[1]);
}

static uint32_t get_u32(const uint8_t *bytes)
{
    return (uint32_t)get_u16(bytes) << 16 | get_u16(bytes + 2);
}

void pl_put_u64(uint8_t *bytes, uint64_t value)
{
    put_u32(bytes, (uint32_t)(value >> 32));
    put_u32(bytes + 4, (uint32_t)(value & UINT32_MAX));
}

uint64_t pl_get_u64(const uint8_t *bytes)
{
    return (uint64_t)get_u32(bytes) << 32 | get_u32(bytes + 4);
}

void pl_hello_encode(const struct pl_hello *hello, uint8_t bytes[PL_HELLO_BYTES])
{
    memcpy(bytes, magic, sizeof magic);
    put_u16(bytes + 4, hello->version);
    put_u16(bytes + 6, hello->flags);
    put_u32(bytes + 8, hello->stream);
    put_u32(bytes + 12, hello->streams);
    memcpy(bytes + 16, hello->token, PL_TOKEN_BYTES);
    pl_put_u64(bytes + 32, (uint64_t)hello->warmup_ns);
    pl_put_u64(bytes + 40, (uint64_t)hello->duration_ns);
    pl_put_u64(bytes + 48, (uint64_t)hello->bytes);
}

bool pl_hello_decode(const uint8_t bytes[PL_HELLO_BYTES], struct pl_hello *hello)
{
    hello->version = get_u16(bytes + 4);
    hello->flags = get_u16(bytes + 6);
    hello->stream = get_u32(bytes + 8);
    hello->streams = get_u32(bytes + 12);
    memcpy(hello->token, bytes + 16, PL_TOKEN_BYTES);
    hello->warmup_ns = (int64_t)pl_get_u64(bytes + 32);
    hello->duration_ns = (int64_t)pl_get_u64(bytes + 40);
    hello->bytes = (int64_t)pl_get_u64(bytes + 48);
    return memcmp(bytes, magic, sizeof magic) == 0;
}

bool pl_hello_peek(const uint8_t bytes[PL_HELLO_COMMON_BYTES], uint16_t *version)
{
    *version = get_u16(bytes + 4);
    return memcmp(bytes, magic, sizeof magic) == 0;
}

void pl_answer_encode(const struct pl_answer *answer, uint8_t bytes[PL_ANSWER_BYTES])
{
    memcpy(bytes, magic, sizeof magic);
    put_u16(bytes + 4, answer->version);
    put_u16(bytes + 6, answer->status);
    put_u32(bytes + 8, answer->stream);
}

bool pl_answer_decode(const uint8_t bytes[PL_ANSWER_BYTES], struct pl_answer *answer)
{
    answer->version = get_u16(bytes + 4);
    answer->status = get_u16(bytes + 6);
    answer->stream = get_u32(bytes + 8);
    return memcmp(bytes, magic, sizeof magic) == 0;
}

static int read_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool pl_token_parse(const char *text, uint8_t token[PL_TOKEN_BYTES])
{
    if (text == NULL || strlen(text) != 2UL * PL_TOKEN_BYTES)
        return false;
    for (size_t i = 0; i < PL_TOKEN_BYTES; i++) {
        int high = read_hex_digit(text[2 * i]);
        int low = read_hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        token[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool pl_token_equal(const uint8_t a[PL_TOKEN_BYTES], const uint8_t b[PL_TOKEN_BYTES])
{
    volatile uint8_t difference = 0;
    for (size_t i = 0; i < PL_TOKEN_BYTES; i++)
        difference = (uint8_t)(difference | (a[i] ^ b[i]));
    return difference == 0;
}
