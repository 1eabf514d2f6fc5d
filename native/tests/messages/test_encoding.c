/* Both encodings: golden bytes, every size there and back, parts, and bytes that are no message. */
#include "check.h"
#include "messages/encoding.h"

static uint8_t content[PL_MESSAGE_MAX_BYTES];
static uint8_t wire[PL_MESSAGE_MAX_BYTES + PL_PROTOBUF_EXTRA_BYTES];

static void check_golden(void)
{
    static const uint8_t fixed[] = {0x00, 0x00, 0x01, 0x2C, 'a', 'b'};
    static const uint8_t serialised[] = {0x07, 0x08, 0xAC, 0x02, 0x12, 0x02, 'a', 'b'};
    const uint8_t *text = (const uint8_t *)"ab";
    CHECK_EQUAL(pl_encode(PL_ENCODING_FIXED, wire, 300, text, 6), sizeof fixed);
    CHECK(memcmp(wire, fixed, sizeof fixed) == 0);
    CHECK_EQUAL(pl_encode(PL_ENCODING_PROTOBUF, wire, 300, text, 6), sizeof serialised);
    CHECK(memcmp(wire, serialised, sizeof serialised) == 0);
    /* Default values take no bytes: a message with number 0 and no content is a length of 0. */
    CHECK_EQUAL(pl_encode(PL_ENCODING_PROTOBUF, wire, 0, text, 4), 1);
    CHECK_EQUAL(wire[0], 0);
}

static void check_round_trip(enum pl_encoding encoding, uint32_t number, size_t size)
{
    uint32_t found;
    const uint8_t *inner;
    size_t bytes = pl_encode(encoding, wire, number, content, size);
    CHECK(bytes <= pl_encoded_max(encoding, size));
    CHECK_EQUAL(pl_decode(encoding, wire, bytes, size, &found, &inner), bytes);
    CHECK_EQUAL(found, number);
    CHECK(memcmp(inner, content, size - PL_NUMBER_BYTES) == 0);
    CHECK_EQUAL(pl_decode(encoding, wire, bytes - 1, size, &found, &inner), 0);
    CHECK_EQUAL(pl_decode(encoding, wire, 0, size, &found, &inner), 0);
}

static void check_sizes(void)
{
    static const size_t sizes[] = {4, 5, 8, 64, 131, 132, 133, 256, 1024, 16387, 16388, 16389, 65535, 65536};
    static const uint32_t numbers[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++)
            for (int encoding = 0; encoding < PL_ENCODINGS; encoding++)
                check_round_trip((enum pl_encoding)encoding, numbers[n], sizes[i]);
}

/* Fields in another order and fields that are not known: what other writers of the format may send. */
static void check_other_writers(void)
{
    static const uint8_t swapped[] = {0x06, 0x12, 0x02, 'a', 'b', 0x08, 0x05};
    static const uint8_t unknown[] = {0x0B, 0x18, 0x01, 0x25, 1, 2, 3, 4, 0x08, 0x05, 0x12, 0x00};
    uint32_t number;
    const uint8_t *inner;
    CHECK_EQUAL(pl_decode(PL_ENCODING_PROTOBUF, swapped, sizeof swapped, 6, &number, &inner), 7);
    CHECK_EQUAL(number, 5);
    CHECK(memcmp(inner, "ab", 2) == 0);
    CHECK_EQUAL(pl_decode(PL_ENCODING_PROTOBUF, unknown, sizeof unknown, 4, &number, &inner), 12);
    CHECK_EQUAL(number, 5);
}

static void check_refused(void)
{
    static const uint8_t endless[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    static const uint8_t too_long[] = {0x93, 0x08}; /* 1043: one more than a message of 6 can take */
    static const uint8_t overrun[] = {0x03, 0x12, 0x09, 'a'};
    static const uint8_t group[] = {0x02, 0x1B, 0x01};
    static const uint8_t other_size[] = {0x04, 0x08, 0x05, 0x12, 0x00};
    uint32_t number;
    const uint8_t *inner;
    CHECK_EQUAL(pl_decode(PL_ENCODING_PROTOBUF, endless, sizeof endless, 6, &number, &inner), -1);
    CHECK_EQUAL(pl_decode(PL_ENCODING_PROTOBUF, too_long, sizeof too_long, 6, &number, &inner), -1);
    CHECK_EQUAL(pl_decode(PL_ENCODING_PROTOBUF, overrun, sizeof overrun, 6, &number, &inner), -1);
    CHECK_EQUAL(pl_decode(PL_ENCODING_PROTOBUF, group, sizeof group, 4, &number, &inner), -1);
    CHECK_EQUAL(pl_decode(PL_ENCODING_PROTOBUF, other_size, sizeof other_size, 6, &number, &inner), -1);
}

int main(void)
{
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (uint8_t)(i * 31);
    check_golden();
    check_sizes();
    check_other_writers();
    check_refused();
    CHECK_RETURN();
}
