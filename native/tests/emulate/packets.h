/* Bytes of packets, for the tests of cutting and marking. */
#pragma once

#include "check.h"
#include "emulate/superpacket.h"

static inline void put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, value >>= 8)
        at[i] = (unsigned char)value;
}

static inline uint32_t get(const unsigned char *at, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

/* The ones' complement sum of RFC 1071, independent of the code under test; odd lengths are padded with 0. */
static inline uint32_t ones_sum(const unsigned char *at, uint32_t bytes)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < bytes; i++)
        sum += (uint64_t)at[i] << (i % 2 == 0 ? 8 : 0);
    return (uint32_t)(sum % 0xffffU);
}

/* A copy of exactly the given length, so that the sanitizers see a read beyond it. */
static inline enum pl_packet_kind parse_copy(const unsigned char *data, size_t length,
                                             uint32_t link_header_bytes, struct pl_superpacket *layout)
{
    unsigned char *copy = malloc(length > 0 ? length : 1);
    CHECK(copy != NULL);
    if (copy == NULL)
        return PL_PACKET_PLAIN;
    memcpy(copy, data, length);
    enum pl_packet_kind kind = pl_superpacket_parse(copy, length, link_header_bytes, layout);
    free(copy);
    return kind;
}
