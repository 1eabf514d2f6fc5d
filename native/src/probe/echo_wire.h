/* The messages between `ping` and `echo` (PROTOCOL.md). Each carries its direction and a digest keyed with
 * the token, so it cannot be forged, and an echo never takes a reply for a request. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/token.h"

/* Version 1 began with the token itself and had no direction. */
#define PL_PROBE_VERSION 2
#define PL_PROBE_HEAD_BYTES 40
#define PL_PROBE_MESSAGE_MAX 65000

/* The handshake of a TCP connection: the echo's challenge, then the prober's response. */
#define PL_ECHO_NONCE_BYTES 16
#define PL_ECHO_CHALLENGE_BYTES 24
#define PL_ECHO_RESPONSE_BYTES 16

enum pl_probe_kind { PL_PROBE_REQUEST = 1, PL_PROBE_REPLY = 2, PL_ECHO_CHALLENGE = 3, PL_ECHO_RESPONSE = 4 };
/* PL_PROBE_REFUSED: another token, size or direction, or no probe at all. */
enum pl_probe_verdict { PL_PROBE_ADMITTED, PL_PROBE_REFUSED, PL_PROBE_OTHER_VERSION };

struct pl_probe_head {
    uint64_t cookie; /* of the run of ping */
    uint64_t sequence;
    pl_ns held_ns; /* time between receipt and reply at the echo; 0 in a request */
};

/* Writes the head of a message of `bytes` bytes (PL_PROBE_HEAD_BYTES to PL_PROBE_MESSAGE_MAX); leaves the
 * padding behind it alone. */
void pl_probe_encode(const struct pl_probe_head *head, enum pl_probe_kind kind, size_t bytes,
                     const uint8_t token[PL_TOKEN_BYTES], uint8_t *message);
/* Checks kind, size and digest of a message; fills `head` when it is admitted. The time does not depend on
 * where a wrong digest differs. */
enum pl_probe_verdict pl_probe_decode(const uint8_t *message, size_t bytes, enum pl_probe_kind kind,
                                      const uint8_t token[PL_TOKEN_BYTES], struct pl_probe_head *head);
/* Turns a request into its reply, in place. The time held runs from the kernel's receive timestamp
 * (CLOCK_REALTIME; 0: none, then from `received_ns` on CLOCK_MONOTONIC) until now. */
void pl_probe_make_reply(struct pl_probe_head *head, pl_ns stamp_realtime_ns, pl_ns received_ns, size_t bytes,
                         const uint8_t token[PL_TOKEN_BYTES], uint8_t *message);

void pl_echo_challenge_encode(const uint8_t nonce[PL_ECHO_NONCE_BYTES],
                              uint8_t bytes[PL_ECHO_CHALLENGE_BYTES]);
/* False when it is no challenge of an echo; else fills the version, and for this version the nonce. */
bool pl_echo_challenge_decode(const uint8_t bytes[PL_ECHO_CHALLENGE_BYTES], uint8_t *version,
                              uint8_t nonce[PL_ECHO_NONCE_BYTES]);
void pl_echo_response_encode(const uint8_t token[PL_TOKEN_BYTES], const uint8_t nonce[PL_ECHO_NONCE_BYTES],
                             uint32_t message_bytes, uint8_t bytes[PL_ECHO_RESPONSE_BYTES]);
/* Checks the response against the nonce and the token, and the size that it requests. */
enum pl_probe_verdict pl_echo_response_decode(const uint8_t bytes[PL_ECHO_RESPONSE_BYTES],
                                              const uint8_t token[PL_TOKEN_BYTES],
                                              const uint8_t nonce[PL_ECHO_NONCE_BYTES],
                                              uint32_t *message_bytes);
