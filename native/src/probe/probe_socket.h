/* The socket of `ping`: sends probes by one of four methods and reads answers and kernel timestamps. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/marking.h"
#include "base/token.h"
#include "probe/probe_settings.h"
#include "probe/probe_table.h"

enum pl_method { PL_ICMP_DATAGRAM, PL_ICMP_RAW, PL_PROBE_UDP, PL_PROBE_TCP, PL_METHODS };

#define PL_PROBE_PAYLOAD_MAX 65000

struct pl_probe_socket {
    int fd;
    enum pl_method method;
    bool v6;
    bool stamped; /* the kernel timestamps sent and received packets */
    bool keyed;   /* its transmit timestamps identify the probe */
    uint16_t identifier;
    uint64_t cookie;
    uint64_t sends; /* successful sends: the kernel's key of the next one */
    size_t payload_bytes;
    uint8_t token[PL_TOKEN_BYTES]; /* udp, tcp */
    uint8_t *message;              /* header and payload */
    uint8_t *incoming;
    size_t incoming_bytes;
    size_t got_bytes; /* tcp: of the incomplete message */
    int failure;      /* tcp: errno of a connection that is over */
};

/* The content of an answer: the probe, when the kernel received it (CLOCK_REALTIME; 0: unknown), and how long
 * the echo held it (-1: unknown, as with ICMP). */
struct pl_probe_answer {
    uint64_t sequence;
    pl_ns kernel_received_ns;
    pl_ns held_ns;
};

const char *pl_method_name(enum pl_method method);
/* Whether `echo` answers the probes, not the peer's kernel. */
bool pl_method_is_echoed(enum pl_method method);
/* The smallest payload with which a method recognises its own probes. */
size_t pl_method_payload_min(enum pl_method method);

/* Opens and connects a socket; false with `error` set. Close it with pl_probe_socket_close() in either case.
 */
bool pl_probe_socket_open(struct pl_probe_socket *probing, enum pl_method method,
                          const struct pl_probe_settings *settings, struct pl_error *error);
void pl_probe_socket_close(struct pl_probe_socket *probing);

/* The best timestamps that are available for its round trips. */
enum pl_stamps pl_probe_socket_stamps(const struct pl_probe_socket *probing);

/* Sends one probe. 0, or the errno. */
int pl_probe_socket_send(struct pl_probe_socket *probing, uint64_t sequence);
/* The next transmit timestamp; false when none is available. */
bool pl_probe_socket_next_stamp(struct pl_probe_socket *probing, uint64_t *key, pl_ns *kernel_sent_ns);
/* The next answer to a probe of this socket; skips other messages; false when none is available. */
bool pl_probe_socket_next_answer(struct pl_probe_socket *probing, struct pl_probe_answer *answer);
/* The errno of a connection that has ended; 0 while it is open. */
int pl_probe_socket_failure(const struct pl_probe_socket *probing);
