/* The blocks of a pcapng file (draft-ietf-opsawg-pcapng-03), little-endian on every machine: a section
 * header, interfaces whose packets begin with the IP header (LINKTYPE_RAW) and have times in nanoseconds,
 * packets, and an interface's statistics. Each function writes one block and returns its length, a multiple
 * of 4.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

enum {
    PL_PCAPNG_NAME_BYTES_MAX = 64,
    /* The most that any block but a packet's can take. */
    PL_PCAPNG_BLOCK_BYTES_MAX = 256,
    /* What a packet's block takes besides the packet, with padding. */
    PL_PCAPNG_PACKET_EXTRA_BYTES = 32 + 3,
};

struct pl_pcapng_packet {
    uint32_t interface; /* number of its interface block in the file, from 0 */
    pl_ns time_ns;      /* since 1970, UTC */
    uint32_t captured_bytes;
    uint32_t original_bytes;
    const uint8_t *data; /* captured_bytes */
};

struct pl_pcapng_statistics {
    uint32_t interface;
    pl_ns start_ns; /* since 1970, UTC */
    pl_ns end_ns;
    uint64_t accepted; /* packets that passed the filter */
    uint64_t dropped;  /* of those, lost before they were read */
    uint64_t recorded; /* of those, in the file */
};

/* `program` and `name` have at most PL_PCAPNG_NAME_BYTES_MAX bytes. */
size_t pl_pcapng_section(uint8_t *at, const char *program);
size_t pl_pcapng_interface(uint8_t *at, const char *name, uint32_t snap_bytes);
size_t pl_pcapng_packet(uint8_t *at, const struct pl_pcapng_packet *packet);
size_t pl_pcapng_statistics(uint8_t *at, const struct pl_pcapng_statistics *statistics);
