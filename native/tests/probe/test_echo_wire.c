/* Probes and the handshake of a TCP connection to the echo, byte by byte as in PROTOCOL.md. */
#include "check.h"
#include "probe/echo_wire.h"

/* The digests were computed by `openssl mac ... SIPHASH` (OpenSSL 3.0). */
static const uint8_t token[PL_TOKEN_BYTES] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                              0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF};
static const uint8_t golden_request[PL_PROBE_HEAD_BYTES] = {
    0x50, 0x4C, 0x50, 0x42,                         /* magic */
    0x02, 0x01,                                     /* version; kind: request */
    0x00, 0x28,                                     /* size: 40 */
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* cookie */
    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, /* sequence */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* time held */
    0x3E, 0xA9, 0x24, 0x83, 0xB8, 0x19, 0xA9, 0x34, /* digest */
};
static const uint8_t golden_reply[PL_PROBE_HEAD_BYTES] = {
    0x50, 0x4C, 0x50, 0x42,                         /* magic */
    0x02, 0x02,                                     /* version; kind: reply */
    0x01, 0x2C,                                     /* size: 300 */
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* cookie */
    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, /* sequence */
    0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, /* time held */
    0x11, 0x2A, 0xC0, 0xF0, 0x50, 0xD4, 0x72, 0x34, /* digest */
};
static const uint8_t golden_challenge[PL_ECHO_CHALLENGE_BYTES] = {
    0x50, 0x4C, 0x50, 0x42,                         /* magic */
    0x02, 0x03,                                     /* version; kind: challenge */
    0x00, 0x18,                                     /* size: 24 */
    0xA0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, /* nonce */
    0xA8, 0xA9, 0xAA, 0xAB, 0xAC, 0xAD, 0xAE, 0xAF, /* */
};
static const uint8_t golden_response[PL_ECHO_RESPONSE_BYTES] = {
    0x50, 0x4C, 0x50, 0x42,                         /* magic */
    0x02, 0x04,                                     /* version; kind: response */
    0x00, 0x64,                                     /* size of every message: 100 */
    0x28, 0xD5, 0x1F, 0x0B, 0xE9, 0xFF, 0x36, 0x5B, /* digest of these and the nonce */
};
static const uint8_t *const nonce = golden_challenge + 8;

static const struct pl_probe_head head = {.cookie = UINT64_C(0x0102030405060708),
                                          .sequence = UINT64_C(0x1112131415161718)};

static void check_probes(void)
{
    uint8_t message[300];
    struct pl_probe_head back;
    memset(message, 0xA5, sizeof message);
    pl_probe_encode(&head, PL_PROBE_REQUEST, PL_PROBE_HEAD_BYTES, token, message);
    CHECK(memcmp(message, golden_request, sizeof golden_request) == 0);
    CHECK_EQUAL(message[PL_PROBE_HEAD_BYTES], 0xA5);
    CHECK_EQUAL(pl_probe_decode(message, PL_PROBE_HEAD_BYTES, PL_PROBE_REQUEST, token, &back),
                PL_PROBE_ADMITTED);
    CHECK(back.cookie == head.cookie && back.sequence == head.sequence && back.held_ns == 0);

    struct pl_probe_head held = head;
    held.held_ns = INT64_C(0x2122232425262728);
    pl_probe_encode(&held, PL_PROBE_REPLY, sizeof message, token, message);
    CHECK(memcmp(message, golden_reply, sizeof golden_reply) == 0);
    CHECK_EQUAL(pl_probe_decode(message, sizeof message, PL_PROBE_REPLY, token, &back), PL_PROBE_ADMITTED);
    CHECK_EQUAL(back.held_ns, held.held_ns);
}

/* A changed head is refused, as is a reply in place of a request and the reverse. */
static void check_forgeries(void)
{
    struct pl_probe_head back;
    uint8_t message[PL_PROBE_HEAD_BYTES];
    for (unsigned bit = 0; bit < 8 * sizeof message; bit++) {
        memcpy(message, golden_request, sizeof message);
        message[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(pl_probe_decode(message, sizeof message, PL_PROBE_REQUEST, token, &back) != PL_PROBE_ADMITTED);
        CHECK(pl_probe_decode(message, sizeof message, PL_PROBE_REPLY, token, &back) != PL_PROBE_ADMITTED);
    }
    uint8_t reply[300] = {0};
    memcpy(reply, golden_reply, sizeof golden_reply);
    CHECK_EQUAL(pl_probe_decode(reply, sizeof reply, PL_PROBE_REQUEST, token, &back), PL_PROBE_REFUSED);
    CHECK_EQUAL(pl_probe_decode(reply, sizeof reply - 1, PL_PROBE_REPLY, token, &back), PL_PROBE_REFUSED);
    const uint8_t other[PL_TOKEN_BYTES] = {0x01};
    CHECK_EQUAL(pl_probe_decode(reply, sizeof reply, PL_PROBE_REPLY, other, &back), PL_PROBE_REFUSED);
    for (size_t bytes = 0; bytes < PL_PROBE_HEAD_BYTES; bytes++)
        CHECK_EQUAL(pl_probe_decode(golden_request, bytes, PL_PROBE_REQUEST, token, &back), PL_PROBE_REFUSED);
}

static void check_versions(void)
{
    struct pl_probe_head back;
    uint8_t message[PL_PROBE_HEAD_BYTES] = {0};
    memcpy(message, golden_request, sizeof message);
    message[4] = 3;
    CHECK_EQUAL(pl_probe_decode(message, sizeof message, PL_PROBE_REQUEST, token, &back),
                PL_PROBE_OTHER_VERSION);
    memcpy(message, token, sizeof token); /* version 1 began with the token */
    CHECK_EQUAL(pl_probe_decode(message, sizeof message, PL_PROBE_REQUEST, token, &back),
                PL_PROBE_OTHER_VERSION);
}

static void check_reply(void)
{
    uint8_t message[PL_PROBE_HEAD_BYTES];
    struct pl_probe_head turned = head;
    struct pl_probe_head back;
    pl_ns received_ns = pl_now_ns() - 1000;
    memcpy(message, golden_request, sizeof message);
    pl_probe_make_reply(&turned, 0, received_ns, sizeof message, token, message);
    CHECK_EQUAL(pl_probe_decode(message, sizeof message, PL_PROBE_REPLY, token, &back), PL_PROBE_ADMITTED);
    CHECK(back.cookie == head.cookie && back.sequence == head.sequence);
    CHECK(back.held_ns >= 1000 && back.held_ns <= pl_now_ns() - received_ns);
    /* A real-time clock set back meanwhile is ignored. */
    pl_probe_make_reply(&turned, pl_realtime_ns() + PL_NS_PER_S, received_ns, sizeof message, token, message);
    CHECK(turned.held_ns >= 1000);
}

static void check_response(void)
{
    uint8_t challenge[PL_ECHO_CHALLENGE_BYTES];
    uint8_t response[PL_ECHO_RESPONSE_BYTES];
    uint8_t read_nonce[PL_ECHO_NONCE_BYTES];
    uint8_t version = 0;
    uint32_t size = 0;
    pl_echo_challenge_encode(nonce, challenge);
    CHECK(memcmp(challenge, golden_challenge, sizeof challenge) == 0);
    CHECK(pl_echo_challenge_decode(challenge, &version, read_nonce));
    CHECK_EQUAL(version, 2);
    CHECK(memcmp(read_nonce, nonce, sizeof read_nonce) == 0);
    challenge[4] = 7;
    CHECK(pl_echo_challenge_decode(challenge, &version, read_nonce));
    CHECK_EQUAL(version, 7);
    challenge[0] ^= 1;
    CHECK(!pl_echo_challenge_decode(challenge, &version, read_nonce));

    pl_echo_response_encode(token, nonce, 100, response);
    CHECK(memcmp(response, golden_response, sizeof response) == 0);
    CHECK_EQUAL(pl_echo_response_decode(response, token, nonce, &size), PL_PROBE_ADMITTED);
    CHECK_EQUAL(size, 100);
    /* A recorded response is refused on another connection. */
    read_nonce[0] ^= 1;
    CHECK_EQUAL(pl_echo_response_decode(response, token, read_nonce, &size), PL_PROBE_REFUSED);
    for (unsigned bit = 0; bit < 8 * sizeof response; bit++) {
        memcpy(response, golden_response, sizeof response);
        response[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(pl_echo_response_decode(response, token, nonce, &size) != PL_PROBE_ADMITTED);
    }
    pl_echo_response_encode(token, nonce, PL_PROBE_HEAD_BYTES - 1, response);
    CHECK_EQUAL(pl_echo_response_decode(response, token, nonce, &size), PL_PROBE_REFUSED);
    pl_echo_response_encode(token, nonce, PL_PROBE_MESSAGE_MAX + 1, response);
    CHECK_EQUAL(pl_echo_response_decode(response, token, nonce, &size), PL_PROBE_REFUSED);
    pl_echo_response_encode(token, nonce, PL_PROBE_MESSAGE_MAX, response);
    CHECK_EQUAL(pl_echo_response_decode(response, token, nonce, &size), PL_PROBE_ADMITTED);
}

int main(void)
{
    check_probes();
    check_forgeries();
    check_versions();
    check_reply();
    check_response();
    CHECK_RETURN();
}
