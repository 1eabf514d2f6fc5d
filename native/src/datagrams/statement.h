/* What the two ends of a flow of datagrams state over the TCP connection of each stream (PROTOCOL.md,
 * "Datagrams"): a byte that names the kind, then numbers of 8 bytes in network byte order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "datagrams/datagram_header.h"

#define PL_STATEMENT_MAX_BYTES 33

enum pl_statement_kind {
    PL_STATEMENT_START,   /* the connecting end has started the trial */
    PL_STATEMENT_END,     /* this end will send no further datagram of the stream */
    PL_STATEMENT_RECEIPT, /* this end has received what it will */
    PL_STATEMENT_KINDS
};

struct pl_statement {
    enum pl_statement_kind kind;
    uint64_t sent[PL_DATAGRAM_PHASES]; /* end: datagrams handed to the kernel in each phase */
    uint64_t bytes;                    /* receipt: payload of all datagrams of the stream */
    uint64_t received;                 /* receipt: different datagrams that were sent in the steady window */
    uint64_t duplicates;
    uint64_t reordered;
};

/* The bytes of a statement; returns their number. */
size_t pl_statement_encode(const struct pl_statement *statement, uint8_t bytes[PL_STATEMENT_MAX_BYTES]);

/* What has come of a statement. Zero-initialise. */
struct pl_statement_reader {
    uint8_t bytes[PL_STATEMENT_MAX_BYTES];
    size_t have;
};

/* Takes bytes up to the end of the first statement. Returns the number taken: `complete` says whether a
 * statement is in `statement`. -1 for a byte that names no kind. */
ssize_t pl_statement_read(struct pl_statement_reader *reader, const uint8_t *bytes, size_t count,
                          struct pl_statement *statement, bool *complete);
