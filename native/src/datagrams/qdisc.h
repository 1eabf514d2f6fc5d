/* The queueing discipline that the packets of a socket leave by: some of them pace, most do not. */
#pragma once

#include <net/if.h>
#include <stdbool.h>

#define PL_QDISC_KIND_BYTES 16

struct pl_qdisc {
    char device[IF_NAMESIZE];
    char kind[PL_QDISC_KIND_BYTES]; /* such as "fq"; of several queues that of the first one */
};

/* Of a connected IPv4 or IPv6 socket; by rtnetlink, without privilege. False where the kernel does not say.
 */
bool pl_qdisc_find(int fd, struct pl_qdisc *qdisc);
