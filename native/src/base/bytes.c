#include "base/bytes.h"

uint32_t pl_get16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

uint32_t pl_get32(const uint8_t *at)
{
    return pl_get16(at) << 16 | pl_get16(at + 2);
}

uint64_t pl_get64(const uint8_t *at)
{
    return (uint64_t)pl_get32(at) << 32 | pl_get32(at + 4);
}

void pl_put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

void pl_put32(uint8_t *at, uint32_t value)
{
    pl_put16(at, value >> 16);
    pl_put16(at + 2, value);
}

void pl_put64(uint8_t *at, uint64_t value)
{
    pl_put32(at, (uint32_t)(value >> 32));
    pl_put32(at + 4, (uint32_t)value);
}

uint32_t pl_internet_fold(uint32_t sum)
{
    while (sum >> 16 != 0)
        sum = (sum & 0xffffU) + (sum >> 16);
    return sum;
}

uint32_t pl_internet_sum(const uint8_t *at, size_t count, uint32_t sum)
{
    for (size_t i = 0; i + 1 < count; i += 2)
        sum += pl_get16(at + i);
    if (count % 2 != 0)
        sum += (uint32_t)at[count - 1] << 8;
    return pl_internet_fold(sum);
}

void pl_fill_incompressible(uint8_t *buffer, size_t size)
{
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        buffer[i] = (uint8_t)(state >> 56);
    }
}
