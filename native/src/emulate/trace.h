/* The fate of every packet, written to a file of bounded size: PROTOCOL.md, `emulate`, "The trace". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "emulate/link.h"

enum { PL_TRACE_HEADER_BYTES = 16, PL_TRACE_RECORD_BYTES = 24, PL_TRACE_BUFFER_RECORDS = 2048 };
enum { PL_TRACE_VERSION = 1 };

enum pl_trace_flag { PL_TRACE_MARKED = 1, PL_TRACE_DUPLICATED = 2, PL_TRACE_SEGMENT = 4 };

struct pl_trace_packet {
    pl_ns arrival_ns; /* CLOCK_MONOTONIC */
    uint32_t ip_bytes;
    uint8_t direction; /* 0, 1 */
    bool segment;      /* arrived within a super-packet */
};

struct pl_trace {
    int fd;                   /* -1: not open */
    pl_ns origin_ns;          /* CLOCK_MONOTONIC; times in the file are since then */
    uint64_t records_left;    /* until the file is full */
    uint64_t written_records; /* without those in the buffer */
    uint64_t skipped_records; /* beyond the bound, or not written */
    int errno_value;          /* of the failed write that ended the trace; 0: none */
    size_t buffered_records;
    unsigned char buffer[PL_TRACE_BUFFER_RECORDS * PL_TRACE_RECORD_BYTES];
};

/* Create or overwrite the file `path`, which will not exceed `maximum_bytes`, and write the header. False
 * with `error` (PL_SETUP, stage "trace") naming the file. Call pl_trace_close also after a failure; a zeroed
 * struct whose `fd` is -1 is closed. */
bool pl_trace_open(struct pl_trace *trace, const char *path, uint64_t maximum_bytes, struct pl_error *error);

/* Record the decision about one packet. Allocates nothing; writes when the buffer is full. */
void pl_trace_add(struct pl_trace *trace, const struct pl_trace_packet *packet,
                  const struct pl_link_verdict *verdict);

/* Write the buffered records. */
void pl_trace_flush(struct pl_trace *trace);

/* Flush, if it is open, and close the file. */
void pl_trace_close(struct pl_trace *trace);
