/* The hello of a data connection and its answer, encoded field by field in network byte order (PROTOCOL.md).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/token.h"

#define PL_HELLO_BYTES 84
#define PL_ANSWER_BYTES 12
#define PL_BUSY_BYTES 28
#define PL_BUSY_ADDRESS_BYTES 16
/* Magic and version: the part of a hello that is the same in every version. */
#define PL_HELLO_COMMON_BYTES 6

/* The hello's flags: the side that sends. */
#define PL_HELLO_FORWARD 1 /* the connecting one */
#define PL_HELLO_REVERSE 2 /* the accepting one */
/* Of datagrams: several of them leave this end in one super-packet (UDP_SEGMENT). */
#define PL_HELLO_SEGMENTED 1
/* Of datagrams: they carry ECN bits, which the receiver counts. */
#define PL_HELLO_ECN 2
/* With messages: the accepting side returns each of them. */
#define PL_HELLO_REPLIES 4

/* PL_ANSWER_BUSY is followed by a struct pl_busy. */
enum pl_answer_status { PL_ANSWER_ADMITTED = 0, PL_ANSWER_WRONG_VERSION = 1, PL_ANSWER_BUSY = 2 };

struct pl_hello {
    uint16_t version;
    uint16_t flags;
    uint32_t stream;
    uint32_t streams;
    uint8_t token[PL_TOKEN_BYTES];
    int64_t warmup_ns;
    int64_t duration_ns;
    int64_t bytes;          /* to carry in each direction; 0: by time */
    uint32_t message_bytes; /* 0: a stream of bytes */
    uint16_t encoding;      /* enum pl_encoding */
    uint16_t carrier;       /* enum pl_carrier */
    uint32_t queue_bytes;
    uint32_t datagram_bytes; /* payload of each datagram; 0: not a flow of datagrams */
    uint16_t datagram_flags;
    uint16_t pacing;         /* of datagrams: enum pl_pacing_request */
    int64_t rate_bits_per_s; /* payload of the datagrams of all streams in each direction; 0: no limit */
};

struct pl_answer {
    uint16_t version;
    uint16_t status;
    uint32_t stream;
};

/* The flow that a receiver serves when it refuses another one. */
struct pl_busy {
    uint32_t seconds; /* since its first stream was admitted */
    uint32_t admitted;
    uint32_t streams;
    uint8_t address[PL_BUSY_ADDRESS_BYTES]; /* of its sender: IPv6, or IPv4 mapped into it; zeros: neither */
};

void pl_hello_encode(const struct pl_hello *hello, uint8_t bytes[PL_HELLO_BYTES]);
/* False when the magic is wrong; the other fields are not checked. */
bool pl_hello_decode(const uint8_t bytes[PL_HELLO_BYTES], struct pl_hello *hello);
/* Reads the version from the common part of a hello; false when the magic is wrong. */
bool pl_hello_peek(const uint8_t bytes[PL_HELLO_COMMON_BYTES], uint16_t *version);

void pl_answer_encode(const struct pl_answer *answer, uint8_t bytes[PL_ANSWER_BYTES]);
/* False when the magic is wrong. */
bool pl_answer_decode(const uint8_t bytes[PL_ANSWER_BYTES], struct pl_answer *answer);

void pl_busy_encode(const struct pl_busy *busy, uint8_t bytes[PL_BUSY_BYTES]);
void pl_busy_decode(const uint8_t bytes[PL_BUSY_BYTES], struct pl_busy *busy);
