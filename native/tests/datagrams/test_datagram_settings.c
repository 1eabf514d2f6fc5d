/* Sizes of super-packets and of calls. */
#include "check.h"
#include "datagrams/datagram_header.h"
#include "datagrams/datagram_settings.h"

static struct pl_datagram_settings derive(int64_t bytes, bool gso, int64_t stream_rate, uint32_t streams)
{
    struct pl_datagram_settings settings = {.carried = true, .bytes = bytes, .gso = gso};
    pl_datagram_settings_derive(&settings, stream_rate, streams);
    return settings;
}

static void check_fit(void)
{
    CHECK_EQUAL(pl_datagram_fit(1500, false), 1472);
    CHECK_EQUAL(pl_datagram_fit(1500, true), 1452);
    CHECK_EQUAL(pl_datagram_fit(9000, false), 8972);
    CHECK_EQUAL(pl_datagram_fit(65536, false), 65507);
    CHECK_EQUAL(pl_datagram_fit(65536, true), 65488);
}

static void check_segments(void)
{
    static const struct {
        int64_t bytes, rate;
        uint32_t segments;
    } cases[] = {
        {1472, 0, 44}, /* 65,507 bytes */
        {64, 0, 64},   /* the kernel's limit */
        {32754, 0, 1}, /* two would be one byte too many */
        {32753, 0, 2},
        {65507, 0, 1},          /**/
        {1472, 1000000000, 44}, /* 84 in 1 ms */
        {1472, 118000000, 10},  /* 10.02 in 1 ms */
        {1472, 10000000, 1},
        {64, 1, 1}, /* less than one in 1 ms */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pl_datagram_settings settings = derive(cases[i].bytes, true, cases[i].rate, 1);
        CHECK_EQUAL(settings.segments, cases[i].segments);
        CHECK(settings.segments * cases[i].bytes <= PL_DATAGRAM_MAX_PAYLOAD_BYTES);
        CHECK_EQUAL(derive(cases[i].bytes, false, cases[i].rate, 1).segments, 1);
    }
}

static void check_batches(void)
{
    CHECK_EQUAL(derive(64, false, 0, 1).batch, 64);
    CHECK_EQUAL(derive(8972, false, 0, 1).batch, 29);
    CHECK_EQUAL(derive(65507, false, 0, 1).batch, 4);
    CHECK_EQUAL(derive(1472, true, 0, 1).batch, 4);
    /* Of many streams each has a short turn. */
    CHECK_EQUAL(derive(64, false, 0, 2048).batch, 1);
    CHECK_EQUAL(derive(64, false, 0, 4096).batch, 1);
    CHECK_EQUAL(derive(1472, true, 0, 4096).batch, 1);
}

int main(void)
{
    check_fit();
    check_segments();
    check_batches();
    CHECK_RETURN();
}
