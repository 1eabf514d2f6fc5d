/* Derived settings of a flow: a receiver's settings from a hello, shares, sizes and pacing. */
#include "base/clock.h"
#include "check.h"
#include "flow/flow_settings.h"

static struct pl_flow receiver(void)
{
    char *argv[] = {"receive"};
    struct pl_flow flow;
    struct pl_error error = {0};
    CHECK_EQUAL(pl_flow_parse(&flow, false, 1, argv, &error), PL_OPTIONS_OK);
    CHECK(flow.open);
    return flow;
}

static struct pl_hello build_hello(void)
{
    return (struct pl_hello){.version = 2,
                             .flags = PL_HELLO_FORWARD,
                             .stream = 1,
                             .streams = 3,
                             .warmup_ns = 5,
                             .duration_ns = PL_NS_PER_S};
}

static void check_adopted(void)
{
    struct pl_flow flow = receiver();
    struct pl_hello hello = build_hello();
    CHECK(pl_flow_adopt(&flow, &hello));
    CHECK_EQUAL(flow.streams, 3);
    CHECK_EQUAL(flow.warmup_ns, 5);
    CHECK_EQUAL(flow.duration_ns, PL_NS_PER_S);
    CHECK_EQUAL(flow.bytes, 0);
    CHECK(flow.receives && !flow.transmits);
    CHECK(flow.workers >= 1 && flow.workers <= 3);
    CHECK_EQUAL(pl_flow_direction(&flow), PL_HELLO_FORWARD);
    /* The next stream of the same flow is accepted, one of another flow is not. */
    hello.stream = 0;
    CHECK(pl_flow_adopt(&flow, &hello));
    hello.streams = 4;
    CHECK(!pl_flow_adopt(&flow, &hello));
    hello.streams = 3;
    hello.flags = PL_HELLO_REVERSE;
    CHECK(!pl_flow_adopt(&flow, &hello));
}

static void check_reverse(void)
{
    struct pl_flow flow = receiver();
    struct pl_hello hello = build_hello();
    hello.flags = PL_HELLO_FORWARD | PL_HELLO_REVERSE;
    hello.bytes = 3;
    CHECK(pl_flow_adopt(&flow, &hello));
    CHECK(flow.receives && flow.transmits);
    CHECK_EQUAL(flow.bytes, 3);
}

/* The receiver's own flags win. */
static void check_flags_win(void)
{
    char *argv[] = {"receive", "--duration", "7s", "--streams", "3", "--direction", "forward"};
    struct pl_flow flow;
    struct pl_error error = {0};
    CHECK_EQUAL(pl_flow_parse(&flow, false, 7, argv, &error), PL_OPTIONS_OK);
    struct pl_hello hello = build_hello();
    CHECK(pl_flow_adopt(&flow, &hello));
    CHECK_EQUAL(flow.duration_ns, 7 * PL_NS_PER_S);
    CHECK_EQUAL(flow.warmup_ns, 5);
}

static void check_turned_away(void)
{
    struct pl_hello wrong[11];
    for (size_t i = 0; i < 11; i++)
        wrong[i] = build_hello();
    wrong[0].flags = 0;
    wrong[1].flags = 4;
    wrong[2].flags = PL_HELLO_FORWARD | 8;
    wrong[3].streams = 0;
    wrong[4].streams = PL_MAX_STREAMS + 1;
    wrong[5].stream = 3;
    wrong[6].warmup_ns = -1;
    wrong[7].duration_ns = 0;
    wrong[8].duration_ns = INT64_MAX;
    wrong[9].bytes = -1;
    wrong[10].bytes = 2; /* fewer than streams */
    for (size_t i = 0; i < 11; i++) {
        struct pl_flow flow = receiver();
        CHECK(!pl_flow_adopt(&flow, &wrong[i]));
        CHECK_EQUAL(flow.streams, 0);
        CHECK_EQUAL(flow.duration_ns, -1);
    }
}

static void check_shares(void)
{
    struct pl_flow flow = {.streams = 3, .bytes = 11};
    CHECK_EQUAL(pl_flow_stream_bytes(&flow, 0), 4);
    CHECK_EQUAL(pl_flow_stream_bytes(&flow, 1), 4);
    CHECK_EQUAL(pl_flow_stream_bytes(&flow, 2), 3);
    flow.bytes = INT64_MAX;
    CHECK(pl_flow_stream_bytes(&flow, 0) + pl_flow_stream_bytes(&flow, 1) + pl_flow_stream_bytes(&flow, 2) ==
          (uint64_t)INT64_MAX);
}

static void check_rates(void)
{
    struct pl_flow flow = {.streams = 4};
    CHECK_EQUAL(pl_flow_stream_rate(&flow), 0);
    flow.rate_bits_per_s = 100;
    CHECK_EQUAL(pl_flow_stream_rate(&flow), 25);
    flow.stream_rate_bits_per_s = 10;
    CHECK_EQUAL(pl_flow_stream_rate(&flow), 10);
    flow.stream_rate_bits_per_s = 30;
    CHECK_EQUAL(pl_flow_stream_rate(&flow), 25);
    flow.rate_bits_per_s = 3; /* less than a bit per stream is still a limit */
    CHECK_EQUAL(pl_flow_stream_rate(&flow), 1);
}

static void check_segments(void)
{
    static const struct {
        int64_t window, mss, held, write;
    } cases[] = {
        {8192, 1448, 8688, 1448},     {16384, 1448, 15928, 2896}, {65536, 1448, 65160, 15928},
        {65536, 32741, 65536, 16384}, /* fewer than four segments in a window: unchanged */
        {8192, -1, 8192, 2048},       /* unknown segment size */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pl_flow flow = {.streams = 1, .window_bytes = cases[i].window, .pacing_text = "auto"};
        pl_flow_derive(&flow);
        pl_flow_fit_segments(&flow, cases[i].mss);
        CHECK_EQUAL(flow.held_window_bytes, cases[i].held);
        CHECK_EQUAL(flow.write_bytes, cases[i].write);
    }
    struct pl_flow requested = {
        .streams = 1, .window_bytes = 8192, .write_bytes = 3000, .pacing_text = "auto"};
    pl_flow_derive(&requested);
    pl_flow_fit_segments(&requested, 1448);
    CHECK_EQUAL(requested.write_bytes, 3000);
}

static void check_pacing(void)
{
    static const struct {
        enum pl_transport transport;
        const char *text;
        int64_t rate;
        enum pl_pacing pacing;
    } cases[] = {
        {PL_TCP, "auto", 0, PL_PACING_OFF},       {PL_TCP, "auto", 1000, PL_PACING_KERNEL},
        {PL_TCP, "user", 1000, PL_PACING_USER},   {PL_UNIX, "auto", 1000, PL_PACING_USER},
        {PL_MPTCP, "auto", 1000, PL_PACING_USER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pl_flow flow = {.streams = 1,
                               .transport = cases[i].transport,
                               .pacing_text = cases[i].text,
                               .stream_rate_bits_per_s = cases[i].rate};
        pl_flow_derive(&flow);
        CHECK_EQUAL(flow.pacing, cases[i].pacing);
    }
}

int main(void)
{
    check_adopted();
    check_reverse();
    check_flags_win();
    check_turned_away();
    check_shares();
    check_rates();
    check_segments();
    check_pacing();
    CHECK_RETURN();
}
