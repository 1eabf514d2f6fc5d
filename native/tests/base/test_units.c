/* Quantities: parsing and formatting. */
#include "base/units.h"
#include "check.h"

static void check_read(void)
{
    static const struct {
        const char *text;
        enum pl_unit unit;
        int64_t value;
    } cases[] = {
        {"0", PL_UNIT_NS, 0},
        {"1ns", PL_UNIT_NS, 1},
        {"100ms", PL_UNIT_NS, 100000000},
        {"1.5s", PL_UNIT_NS, 1500000000},
        {".25us", PL_UNIT_NS, 250},
        {"2min", PL_UNIT_NS, INT64_C(120000000000)},
        {"24h", PL_UNIT_NS, INT64_C(86400000000000)},
        {"65536", PL_UNIT_BYTES, 65536},
        {"64K", PL_UNIT_BYTES, 65536},
        {"64k", PL_UNIT_BYTES, 65536},
        {"64KiB", PL_UNIT_BYTES, 65536},
        {"64kB", PL_UNIT_BYTES, 64000},
        {"0.5MiB", PL_UNIT_BYTES, 524288},
        {"3TB", PL_UNIT_BYTES, INT64_C(3000000000000)},
        {"40Mbit/s", PL_UNIT_BITS_PER_S, 40000000},
        {"40M", PL_UNIT_BITS_PER_S, 40000000},
        {"2.5Gbps", PL_UNIT_BITS_PER_S, INT64_C(2500000000)},
        {"9", PL_UNIT_BITS_PER_S, 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = -1;
        CHECK(pl_parse_quantity(cases[i].text, cases[i].unit, 0, INT64_MAX, &value));
        CHECK_EQUAL(value, cases[i].value);
    }
}

static void check_refused(void)
{
    static const struct {
        const char *text;
        enum pl_unit unit;
    } cases[] = {
        {"", PL_UNIT_NS},
        {"s", PL_UNIT_NS},
        {".s", PL_UNIT_NS},
        {"5", PL_UNIT_NS},
        {"1.2.3s", PL_UNIT_NS},
        {"0.5ns", PL_UNIT_NS},
        {"-1s", PL_UNIT_NS},
        {"+1s", PL_UNIT_NS},
        {"1 s", PL_UNIT_NS},
        {"1s ", PL_UNIT_NS},
        {"1e3ns", PL_UNIT_NS},
        {"1S", PL_UNIT_NS},
        {"1KB", PL_UNIT_BYTES},
        {"0.3B", PL_UNIT_BYTES},
        {"1kbit", PL_UNIT_BYTES},
        {"1MB/s", PL_UNIT_BITS_PER_S},
        {"99999999999999999999s", PL_UNIT_NS},
        {"9999999999999h", PL_UNIT_NS},
        {"1", PL_UNIT_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = 77;
        CHECK(!pl_parse_quantity(cases[i].text, cases[i].unit, 0, INT64_MAX, &value));
        CHECK_EQUAL(value, 77);
    }
    int64_t value = 77;
    CHECK(!pl_parse_quantity("1s", PL_UNIT_NS, 0, 999999999, &value));
    CHECK(!pl_parse_quantity("1ms", PL_UNIT_NS, 2000000, 9000000, &value));
    CHECK(!pl_parse_quantity("0", PL_UNIT_NS, 1, 10, &value));
}

/* Exactly formatted quantities are read back, including the extremes. */
static void check_round_trip(void)
{
    static const int64_t values[] = {
        0, 1, 999, 1000, 1024, 65536, 1500000000, INT64_C(86400000000000), 1000000007, INT64_MAX};
    for (enum pl_unit unit = PL_UNIT_NS; unit <= PL_UNIT_BITS_PER_S; unit++) {
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            char text[PL_QUANTITY_BYTES];
            int64_t back = -1;
            pl_format_exact_quantity(values[i], unit, text);
            CHECK(pl_parse_quantity(text, unit, 0, INT64_MAX, &back));
            CHECK_EQUAL(back, values[i]);
        }
    }
}

static void check_spelled(const char *want, int64_t value, enum pl_unit unit)
{
    char text[PL_QUANTITY_BYTES];
    pl_format_exact_quantity(value, unit, text);
    CHECK_TEXT(text, want);
}

static void check_formatted(const char *want, double value, enum pl_unit unit)
{
    char text[PL_QUANTITY_BYTES];
    pl_format_quantity(value, unit, text);
    CHECK_TEXT(text, want);
}

static void check_names(void)
{
    size_t stem;
    CHECK_EQUAL(pl_unit_of_name("duration-ns", &stem), PL_UNIT_NS);
    CHECK_EQUAL(stem, 8);
    CHECK_EQUAL(pl_unit_of_name("window-bytes", &stem), PL_UNIT_BYTES);
    CHECK_EQUAL(stem, 6);
    CHECK_EQUAL(pl_unit_of_name("stream-rate-bits-per-s", &stem), PL_UNIT_BITS_PER_S);
    CHECK_EQUAL(stem, 11);
    CHECK_EQUAL(pl_unit_of_name("bytes", &stem), PL_UNIT_BYTES);
    CHECK_EQUAL(stem, 5);
    CHECK_EQUAL(pl_unit_of_name("-ns", &stem), PL_UNIT_NONE);
    CHECK_EQUAL(pl_unit_of_name("streams", &stem), PL_UNIT_NONE);
    CHECK_EQUAL(stem, 7);
}

int main(void)
{
    check_read();
    check_refused();
    check_round_trip();
    check_spelled("0ns", 0, PL_UNIT_NS);
    check_spelled("1500ms", 1500000000, PL_UNIT_NS);
    check_spelled("90min", INT64_C(5400000000000), PL_UNIT_NS);
    check_spelled("64KiB", 65536, PL_UNIT_BYTES);
    check_spelled("65537B", 65537, PL_UNIT_BYTES);
    check_spelled("40Mbit/s", 40000000, PL_UNIT_BITS_PER_S);
    check_formatted("0 bit/s", 0, PL_UNIT_BITS_PER_S);
    check_formatted("999 bit/s", 999.4, PL_UNIT_BITS_PER_S);
    check_formatted("1.00 kbit/s", 999.6, PL_UNIT_BITS_PER_S);
    check_formatted("9.99 Mbit/s", 9.99e6, PL_UNIT_BITS_PER_S);
    check_formatted("10.0 Mbit/s", 9.996e6, PL_UNIT_BITS_PER_S);
    check_formatted("123 Gbit/s", 123.4e9, PL_UNIT_BITS_PER_S);
    check_formatted("64.0 KiB", 65536, PL_UNIT_BYTES);
    check_formatted("20.1 ms", 20.1e6, PL_UNIT_NS);
    check_formatted("90.0 s", 90e9, PL_UNIT_NS);
    check_names();
    CHECK_RETURN();
}
