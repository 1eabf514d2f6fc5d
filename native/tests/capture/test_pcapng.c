/* The blocks of pcapng, byte by byte as the specification draws them. */
#include "check.h"

#include "capture/pcapng.h"

static void check_block(const uint8_t *got, size_t length, const uint8_t *want, size_t want_length)
{
    CHECK_EQUAL(length, want_length);
    CHECK(length == want_length && memcmp(got, want, want_length) == 0);
}

static void check_section(void)
{
    static const uint8_t want[] = {
        0x0a, 0x0d, 0x0d, 0x0a, 44,   0,    0,    0,    /* type, length */
        0x4d, 0x3c, 0x2b, 0x1a, 1,    0,    0,    0,    /* order of bytes, version 1.0 */
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* length of the section: not stated */
        4,    0,    6,    0,    'p',  'r',  'o',  'b',  'e', 'r', 0, 0, /* program, padded */
        0,    0,    0,    0,    44,   0,    0,    0,
    };
    uint8_t got[PL_PCAPNG_BLOCK_BYTES_MAX];
    check_block(got, pl_pcapng_section(got, "prober"), want, sizeof want);
}

static void check_interface(void)
{
    static const uint8_t want[] = {
        1,   0, 0, 0, 44,  0,   0,   0,                 /* type, length */
        101, 0, 0, 0, 128, 0,   0,   0,                 /* LINKTYPE_RAW, snap length */
        2,   0, 5, 0, 'e', 't', 'h', '1', '0', 0, 0, 0, /* name, padded */
        9,   0, 1, 0, 9,   0,   0,   0,                 /* times in 10^-9 s */
        0,   0, 0, 0, 44,  0,   0,   0,
    };
    uint8_t got[PL_PCAPNG_BLOCK_BYTES_MAX];
    check_block(got, pl_pcapng_interface(got, "eth10", 128), want, sizeof want);
}

static void check_packet(void)
{
    static const uint8_t data[] = {0x45, 0x00, 0x01, 0x02, 0x03};
    static const uint8_t want[] = {
        6,  0, 0, 0, 40,   0,    0,    0,                   /* type, length */
        2,  0, 0, 0, 0x04, 0x03, 0x02, 0x01,                /* interface; time: its high half */
        8,  7, 6, 5, 5,    0,    0,    0,                   /* its low half; captured */
        1,  0, 1, 0, 0x45, 0x00, 0x01, 0x02, 0x03, 0, 0, 0, /* length of the packet, the packet, padding */
        40, 0, 0, 0,
    };
    const struct pl_pcapng_packet packet = {.interface = 2,
                                            .time_ns = INT64_C(0x0102030405060708),
                                            .captured_bytes = sizeof data,
                                            .original_bytes = 65537,
                                            .data = data};
    uint8_t got[64];
    check_block(got, pl_pcapng_packet(got, &packet), want, sizeof want);
    CHECK(sizeof want <= sizeof data + PL_PCAPNG_PACKET_EXTRA_BYTES);
}

static void check_statistics(void)
{
    static const uint8_t want[] = {
        5, 0, 0, 0, 88, 0, 0, 0,             /* type, length */
        1, 0, 0, 0, 0,  0, 0, 0, 9, 0, 0, 0, /* interface, time */
        2, 0, 8, 0, 0,  0, 0, 0, 7, 0, 0, 0, /* start */
        3, 0, 8, 0, 0,  0, 0, 0, 9, 0, 0, 0, /* end */
        6, 0, 8, 0, 30, 0, 0, 0, 0, 0, 0, 0, /* passed the filter */
        7, 0, 8, 0, 20, 0, 0, 0, 0, 0, 0, 0, /* dropped */
        8, 0, 8, 0, 10, 0, 0, 0, 0, 0, 0, 0, /* in the file */
        0, 0, 0, 0, 88, 0, 0, 0,
    };
    const struct pl_pcapng_statistics statistics = {
        .interface = 1, .start_ns = 7, .end_ns = 9, .accepted = 30, .dropped = 20, .recorded = 10};
    uint8_t got[PL_PCAPNG_BLOCK_BYTES_MAX];
    check_block(got, pl_pcapng_statistics(got, &statistics), want, sizeof want);
}

static void check_longest_names(void)
{
    char name[2 * PL_PCAPNG_NAME_BYTES_MAX];
    uint8_t got[PL_PCAPNG_BLOCK_BYTES_MAX];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    CHECK_EQUAL(pl_pcapng_section(got, name), 24 + 4 + PL_PCAPNG_NAME_BYTES_MAX + 4 + 4);
    CHECK(pl_pcapng_interface(got, name, 60) <= PL_PCAPNG_BLOCK_BYTES_MAX);
}

int main(void)
{
    check_section();
    check_interface();
    check_packet();
    check_statistics();
    check_longest_names();
    CHECK_RETURN();
}
