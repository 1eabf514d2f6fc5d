/* The first bytes of every datagram of a flow, in network byte order (PROTOCOL.md, "Datagrams"). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/token.h"

#define PL_DATAGRAM_HEADER_BYTES 21
/* The smallest and the largest payload; UDP over IPv4 carries no more. */
#define PL_DATAGRAM_MIN_BYTES 32
#define PL_DATAGRAM_MAX_PAYLOAD_BYTES 65507

/* The sender's phase in which a datagram was sent. */
enum pl_datagram_phase { PL_DATAGRAM_WARMUP, PL_DATAGRAM_STEADY, PL_DATAGRAM_PHASES };

struct pl_datagram_header {
    uint64_t sequence; /* 0-based, per stream and direction, over all phases */
    int64_t sent_ns;   /* since the sender's start */
    uint32_t check;    /* pl_datagram_check() */
    enum pl_datagram_phase phase;
};

/* The digest that marks the datagrams of one direction of one stream; without the token nobody knows it. */
uint32_t pl_datagram_check(const uint8_t token[PL_TOKEN_BYTES], uint32_t stream, bool forward);

void pl_datagram_header_encode(const struct pl_datagram_header *header,
                               uint8_t bytes[PL_DATAGRAM_HEADER_BYTES]);
/* False, and nothing written, for bytes with another check, an unknown phase or an impossible
 * number. */
bool pl_datagram_header_decode(const uint8_t bytes[PL_DATAGRAM_HEADER_BYTES], uint32_t check,
                               struct pl_datagram_header *header);
