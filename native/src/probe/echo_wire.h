/* The messages between `ping` and the peer engine's echo (PROTOCOL.md). Each carries its direction and a
 * digest keyed with the token, so that none can be forged and no echo takes a reply for a request. */
#ifndef PL_ECHO_WIRE_H
#define PL_ECHO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/token.h"

/* Version 1 had the token itself in front, and no direction. */
#define PL_PROBE_VERSION 2
#define PL_PROBE_HEAD_BYTES 40
#define PL_PROBE_MESSAGE_MAX 65000

/* The start of a TCP connection: the echo's challenge, then the prober's greeting. */
#define PL_ECHO_NONCE_BYTES 16
#define PL_ECHO_CHALLENGE_BYTES 24
#define PL_ECHO_RESPONSE_BYTES 16

enum pl_probe_kind { PL_PROBE_REQUEST = 1, PL_PROBE_REPLY = 2, PL_ECHO_CHALLENGE = 3, PL_ECHO_RESPONSE = 4 };
/* PL_PROBE_REFUSED: another token, size or direction, or no probe at all. */
enum pl_probe_verdict { PL_PROBE_ADMITTED, PL_PROBE_REFUSED, PL_PROBE_OTHER_VERSION };

struct pl_probe_head {
    uint64_t cookie; /* of the run of ping */
    uint64_t sequence;
    pl_ns held_ns; /* for how long the echo held it; 0 in a request */
};

/* Writes the head of a message of `bytes` bytes (PL_PROBE_HEAD_BYTES to PL_PROBE_MESSAGE_MAX); what is behind
 * it stays as it is. */
void pl_probe_encode(const struct pl_probe_head *head, enum pl_probe_kind kind, size_t bytes,
                     const uint8_t token[PL_TOKEN_BYTES], uint8_t *message);
/* Whether a message is of that kind, of that size and by one who knows the token; `head` is then filled. The
 * time does not depend on where a wrong digest differs. */
enum pl_probe_verdict pl_probe_decode(const uint8_t *message, size_t bytes, enum pl_probe_kind kind,
                                      const uint8_t token[PL_TOKEN_BYTES], struct pl_probe_head *head);
/* Makes the reply to a request out of it, in place, with the time held from the kernel's receive stamp
 * (CLOCK_REALTIME; 0: none, `received_ns` by CLOCK_MONOTONIC stands in) until now. */
void pl_probe_make_reply(struct pl_probe_head *head, pl_ns stamp_realtime_ns, pl_ns received_ns, size_t bytes,
                         const uint8_t token[PL_TOKEN_BYTES], uint8_t *message);

void pl_echo_challenge_encode(const uint8_t nonce[PL_ECHO_NONCE_BYTES],
                              uint8_t bytes[PL_ECHO_CHALLENGE_BYTES]);
/* False when it is no challenge of an echo; else its version, and of ours the nonce. */
bool pl_echo_challenge_decode(const uint8_t bytes[PL_ECHO_CHALLENGE_BYTES], uint8_t *version,
                              uint8_t nonce[PL_ECHO_NONCE_BYTES]);
void pl_echo_response_encode(const uint8_t token[PL_TOKEN_BYTES], const uint8_t nonce[PL_ECHO_NONCE_BYTES],
                             uint32_t message_bytes, uint8_t bytes[PL_ECHO_RESPONSE_BYTES]);
/* Whether the greeting answers this nonce, knows the token and asks for a size that an echo takes. */
enum pl_probe_verdict pl_echo_response_decode(const uint8_t bytes[PL_ECHO_RESPONSE_BYTES],
                                              const uint8_t token[PL_TOKEN_BYTES],
                                              const uint8_t nonce[PL_ECHO_NONCE_BYTES],
                                              uint32_t *message_bytes);

#endif
