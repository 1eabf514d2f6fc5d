/* The header of a datagram against the bytes that PROTOCOL.md gives, also past 2^32 datagrams. */
#include "check.h"
#include "datagrams/datagram_header.h"
#include "datagrams/sequence_meter.h"

static const uint8_t token[PL_TOKEN_BYTES] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                              0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF};
static const uint8_t golden[PL_DATAGRAM_HEADER_BYTES] = {0, 0,    0,    1,    0, 0, 0, 0, 0, 0, 0,
                                                         0, 0x3B, 0x9A, 0xCA, 0, 1, 2, 3, 4, 1};

static void check_bytes(void)
{
    uint8_t bytes[PL_DATAGRAM_HEADER_BYTES];
    struct pl_datagram_header back;
    const struct pl_datagram_header header = {.sequence = UINT64_C(1) << 32,
                                              .sent_ns = 1000000000,
                                              .check = 0x01020304,
                                              .phase = PL_DATAGRAM_STEADY};
    pl_datagram_header_encode(&header, bytes);
    CHECK(memcmp(bytes, golden, sizeof golden) == 0);
    CHECK(pl_datagram_header_decode(golden, 0x01020304, &back));
    CHECK_EQUAL(back.sequence, UINT64_C(1) << 32);
    CHECK_EQUAL(back.sent_ns, 1000000000);
    CHECK_EQUAL(back.phase, PL_DATAGRAM_STEADY);
}

static void check_foreign(void)
{
    struct pl_datagram_header back;
    uint8_t bytes[PL_DATAGRAM_HEADER_BYTES];
    CHECK(!pl_datagram_header_decode(golden, 0x01020305, &back));
    memcpy(bytes, golden, sizeof bytes);
    bytes[20] = PL_DATAGRAM_PHASES;
    CHECK(!pl_datagram_header_decode(bytes, 0x01020304, &back));
    memcpy(bytes, golden, sizeof bytes);
    bytes[0] = 0x80; /* PL_SEQUENCE_NUMBER_END and more */
    CHECK(!pl_datagram_header_decode(bytes, 0x01020304, &back));
    bytes[0] = 0x7F;
    CHECK(pl_datagram_header_decode(bytes, 0x01020304, &back));
}

/* By `openssl mac -macopt hexkey:… -macopt size:8 SIPHASH`: of 00000000 01, 00000000 02 and 00000001 01. */
static void check_digests(void)
{
    CHECK_EQUAL(pl_datagram_check(token, 0, true), 0x04415FB4);
    CHECK_EQUAL(pl_datagram_check(token, 0, false), 0xC59958AE);
    CHECK_EQUAL(pl_datagram_check(token, 1, true), 0x4403C804);
}

int main(void)
{
    check_bytes();
    check_foreign();
    check_digests();
    CHECK_RETURN();
}
