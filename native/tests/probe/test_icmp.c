/* ICMP echo messages, byte by byte. */
#include "check.h"

#include "probe/icmp.h"

/* RFC 1071: the ones' complement sum over a message with its checksum in place is 0xffff. */
static uint32_t sum(const uint8_t *bytes, size_t count)
{
    uint32_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += (uint32_t)bytes[i] << (i % 2 == 0 ? 8 : 0);
    while (total >> 16 != 0)
        total = (total & 0xffff) + (total >> 16);
    return total;
}

static void test_request(void)
{
    /* Type 8, code 0, identifier 0x1234, sequence 0x0001, payload "ab": 0x0800 + 0x1234 + 0x0001 + 0x6162 =
     * 0x7b97, whose complement is 0x8468. */
    static const uint8_t golden[] = {0x08, 0x00, 0x84, 0x68, 0x12, 0x34, 0x00, 0x01, 0x61, 0x62};
    uint8_t message[PL_ICMP_HEADER_BYTES + 64] = {[PL_ICMP_HEADER_BYTES] = 'a', 'b'};
    pl_icmp_write_request(message, 2, false, 0x1234, 1);
    CHECK(memcmp(message, golden, sizeof golden) == 0);
    for (size_t payload = 0; payload < 64; payload++) {
        for (size_t i = 0; i < payload; i++)
            message[PL_ICMP_HEADER_BYTES + i] = (uint8_t)(251 * i + payload);
        pl_icmp_write_request(message, payload, false, (uint16_t)(payload * 977), (uint16_t)(payload * 31));
        CHECK_EQUAL(sum(message, PL_ICMP_HEADER_BYTES + payload), 0xffff);
    }
    pl_icmp_write_request(message, 2, true, 0x1234, 1);
    CHECK_EQUAL(message[0], 128);
    CHECK_EQUAL(message[1], 0);
    CHECK_EQUAL(message[2] << 8 | message[3], 0);
    CHECK_EQUAL(message[4] << 8 | message[5], 0x1234);
    CHECK_EQUAL(message[6] << 8 | message[7], 1);
}

static void test_reply(void)
{
    uint8_t v4[20 + PL_ICMP_HEADER_BYTES + 3] = {[0] = 0x45, [28] = 'x', 'y', 'z'};
    size_t payload = 0;
    CHECK(pl_icmp_reply_payload(v4, sizeof v4, false, true, &payload) == v4 + 28);
    CHECK_EQUAL(payload, 3);
    CHECK(pl_icmp_reply_payload(v4 + 20, sizeof v4 - 20, false, false, &payload) == v4 + 28);
    /* Options make the IP header longer. */
    uint8_t longer[24 + PL_ICMP_HEADER_BYTES] = {[0] = 0x46};
    CHECK(pl_icmp_reply_payload(longer, sizeof longer, false, true, &payload) == longer + 32);
    CHECK_EQUAL(payload, 0);
    /* Truncated messages, a request, another code, an IPv6 header. */
    for (size_t bytes = 0; bytes < 28; bytes++)
        CHECK(pl_icmp_reply_payload(v4, bytes, false, true, &payload) == NULL);
    v4[20] = 8;
    CHECK(pl_icmp_reply_payload(v4, sizeof v4, false, true, &payload) == NULL);
    v4[20] = 0;
    v4[21] = 1;
    CHECK(pl_icmp_reply_payload(v4, sizeof v4, false, true, &payload) == NULL);
    v4[21] = 0;
    v4[0] = 0x65;
    CHECK(pl_icmp_reply_payload(v4, sizeof v4, false, true, &payload) == NULL);
    v4[0] = 0x4f; /* a header longer than the message */
    CHECK(pl_icmp_reply_payload(v4, sizeof v4, false, true, &payload) == NULL);
    const uint8_t v6[PL_ICMP_HEADER_BYTES + 1] = {129};
    CHECK(pl_icmp_reply_payload(v6, sizeof v6, true, false, &payload) == v6 + PL_ICMP_HEADER_BYTES);
    CHECK_EQUAL(payload, 1);
    for (size_t bytes = 0; bytes < PL_ICMP_HEADER_BYTES; bytes++)
        CHECK(pl_icmp_reply_payload(v6, bytes, true, false, &payload) == NULL);
    CHECK(pl_icmp_reply_payload(v6, sizeof v6, false, false, &payload) == NULL);
}

int main(void)
{
    test_request();
    test_reply();
    CHECK_RETURN();
}
