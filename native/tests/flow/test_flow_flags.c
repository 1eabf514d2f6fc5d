/* The flags of a flow: defaults, derived values, and refusals that name the flag. */
#include "arguments.h"
#include "base/clock.h"
#include "check.h"
#include "flow/flow_settings.h"

#define TOKEN "00112233445566778899aabbccddeeff"

static enum pl_options_outcome parse_flow(struct pl_flow *flow, bool sending, const char *line,
                                          struct pl_error *error)
{
    /* The flow borrows these, as it borrows main()'s argv. */
    static char kept[256];
    static char *argv[MAX_ARGUMENTS];
    (void)snprintf(kept, sizeof kept, "%s", line);
    *error = (struct pl_error){0};
    int argc = split(kept, argv);
    return pl_flow_parse(flow, sending, argc, argv, error);
}

static void check_defaults(void)
{
    struct pl_flow flow;
    struct pl_error error;
    CHECK_EQUAL(parse_flow(&flow, false, "--token " TOKEN, &error), PL_OPTIONS_OK);
    CHECK_TEXT(flow.bind, "any");
    CHECK_EQUAL(flow.ports.first, 5210);
    CHECK_EQUAL(flow.ports.last, 5210);
    CHECK_EQUAL(flow.streams, 0);
    CHECK_EQUAL(flow.warmup_ns, -1);
    CHECK_EQUAL(flow.duration_ns, -1);
    CHECK_EQUAL(flow.bytes, -1);
    CHECK_EQUAL(pl_flow_direction(&flow), 0);
    CHECK_EQUAL(flow.window_bytes, 0);
    CHECK_EQUAL(flow.interval_ns, PL_NS_PER_S);
    CHECK_EQUAL(flow.admission_timeout_ns, 0);
    CHECK_EQUAL(flow.drain_timeout_ns, 10 * PL_NS_PER_S);
    CHECK_EQUAL(flow.volume_limit_bytes, 0);
    CHECK(!flow.open);
    CHECK_TEXT(flow.token_text, TOKEN);
    CHECK_EQUAL(flow.token[1], 0); /* read when it is used */
}

/* A sender's write is at most a quarter of the requested window, and never empty. */
static void check_write_bytes(void)
{
    static const struct {
        const char *flags;
        int64_t write_bytes;
    } cases[] = {
        {"", 1048576},
        {"--streams 2 --workers 1", 524288},
        {"--streams 2 --workers 2", 1048576},
        {"--window-bytes 65536", 16384},
        {"--window-bytes 8388608", 1048576},
        {"--window-bytes 3", 1},
        {"--rate 80Mbit/s", 10000}, /* the rate's bytes of a millisecond */
        {"--rate 80Mbit/s --streams 2", 5000},
        {"--stream-rate 1kbit/s", 1},
        {"--window-bytes 65536 --write-bytes 50000", 50000}, /* an explicit size is kept */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pl_flow flow;
        struct pl_error error;
        char line[200];
        (void)snprintf(line, sizeof line, "--address ::1 --port 9 --token " TOKEN " %s", cases[i].flags);
        CHECK_EQUAL(parse_flow(&flow, true, line, &error), PL_OPTIONS_OK);
        CHECK_EQUAL(flow.write_bytes, cases[i].write_bytes);
    }
}

static void check_refused(void)
{
    static const struct {
        bool sending;
        const char *line, *flag;
    } cases[] = {
        {false, "--streams -1 --token " TOKEN, "--streams:"},
        {true, "--address ::1 --streams 0", "--streams:"},
        {false, "--streams 4097 --token " TOKEN, "--streams:"},
        {false, "--interval-ns 9999999 --token " TOKEN, "--interval-ns:"},
        {false, "--interval-ns 10000000001 --token " TOKEN, "--interval-ns:"},
        {false, "--port 65536 --token " TOKEN, "--port:"},
        {false, "--token 0011", "--token must be 32 hexadecimal digits"},
        {true, "--address ::1 --direction any", "--direction:"},
        {true, "--address ::1 --direction back", "--direction:"},
        {true, "--address ::1 --transport pipe", "--transport: pipe carries messages"},
        {true, "--address ::1 --datagram-bytes 64", "--datagram-bytes needs --transport udp"},
        {true, "--address ::1 --gso", "--gso needs --transport udp"},
        {true, "--address ::1 --gro", "--gro needs --transport udp"},
        {true, "--address ::1 --packets-per-s 5", "--packets-per-s needs --transport udp"},
        {true, "--address ::1 --transport udp --message-bytes 64 --gso", "--gso needs --transport udp"},
        {true, "--address ::1 --pacing txtime", "--pacing txtime needs --transport udp"},
        {true, "--address ::1 --transport udp --datagram-bytes 31", "--datagram-bytes must be at least 32"},
        {true, "--address ::1 --transport udp --datagram-bytes 65508", "--datagram-bytes:"},
        {true, "--address ::1 --transport udp --bytes 5000", "--bytes is for streams of bytes"},
        {true, "--address ::1 --transport udp --write-bytes 50", "--write-bytes and --read-bytes"},
        {true, "--address ::1 --transport udp --transfer zero-copy", "--transfer zero-copy is for"},
        {true, "--address ::1 --transport udp --no-delay", "--no-delay is for TCP only"},
        {false, "--gro", "--gro needs --transport udp"},
        {true, "--address ::1 --transport quic", "--transport:"},
        {true, "--address ::1 --transfer fast", "--transfer:"},
        {true, "--address ::1 --tcp-info all", "--tcp-info:"},
        {true, "--address ::1 --pacing both", "--pacing:"},
        {true, "--address ::1 --output xml", "--output:"},
        {true, "--address ::1 --pin 0,", "--pin:"},
        {true, "--address ::1 --pin 0;1", "--pin:"},
        {true, "--address ::1 --pin 1024", "--pin:"},
        {true, "--address ::1 --bytes 3 --streams 4", "--bytes must be at least"},
        {false, "--flows -1", "--flows:"},
        {true, "--address ::1 --flows 1", "unknown flag '--flows'"}, /* receive alone has it */
        {true, "--address ::1 --port 0 --token " TOKEN, "--port:"},
        {true, "--port 9 --token " TOKEN, "--address is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pl_flow flow;
        struct pl_error error;
        CHECK_EQUAL(parse_flow(&flow, cases[i].sending, cases[i].line, &error), PL_OPTIONS_WRONG);
        CHECK_EQUAL(error.status, PL_USAGE);
        CHECK_EQUAL(strncmp(error.text, cases[i].flag, strlen(cases[i].flag)), 0);
    }
}

/* An error message never quotes a wrong token. */
static void check_token_is_not_quoted(void)
{
    struct pl_flow flow;
    struct pl_error error;
    CHECK_EQUAL(parse_flow(&flow, false, "--token beefbeefbeef", &error), PL_OPTIONS_WRONG);
    CHECK(strstr(error.text, "beef") == NULL);
}

int main(void)
{
    check_defaults();
    check_write_bytes();
    check_refused();
    check_token_is_not_quoted();
    CHECK_RETURN();
}
