/* Messages that an echo and its prober receive. Bit 0 of the first byte selects a message or a handshake
 * response, bit 1 requests or replies, and bit 2 whether the digest is corrected before decoding. */
#include <string.h>

#include "base/bytes.h"
#include "base/siphash.h"
#include "probe/echo_wire.h"
#include "property.h"

enum { DIGEST_AT = 32, RESPONSE_DIGEST_AT = 8, MAX_BYTES = 4096 };

static const uint8_t token[PL_TOKEN_BYTES] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                              0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF};

/* An admitted message equals its own encoding, and its reply is not a request. */
static void check_message(uint8_t *message, size_t bytes, enum pl_probe_kind kind, bool signed_correctly)
{
    struct pl_probe_head head;
    uint8_t again[MAX_BYTES];
    if (signed_correctly && bytes >= PL_PROBE_HEAD_BYTES)
        pl_put64(message + DIGEST_AT, pl_siphash(token, message, DIGEST_AT));
    if (pl_probe_decode(message, bytes, kind, token, &head) != PL_PROBE_ADMITTED)
        return;
    REQUIRE(head.held_ns >= 0 && bytes >= PL_PROBE_HEAD_BYTES && bytes <= MAX_BYTES);
    memcpy(again, message, bytes);
    pl_probe_encode(&head, kind, bytes, token, again);
    /* A time beyond every clock is read as 0. */
    REQUIRE(memcmp(message, again, bytes) == 0 || head.held_ns == 0);
    pl_probe_make_reply(&head, 0, pl_now_ns(), bytes, token, again);
    REQUIRE(pl_probe_decode(again, bytes, PL_PROBE_REQUEST, token, &head) == PL_PROBE_REFUSED);
    REQUIRE(pl_probe_decode(again, bytes, PL_PROBE_REPLY, token, &head) == PL_PROBE_ADMITTED);
    REQUIRE(memcmp(again + PL_PROBE_HEAD_BYTES, message + PL_PROBE_HEAD_BYTES, bytes - PL_PROBE_HEAD_BYTES) ==
            0);
}

static void check_response(uint8_t *bytes, bool signed_correctly)
{
    uint8_t nonce[PL_ECHO_NONCE_BYTES];
    uint8_t covered[RESPONSE_DIGEST_AT + PL_ECHO_NONCE_BYTES];
    uint8_t again[PL_ECHO_RESPONSE_BYTES];
    uint8_t version;
    uint32_t size = 0;
    if (!pl_echo_challenge_decode(bytes, &version, nonce))
        memset(nonce, 0x5A, sizeof nonce);
    memcpy(covered, bytes, RESPONSE_DIGEST_AT);
    memcpy(covered + RESPONSE_DIGEST_AT, nonce, sizeof nonce);
    if (signed_correctly)
        pl_put64(bytes + RESPONSE_DIGEST_AT, pl_siphash(token, covered, sizeof covered));
    if (pl_echo_response_decode(bytes, token, nonce, &size) != PL_PROBE_ADMITTED)
        return;
    REQUIRE(size >= PL_PROBE_HEAD_BYTES && size <= PL_PROBE_MESSAGE_MAX);
    pl_echo_response_encode(token, nonce, size, again);
    REQUIRE(memcmp(bytes, again, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t message[MAX_BYTES];
    if (size == 0 || size - 1 > sizeof message)
        return 0;
    bool signed_correctly = (data[0] & 4) != 0;
    memcpy(message, data + 1, size - 1);
    if ((data[0] & 1) == 0)
        check_message(message, size - 1, (data[0] & 2) != 0 ? PL_PROBE_REPLY : PL_PROBE_REQUEST,
                      signed_correctly);
    else if (size - 1 >= PL_ECHO_CHALLENGE_BYTES)
        check_response(message, signed_correctly);
    return 0;
}
