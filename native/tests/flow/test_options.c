/* Flags: values and their bounds, and that every refusal names the flag. Those of a flow as well. */
#include "base/clock.h"
#include "base/options.h"
#include "check.h"
#include "flow/flow.h"

#define MAX_ARGUMENTS 16
#define TOKEN "00112233445566778899aabbccddeeff"

struct values {
    int64_t number;
    double ratio;
    const char *text;
    int64_t delay_ns;
    int64_t bytes;
    bool loud;
};

static enum pl_options_outcome parse(struct values *values, struct pl_error *error, int argc, char **argv)
{
    const struct pl_option table[] = {
        {.name = "number",
         .kind = PL_OPTION_INT64,
         .target = &values->number,
         .minimum = -5,
         .maximum = 10,
         .help = "a number",
         .required = true},
        {.name = "ratio",
         .kind = PL_OPTION_DOUBLE,
         .target = &values->ratio,
         .low = 0,
         .high = 1,
         .help = "a ratio"},
        {.name = "text",
         .kind = PL_OPTION_STRING,
         .target = &values->text,
         .help = "a text",
         .positional = true},
        {.name = "delay-ns",
         .kind = PL_OPTION_INT64,
         .target = &values->delay_ns,
         .maximum = 1000000000,
         .help = "a time"},
        {.name = "bytes",
         .kind = PL_OPTION_INT64,
         .target = &values->bytes,
         .maximum = 1 << 30,
         .help = "a size"},
        {.name = "loud", .kind = PL_OPTION_SWITCH, .target = &values->loud, .help = "a switch"},
    };
    const struct pl_options options = {
        .subcommand = "try", .about = "Tries.", .table = table, .count = sizeof table / sizeof table[0]};
    return pl_options_parse(&options, argc, argv, error);
}

/* Splits at spaces, in place, and puts a program name first. */
static int split(char *line, char *argv[MAX_ARGUMENTS])
{
    int argc = 1;
    argv[0] = "try";
    for (char *word = strtok(line, " "); word != NULL && argc < MAX_ARGUMENTS; word = strtok(NULL, " "))
        argv[argc++] = word;
    return argc;
}

static void check_accepted(void)
{
    struct values values = {.number = 1, .ratio = 0.5, .text = "default"};
    struct pl_error error = {0};
    char *argv[MAX_ARGUMENTS];
    char line[] = "--ratio 1e-3 --number -5";
    int argc = split(line, argv);
    CHECK_EQUAL(parse(&values, &error, argc, argv), PL_OPTIONS_OK);
    CHECK_EQUAL(values.number, -5);
    CHECK(values.ratio == 1e-3);
    CHECK_TEXT(values.text, "default"); /* what is not given stays */
    CHECK_EQUAL(error.status, PL_OK);

    /* The last of two wins; a value may look like a flag. */
    char again[] = "--number 3 --text --ratio --number 10";
    argc = split(again, argv);
    CHECK_EQUAL(parse(&values, &error, argc, argv), PL_OPTIONS_OK);
    CHECK_EQUAL(values.number, 10);
    CHECK_TEXT(values.text, "--ratio");
}

/* A value may stand behind "=", with its unit where the name leaves it out, or alone where it is positional.
 */
static void check_spellings(void)
{
    static const struct {
        const char *line;
        int64_t delay_ns, bytes;
        const char *text;
        bool loud;
    } cases[] = {
        {"--number=1 --delay 5ms --bytes 2KiB here", 5000000, 2048, "here", false},
        {"--number 1 --delay-ns 7 --bytes=9 --loud", 7, 9, "default", true},
        {"--number 1 --delay=1s --loud yes there", 1000000000, 0, "there", true},
        {"--number 1 --loud no", 0, 0, "default", false},
        {"--number 1 --loud --text=a=b", 0, 0, "a=b", true},
        {"--number 1 --delay-ns 2us", 2000, 0, "default", false}, /* the unit once more is no mistake */
        {"where --number 1 --delay 0", 0, 0, "where", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct values values = {.text = "default"};
        struct pl_error error = {0};
        char line[64];
        char *argv[MAX_ARGUMENTS];
        (void)snprintf(line, sizeof line, "%s", cases[i].line);
        int argc = split(line, argv);
        CHECK_EQUAL(parse(&values, &error, argc, argv), PL_OPTIONS_OK);
        CHECK_TEXT(error.text, "");
        CHECK_EQUAL(values.delay_ns, cases[i].delay_ns);
        CHECK_EQUAL(values.bytes, cases[i].bytes);
        CHECK_TEXT(values.text, cases[i].text);
        CHECK_EQUAL(values.loud, cases[i].loud);
    }
}

static void check_refused(void)
{
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"--number 1 --speed 1", "unknown flag '--speed'; see pathlab-engine try --help"},
        {"--number 1 one two", "unknown flag 'two'; see pathlab-engine try --help"},
        {"--number 1 --delay 5", "--delay: '5' is not a time such as 100ms or 2s, from 0ns to 1s"},
        {"--number 1 --delay 2s", "--delay: '2s' is not a time such as 100ms or 2s, from 0ns to 1s"},
        {"--number 1 --delay-ns x", "--delay-ns: 'x' is not a time such as 100ms or 2s, from 0ns to 1s"},
        {"--number 1 --bytes 1KB", "--bytes: '1KB' is not a size such as 64KiB or 1MiB, from 0B to 1GiB"},
        {"--number 1 --loud=maybe", "--loud: 'maybe' is neither yes nor no"},
        {"--number 1 -text 1", "unknown flag '-text'; see pathlab-engine try --help"},
        {"--number 1 --", "unknown flag '--'; see pathlab-engine try --help"},
        {"--num 1", "unknown flag '--num'; see pathlab-engine try --help"},
        {"--number", "--number needs a value"},
        {"--number 1 --text", "--text needs a value"},
        {"--number 11", "--number: '11' is not an integer from -5 to 10"},
        {"--number -6", "--number: '-6' is not an integer from -5 to 10"},
        {"--number 1s", "--number: '1s' is not an integer from -5 to 10"},
        {"--number 99999999999999999999", "--number: '99999999999999999999' is not an integer from -5 to 10"},
        {"--number 1 --ratio 1.01", "--ratio: '1.01' is not a number from 0 to 1"},
        {"--number 1 --ratio nan", "--ratio: 'nan' is not a number from 0 to 1"},
        {"--text x", "--number is missing; see pathlab-engine try --help"},
        {"", "--number is missing; see pathlab-engine try --help"},
        /* As a value it does not count as given. */
        {"--text --number", "--number is missing; see pathlab-engine try --help"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct values values = {.text = "default"};
        struct pl_error error = {0};
        char line[80];
        char *argv[MAX_ARGUMENTS];
        (void)snprintf(line, sizeof line, "%s", cases[i].line);
        int argc = split(line, argv);
        CHECK_EQUAL(parse(&values, &error, argc, argv), PL_OPTIONS_WRONG);
        CHECK_TEXT(error.text, cases[i].text);
        CHECK_TEXT(error.stage, "options");
        CHECK_EQUAL(error.status, PL_USAGE);
        CHECK_EQUAL(error.errno_value, 0);
    }
}

static void check_integers(void)
{
    int64_t value = 77;
    CHECK(pl_parse_int64("9223372036854775807", INT64_MIN, INT64_MAX, &value));
    CHECK_EQUAL(value, INT64_MAX);
    CHECK(pl_parse_int64("-9223372036854775808", INT64_MIN, INT64_MAX, &value));
    CHECK_EQUAL(value, INT64_MIN);
    CHECK(pl_parse_int64("+007", 0, 7, &value));
    CHECK_EQUAL(value, 7);
    static const char *const wrong[] = {"",   "-",   "+",    "--1", "1 ",  " 1",
                                        "1.", "1e3", "0x10", "١",   "1,0", "9223372036854775808"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        value = 77;
        CHECK(!pl_parse_int64(wrong[i], INT64_MIN, INT64_MAX, &value));
        CHECK_EQUAL(value, 77);
    }
}

static void check_doubles(void)
{
    double value = 77;
    CHECK(pl_parse_double("0", 0, 1, &value) && value == 0);
    CHECK(pl_parse_double("1", 0, 1, &value) && value == 1);
    CHECK(pl_parse_double(".25", 0, 1, &value) && value == 0.25);
    CHECK(pl_parse_double("25E-2", 0, 1, &value) && value == 0.25);
    static const char *const wrong[] = {"", ".", "-", "e", "1e", "inf", "nan", "0x1p-1", "1 ", " 1", "1,5"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        value = 77;
        CHECK(!pl_parse_double(wrong[i], -10, 10, &value));
        CHECK(value == 77);
    }
    CHECK(!pl_parse_double("1e999", -10, 10, &value));
}

static enum pl_options_outcome parse_flow(struct pl_flow *flow, bool sending, const char *line,
                                          struct pl_error *error)
{
    /* The flow borrows from these, as it does from main()'s argv. */
    static char kept[256];
    static char *argv[MAX_ARGUMENTS];
    (void)snprintf(kept, sizeof kept, "%s", line);
    *error = (struct pl_error){0};
    int argc = split(kept, argv);
    return pl_flow_parse(flow, sending, argc, argv, error);
}

static void check_flow_defaults(void)
{
    struct pl_flow flow;
    struct pl_error error;
    CHECK_EQUAL(parse_flow(&flow, false, "--token " TOKEN, &error), PL_OPTIONS_OK);
    CHECK_TEXT(flow.bind, "0.0.0.0");
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
    CHECK_EQUAL(flow.token[1], 0); /* taken when it is used */
}

/* A write of a sender takes at most a quarter of the window asked, and is never empty. */
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
        {"--rate 80Mbit/s", 10000}, /* what the rate allows in a millisecond */
        {"--rate 80Mbit/s --streams 2", 5000},
        {"--stream-rate 1kbit/s", 1},
        {"--window-bytes 65536 --write-bytes 50000", 50000}, /* asked for is asked for */
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

static void check_flow_refusals(void)
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
        {true, "--address ::1 --transport udp", "--transport:"},
        {true, "--address ::1 --transfer fast", "--transfer:"},
        {true, "--address ::1 --tcp-info all", "--tcp-info:"},
        {true, "--address ::1 --pacing both", "--pacing:"},
        {true, "--address ::1 --output xml", "--output:"},
        {true, "--address ::1 --pin 0,", "--pin:"},
        {true, "--address ::1 --pin 0;1", "--pin:"},
        {true, "--address ::1 --pin 1024", "--pin:"},
        {true, "--address ::1 --bytes 3 --streams 4", "--bytes must give"},
        {false, "--flows -1", "--flows:"},
        {true, "--address ::1 --flows 1", "unknown flag '--flows'"}, /* the receiver's */
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

/* A secret that is wrong is not repeated. */
static void check_token_is_kept(void)
{
    struct pl_flow flow;
    struct pl_error error;
    CHECK_EQUAL(parse_flow(&flow, false, "--token beefbeefbeef", &error), PL_OPTIONS_WRONG);
    CHECK(strstr(error.text, "beef") == NULL);
}

int main(void)
{
    check_accepted();
    check_spellings();
    check_refused();
    check_integers();
    check_doubles();
    check_flow_defaults();
    check_write_bytes();
    check_flow_refusals();
    check_token_is_kept();
    CHECK_RETURN();
}
