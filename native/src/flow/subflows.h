/* The subflows of an MPTCP connection (RFC 8684): which addresses each uses, and its TCP_INFO. Needs no
 * privilege and never waits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/json.h"
#include "flow/tcp_info.h"

/* The first one and the most that Linux lets join; further ones are left out. */
enum { PL_SUBFLOWS_MAX = 9 };

struct pl_subflow {
    int64_t id; /* the kernel's, of the connection's subflow; -1: not known */
    struct pl_address local;
    struct pl_address remote;
    struct pl_tcp_info info;
};

struct pl_subflows {
    bool known; /* false: the kernel refused, or the connection does not use MPTCP */
    uint32_t count;
    struct pl_subflow list[PL_SUBFLOWS_MAX];
};

/* Reads the subflows that are open now, by MPTCP_FULL_INFO (Linux 6.5), else by MPTCP_TCPINFO and
 * MPTCP_SUBFLOW_ADDRS (Linux 5.16). */
void pl_subflows_read(int fd, struct pl_subflows *subflows);
/* The latter alone: without ids, and not known where subflows came or went between the two. */
void pl_subflows_read_parts(int fd, struct pl_subflows *subflows);

/* An array under `key` with an object for each subflow; null where nothing is known of any stream. */
void pl_subflows_write(struct pl_json *j, const char *key, const struct pl_subflows *streams, uint32_t count);
