/* The hello and its answer against the bytes that PROTOCOL.md states. */
#include "check.h"
#include "flow/hello.h"

static const uint8_t golden_hello[PL_HELLO_BYTES] = {
    0x50, 0x4C, 0x44, 0x43,                         /* magic */
    0x00, 0x04,                                     /* version */
    0x00, 0x03,                                     /* flags: both sides send */
    0x01, 0x02, 0x03, 0x04,                         /* stream */
    0x05, 0x06, 0x07, 0x08,                         /* streams */
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, /* token */
    0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, /* */
    0x00, 0x00, 0x00, 0x00, 0x11, 0xE1, 0xA3, 0x00, /* warm-up: 300 ms */
    0x00, 0x00, 0x00, 0x02, 0x54, 0x0B, 0xE4, 0x00, /* duration: 10 s */
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* bytes */
    0x00, 0x00, 0x40, 0x00,                         /* size of a message: 16384 */
    0x00, 0x01,                                     /* encoding */
    0x00, 0x04,                                     /* carrier */
    0x00, 0x10, 0x00, 0x00,                         /* queue: 1 MiB */
    0x00, 0x00, 0x05, 0xC0,                         /* payload of a datagram: 1472 */
    0x00, 0x03,                                     /* flags of datagrams: segmented, ECN */
    0x00, 0x02,                                     /* pacing: user */
    0x00, 0x00, 0x00, 0x00, 0x3B, 0x9A, 0xCA, 0x00, /* rate: 1 Gbit/s */
};
static const uint8_t golden_answer[PL_ANSWER_BYTES] = {
    0x50, 0x4C, 0x44, 0x43, /* magic */
    0x00, 0x01,             /* version */
    0x00, 0x01,             /* status: wrong version */
    0x0A, 0x0B, 0x0C, 0x0D, /* stream */
};

static void check_hello(void)
{
    struct pl_hello hello = {.version = 4,
                             .flags = PL_HELLO_FORWARD | PL_HELLO_REVERSE,
                             .stream = 0x01020304,
                             .streams = 0x05060708,
                             .warmup_ns = 300000000,
                             .duration_ns = 10000000000,
                             .bytes = 0x0102030405060708,
                             .message_bytes = 16384,
                             .encoding = 1,
                             .carrier = 4,
                             .queue_bytes = 1 << 20,
                             .datagram_bytes = 1472,
                             .datagram_flags = PL_HELLO_SEGMENTED | PL_HELLO_ECN,
                             .pacing = 2,
                             .rate_bits_per_s = 1000000000};
    memcpy(hello.token, golden_hello + 16, PL_TOKEN_BYTES);
    uint8_t bytes[PL_HELLO_BYTES];
    memset(bytes, 0xA5, sizeof bytes);
    pl_hello_encode(&hello, bytes);
    CHECK(memcmp(bytes, golden_hello, sizeof bytes) == 0);

    struct pl_hello back;
    memset(&back, 0xA5, sizeof back);
    CHECK(pl_hello_decode(golden_hello, &back));
    CHECK_EQUAL(back.version, 4);
    CHECK_EQUAL(back.flags, 3);
    CHECK_EQUAL(back.message_bytes, 16384);
    CHECK_EQUAL(back.encoding, 1);
    CHECK_EQUAL(back.carrier, 4);
    CHECK_EQUAL(back.queue_bytes, 1 << 20);
    CHECK_EQUAL(back.datagram_bytes, 1472);
    CHECK_EQUAL(back.datagram_flags, 3);
    CHECK_EQUAL(back.pacing, 2);
    CHECK_EQUAL(back.rate_bits_per_s, 1000000000);
    CHECK_EQUAL(back.warmup_ns, 300000000);
    CHECK_EQUAL(back.duration_ns, 10000000000);
    CHECK_EQUAL(back.bytes, 0x0102030405060708);
    CHECK_EQUAL(back.stream, 0x01020304);
    CHECK_EQUAL(back.streams, 0x05060708);
    CHECK(memcmp(back.token, golden_hello + 16, PL_TOKEN_BYTES) == 0);
}

static void check_extremes(void)
{
    uint8_t bytes[PL_HELLO_BYTES];
    pl_hello_encode(
        &(struct pl_hello){
            .version = UINT16_MAX, .flags = 0xFEDC, .stream = UINT32_MAX, .streams = UINT32_MAX - 1},
        bytes);
    CHECK_EQUAL(bytes[6], 0xFE);
    CHECK_EQUAL(bytes[7], 0xDC);
    struct pl_hello back;
    CHECK(pl_hello_decode(bytes, &back));
    CHECK_EQUAL(back.version, UINT16_MAX);
    CHECK_EQUAL(back.flags, 0xFEDC);
    CHECK_EQUAL(back.stream, UINT32_MAX);
    CHECK_EQUAL(back.streams, UINT32_MAX - 1);
}

static void check_magic(void)
{
    for (size_t i = 0; i < 4; i++) {
        uint8_t hello[PL_HELLO_BYTES];
        uint8_t answer[PL_ANSWER_BYTES];
        memcpy(hello, golden_hello, sizeof hello);
        memcpy(answer, golden_answer, sizeof answer);
        hello[i] ^= 0x20;
        answer[i] ^= 0x20;
        struct pl_hello decoded;
        struct pl_answer answered;
        uint16_t version;
        CHECK(!pl_hello_decode(hello, &decoded));
        CHECK(!pl_hello_peek(hello, &version));
        CHECK(!pl_answer_decode(answer, &answered));
    }
}

static void check_peek(void)
{
    /* Another version's hello may have another length: only the common part is read. */
    const uint8_t common[PL_HELLO_COMMON_BYTES] = {0x50, 0x4C, 0x44, 0x43, 0x02, 0x01};
    uint16_t version = 0;
    CHECK(pl_hello_peek(common, &version));
    CHECK_EQUAL(version, 0x0201);
}

static void check_answer(void)
{
    uint8_t bytes[PL_ANSWER_BYTES];
    memset(bytes, 0xA5, sizeof bytes);
    pl_answer_encode(
        &(struct pl_answer){.version = 1, .status = PL_ANSWER_WRONG_VERSION, .stream = 0x0A0B0C0D}, bytes);
    CHECK(memcmp(bytes, golden_answer, sizeof bytes) == 0);

    struct pl_answer back;
    CHECK(pl_answer_decode(golden_answer, &back));
    CHECK_EQUAL(back.version, 1);
    CHECK_EQUAL(back.status, PL_ANSWER_WRONG_VERSION);
    CHECK_EQUAL(back.stream, 0x0A0B0C0D);
    CHECK_EQUAL(PL_ANSWER_ADMITTED, 0);
}

static void check_busy(void)
{
    struct pl_busy busy = {.seconds = 0x01020304, .admitted = 0x05060708, .streams = 0x090A0B0C}, back;
    uint8_t bytes[PL_BUSY_BYTES], expected[PL_BUSY_BYTES];
    for (size_t i = 0; i < sizeof expected; i++)
        expected[i] = (uint8_t)(i + 1);
    for (size_t i = 0; i < sizeof busy.address; i++)
        busy.address[i] = (uint8_t)(i + 13);
    pl_busy_encode(&busy, bytes);
    CHECK(memcmp(bytes, expected, sizeof bytes) == 0);
    pl_busy_decode(bytes, &back);
    CHECK_EQUAL(back.seconds, busy.seconds);
    CHECK_EQUAL(back.admitted, busy.admitted);
    CHECK_EQUAL(back.streams, busy.streams);
    CHECK(memcmp(back.address, busy.address, sizeof back.address) == 0);
}

int main(void)
{
    check_hello();
    check_extremes();
    check_magic();
    check_peek();
    check_answer();
    check_busy();
    CHECK_RETURN();
}
