/* Command lines of send and receive, one argument a line, and quantities with units. */
#include <string.h>

#include "base/options.h"
#include "base/units.h"
#include "flow/flow_settings.h"
#include "property.h"

enum { MOST_ARGUMENTS = 64, MAX_BYTES = 4096 };

static void check_spelling(int64_t value, enum pl_unit unit)
{
    char text[PL_QUANTITY_BYTES];
    int64_t again = -1;
    pl_format_exact_quantity(value, unit, text);
    REQUIRE(pl_parse_quantity(text, unit, 0, INT64_MAX, &again) && again == value);
}

/* Numbers from the input's bytes, since a text that is a number is rare. */
static void check_numbers(const uint8_t *data, size_t size)
{
    uint64_t bits;
    double real;
    char text[PL_QUANTITY_BYTES];
    if (size < sizeof bits)
        return;
    memcpy(&bits, data, sizeof bits);
    memcpy(&real, data, sizeof real);
    for (enum pl_unit unit = PL_UNIT_NONE; unit <= PL_UNIT_BITS_PER_S; unit++) {
        pl_format_quantity(real, unit, text);
        REQUIRE(memchr(text, 0, sizeof text) != NULL);
        pl_format_exact_quantity((int64_t)bits, unit, text);
        REQUIRE(memchr(text, 0, sizeof text) != NULL);
        if (unit != PL_UNIT_NONE)
            check_spelling((int64_t)(bits & INT64_MAX), unit);
    }
}

static void check_quantity(const char *text)
{
    size_t stem;
    for (enum pl_unit unit = PL_UNIT_NONE; unit <= PL_UNIT_BITS_PER_S; unit++) {
        int64_t value = -7;
        if (pl_parse_quantity(text, unit, 5, INT64_MAX - 1, &value)) {
            REQUIRE(value >= 5 && value < INT64_MAX);
            check_spelling(value, unit);
        } else {
            REQUIRE(value == -7);
        }
    }
    (void)pl_unit_of_name(text, &stem);
    REQUIRE(stem <= strlen(text));
}

static void check_flow(bool sending, int argc, char **argv)
{
    struct pl_flow flow;
    struct pl_error error = {0};
    enum pl_options_outcome outcome = pl_flow_parse(&flow, sending, argc, argv, &error);
    if (outcome == PL_OPTIONS_WRONG) {
        REQUIRE(error.status == PL_USAGE && error.text[0] != 0 && strchr(error.text, '\n') == NULL);
        return;
    }
    REQUIRE(outcome == PL_OPTIONS_OK && error.status == PL_OK);
    REQUIRE(flow.accepting == !sending && flow.streams <= PL_MAX_STREAMS && flow.workers >= 1);
    REQUIRE(flow.core_count <= PL_MAX_WORKERS);
    if (!sending)
        return;
    REQUIRE(flow.streams > 0 && flow.warmup_ns >= 0 && flow.duration_ns >= 0 && flow.bytes >= 0);
    REQUIRE(flow.workers <= flow.streams && flow.write_bytes >= 1 && flow.read_bytes >= 1);
    REQUIRE((pl_flow_stream_rate(&flow) > 0) == (flow.pacing != PL_PACING_OFF));
    pl_flow_fit_segments(&flow, flow.mss_bytes);
    REQUIRE(flow.write_bytes >= 1 && flow.held_window_bytes >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char program[] = "pathlab-engine";
    char *argv[MOST_ARGUMENTS] = {program};
    int argc = 1;
    /* The help is written to stdout. */
    if (size > MAX_BYTES || memmem(data, size, "--help", 6) != NULL)
        return 0;
    check_numbers(data, size);
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    for (char *at = text; at != NULL && argc < MOST_ARGUMENTS;) {
        argv[argc++] = strsep(&at, "\n");
        check_quantity(argv[argc - 1]);
    }
    check_flow(true, argc, argv);
    check_flow(false, argc, argv);
    free(text);
    return 0;
}
