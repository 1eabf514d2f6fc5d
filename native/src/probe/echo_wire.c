#include "probe/echo_wire.h"

#include <string.h>

#include "base/bytes.h"
#include "base/siphash.h"

/* The same in every version, as are the offsets of version and kind. */
static const uint8_t magic[4] = {0x50, 0x4C, 0x50, 0x42};

#define VERSION_AT 4
#define KIND_AT 5
#define SIZE_AT 6 /* of the whole message; in a response: of all further messages */
#define COOKIE_AT 8
#define SEQUENCE_AT 16
#define HELD_AT 24
#define DIGEST_AT 32
#define RESPONSE_DIGEST_AT 8
#define NONCE_AT 8

_Static_assert(PL_TOKEN_BYTES == PL_SIPHASH_KEY_BYTES, "the token is the key of the digest");

static void write_header(enum pl_probe_kind kind, size_t size, uint8_t *bytes)
{
    memcpy(bytes, magic, sizeof magic);
    bytes[VERSION_AT] = PL_PROBE_VERSION;
    bytes[KIND_AT] = (uint8_t)kind;
    pl_put16(bytes + SIZE_AT, (uint32_t)size);
}

/* Checks magic, version and kind. Recognises other versions, whose further fields are unknown. */
static enum pl_probe_verdict check_header(const uint8_t *bytes, enum pl_probe_kind kind,
                                          const uint8_t token[PL_TOKEN_BYTES])
{
    if (memcmp(bytes, magic, sizeof magic) != 0)
        return pl_token_equal(bytes, token) ? PL_PROBE_OTHER_VERSION : PL_PROBE_REFUSED;
    if (bytes[VERSION_AT] != PL_PROBE_VERSION)
        return PL_PROBE_OTHER_VERSION;
    return bytes[KIND_AT] == kind ? PL_PROBE_ADMITTED : PL_PROBE_REFUSED;
}

void pl_probe_encode(const struct pl_probe_head *head, enum pl_probe_kind kind, size_t bytes,
                     const uint8_t token[PL_TOKEN_BYTES], uint8_t *message)
{
    write_header(kind, bytes, message);
    pl_put64(message + COOKIE_AT, head->cookie);
    pl_put64(message + SEQUENCE_AT, head->sequence);
    pl_put64(message + HELD_AT, (uint64_t)head->held_ns);
    pl_put64(message + DIGEST_AT, pl_siphash(token, message, DIGEST_AT));
}

enum pl_probe_verdict pl_probe_decode(const uint8_t *message, size_t bytes, enum pl_probe_kind kind,
                                      const uint8_t token[PL_TOKEN_BYTES], struct pl_probe_head *head)
{
    if (bytes < PL_TOKEN_BYTES)
        return PL_PROBE_REFUSED;
    enum pl_probe_verdict verdict = check_header(message, kind, token);
    if (verdict != PL_PROBE_ADMITTED)
        return verdict;
    if (bytes < PL_PROBE_HEAD_BYTES || pl_get16(message + SIZE_AT) != bytes ||
        pl_siphash(token, message, DIGEST_AT) != pl_get64(message + DIGEST_AT))
        return PL_PROBE_REFUSED;
    uint64_t held_ns = pl_get64(message + HELD_AT);
    head->cookie = pl_get64(message + COOKIE_AT);
    head->sequence = pl_get64(message + SEQUENCE_AT);
    head->held_ns = held_ns <= INT64_MAX ? (pl_ns)held_ns : 0;
    return PL_PROBE_ADMITTED;
}

void pl_probe_make_reply(struct pl_probe_head *head, pl_ns stamp_realtime_ns, pl_ns received_ns, size_t bytes,
                         const uint8_t token[PL_TOKEN_BYTES], uint8_t *message)
{
    pl_ns user_ns = pl_now_ns() - received_ns;
    head->held_ns = stamp_realtime_ns != 0 ? pl_realtime_ns() - stamp_realtime_ns : user_ns;
    /* CLOCK_REALTIME may have been set meanwhile: the user-space time is the lower bound. */
    if (head->held_ns < user_ns)
        head->held_ns = user_ns;
    pl_probe_encode(head, PL_PROBE_REPLY, bytes, token, message);
}

void pl_echo_challenge_encode(const uint8_t nonce[PL_ECHO_NONCE_BYTES],
                              uint8_t bytes[PL_ECHO_CHALLENGE_BYTES])
{
    write_header(PL_ECHO_CHALLENGE, PL_ECHO_CHALLENGE_BYTES, bytes);
    memcpy(bytes + NONCE_AT, nonce, PL_ECHO_NONCE_BYTES);
}

bool pl_echo_challenge_decode(const uint8_t bytes[PL_ECHO_CHALLENGE_BYTES], uint8_t *version,
                              uint8_t nonce[PL_ECHO_NONCE_BYTES])
{
    *version = bytes[VERSION_AT];
    memcpy(nonce, bytes + NONCE_AT, PL_ECHO_NONCE_BYTES);
    return memcmp(bytes, magic, sizeof magic) == 0 && bytes[KIND_AT] == PL_ECHO_CHALLENGE;
}

/* Covers the bytes before the digest and the nonce. */
static uint64_t digest_response(const uint8_t token[PL_TOKEN_BYTES], const uint8_t *header,
                                const uint8_t nonce[PL_ECHO_NONCE_BYTES])
{
    uint8_t covered[RESPONSE_DIGEST_AT + PL_ECHO_NONCE_BYTES];
    memcpy(covered, header, RESPONSE_DIGEST_AT);
    memcpy(covered + RESPONSE_DIGEST_AT, nonce, PL_ECHO_NONCE_BYTES);
    return pl_siphash(token, covered, sizeof covered);
}

void pl_echo_response_encode(const uint8_t token[PL_TOKEN_BYTES], const uint8_t nonce[PL_ECHO_NONCE_BYTES],
                             uint32_t message_bytes, uint8_t bytes[PL_ECHO_RESPONSE_BYTES])
{
    write_header(PL_ECHO_RESPONSE, message_bytes, bytes);
    pl_put64(bytes + RESPONSE_DIGEST_AT, digest_response(token, bytes, nonce));
}

enum pl_probe_verdict pl_echo_response_decode(const uint8_t bytes[PL_ECHO_RESPONSE_BYTES],
                                              const uint8_t token[PL_TOKEN_BYTES],
                                              const uint8_t nonce[PL_ECHO_NONCE_BYTES],
                                              uint32_t *message_bytes)
{
    enum pl_probe_verdict verdict = check_header(bytes, PL_ECHO_RESPONSE, token);
    if (verdict != PL_PROBE_ADMITTED)
        return verdict;
    size_t size = pl_get16(bytes + SIZE_AT);
    *message_bytes = (uint32_t)size;
    bool valid = digest_response(token, bytes, nonce) == pl_get64(bytes + RESPONSE_DIGEST_AT) &&
                 size >= PL_PROBE_HEAD_BYTES && size <= PL_PROBE_MESSAGE_MAX;
    return valid ? PL_PROBE_ADMITTED : PL_PROBE_REFUSED;
}
