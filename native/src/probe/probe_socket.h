/* The socket of `ping`: sends probes by one of three methods and reads answers and kernel stamps. */
#ifndef PL_PROBE_SOCKET_H
#define PL_PROBE_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/marking.h"
#include "base/token.h"
#include "probe/probe_table.h"

enum pl_method { PL_ICMP_DATAGRAM, PL_ICMP_RAW, PL_PROBE_UDP, PL_PROBE_TCP, PL_METHODS };

#define PL_PROBE_PAYLOAD_MAX 65000

struct pl_probe_settings {
    struct pl_address to;
    struct pl_address from; /* length 0: not bound */
    size_t payload_bytes;
    uint8_t token[PL_TOKEN_BYTES]; /* udp, tcp */
    struct pl_marking marking;
    pl_ns connect_timeout_ns; /* tcp */
};

struct pl_probe_socket {
    int fd;
    enum pl_method method;
    bool v6;
    bool stamped; /* the kernel stamps what goes out and what comes in */
    bool keyed;   /* its transmit stamps can be told apart */
    uint16_t identifier;
    uint64_t cookie;
    uint64_t sends; /* that succeeded: the kernel's key of the next one */
    size_t payload_bytes;
    uint8_t token[PL_TOKEN_BYTES]; /* udp, tcp */
    uint8_t *message;              /* header and payload */
    uint8_t *incoming;
    size_t incoming_bytes;
    size_t got_bytes; /* tcp: of the message under way */
    int failure;      /* tcp: why the connection is over, as errno */
};

/* What an answer says: to which probe, when the kernel received it (CLOCK_REALTIME; 0: it does not say), and
 * how long the peer's echo held it (-1: it does not say, as the kernel that answers ICMP). */
struct pl_probe_answer {
    uint64_t sequence;
    pl_ns kernel_received_ns;
    pl_ns held_ns;
};

const char *pl_method_name(enum pl_method method);
/* Whether the peer engine's echo answers it, not the peer's kernel. */
bool pl_method_is_echoed(enum pl_method method);
/* The least payload that a method can tell its own probes by. */
size_t pl_method_payload_min(enum pl_method method);

/* Opens and connects a socket; false with `error` set. Close it with pl_probe_socket_close() in either case.
 */
bool pl_probe_socket_open(struct pl_probe_socket *probing, enum pl_method method,
                          const struct pl_probe_settings *settings, struct pl_error *error);
void pl_probe_socket_close(struct pl_probe_socket *probing);

/* The best stamps that its round trips can be taken from. */
enum pl_stamps pl_probe_socket_stamps(const struct pl_probe_socket *probing);

/* Sends one probe. 0, or the errno. */
int pl_probe_socket_send(struct pl_probe_socket *probing, uint64_t sequence);
/* The next transmit stamp; false when there is none for now. */
bool pl_probe_socket_next_stamp(struct pl_probe_socket *probing, uint64_t *key, pl_ns *kernel_sent_ns);
/* The next answer to a probe of this socket, other messages skipped; false when there is none for now. */
bool pl_probe_socket_next_answer(struct pl_probe_socket *probing, struct pl_probe_answer *answer);
/* errno of a connection that the peer ended or that broke; 0 while there is none. */
int pl_probe_socket_failure(const struct pl_probe_socket *probing);

#endif
