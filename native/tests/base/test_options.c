/* Flags: values and their bounds, and that every refusal names the flag. */
#include "arguments.h"
#include "base/options.h"
#include "check.h"

struct values {
    int64_t number;
    const char *text;
    int64_t delay_ns;
    int64_t bytes;
    bool loud;
};

static enum pl_options_outcome parse(struct values *values, struct pl_error *error, int argc, char **argv)
{
    const struct pl_option table[] = {
        pl_option_required(pl_option_integer(NULL, "number", &values->number, -5, 10, "a number")),
        pl_option_positional(NULL, "text", &values->text, "a text"),
        pl_option_integer(NULL, "delay-ns", &values->delay_ns, 0, 1000000000, "a time"),
        pl_option_integer(NULL, "bytes", &values->bytes, 0, 1 << 30, "a size"),
        pl_option_switch(NULL, "loud", &values->loud, "a switch"),
    };
    const struct pl_options options = {
        .subcommand = "try", .about = "Tries.", .table = table, .count = sizeof table / sizeof table[0]};
    return pl_options_parse(&options, argc, argv, error);
}

static void check_accepted(void)
{
    struct values values = {.number = 1, .text = "default"};
    struct pl_error error = {0};
    char *argv[MAX_ARGUMENTS];
    char line[] = "--bytes 7 --number -5";
    int argc = split(line, argv);
    CHECK_EQUAL(parse(&values, &error, argc, argv), PL_OPTIONS_OK);
    CHECK_EQUAL(values.number, -5);
    CHECK_EQUAL(values.bytes, 7);
    CHECK_TEXT(values.text, "default"); /* a flag that is not given keeps its default */
    CHECK_EQUAL(error.status, PL_OK);

    /* The last one wins; a value may look like a flag. */
    char again[] = "--number 3 --text --bytes --number 10";
    argc = split(again, argv);
    CHECK_EQUAL(parse(&values, &error, argc, argv), PL_OPTIONS_OK);
    CHECK_EQUAL(values.number, 10);
    CHECK_TEXT(values.text, "--bytes");
}

/* A value may follow "=", carry its unit where the name leaves it out, or come alone where it is positional.
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
        {"--number 1 --delay-ns 2us", 2000, 0, "default", false}, /* the unit may be repeated */
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
        {"--text x", "--number is missing; see pathlab-engine try --help"},
        {"", "--number is missing; see pathlab-engine try --help"},
        /* A value does not count as the flag. */
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

static void check_choices(void)
{
    static const char *const names[] = {"udp", "tcp", "both", NULL};
    struct pl_error error = {0};
    CHECK_EQUAL(pl_parse_choice("transport", "udp", names, &error), 0);
    CHECK_EQUAL(pl_parse_choice("transport", "both", names, &error), 2);
    CHECK_EQUAL(error.status, PL_OK);
    CHECK_EQUAL(pl_parse_choice("transport", "TCP", names, &error), -1);
    CHECK_EQUAL(error.status, PL_USAGE);
    CHECK_TEXT(error.text, "--transport: 'TCP' is none of udp, tcp, both");
}

int main(void)
{
    check_accepted();
    check_spellings();
    check_refused();
    check_integers();
    check_doubles();
    check_choices();
    CHECK_RETURN();
}
