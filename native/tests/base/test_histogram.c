/* The histogram of durations: error, extremes, merging, and its encoding. */
#include "base/histogram.h"
#include "check.h"

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return *state >> 16;
}

static void check_quantiles(void)
{
    static struct pl_histogram histogram;
    pl_ns value_ns = -1;
    CHECK(!pl_histogram_quantile(&histogram, 0.5, &value_ns));
    CHECK_EQUAL(value_ns, -1);
    pl_histogram_add(&histogram, -5);
    for (pl_ns i = 1; i < 10000; i++)
        pl_histogram_add(&histogram, i * 1000);
    CHECK_EQUAL(histogram.min_ns, 0);
    CHECK(pl_histogram_quantile(&histogram, 0.5, &value_ns));
    CHECK(value_ns >= 4999000 && value_ns < 4999000 * INT64_C(129) / 128);
    CHECK(pl_histogram_quantile(&histogram, 0.99, &value_ns));
    CHECK(value_ns >= 9899000 && value_ns <= 9999000);
    CHECK(pl_histogram_quantile(&histogram, 1.0, &value_ns));
    CHECK_EQUAL(value_ns, 9999000);
    pl_histogram_add(&histogram, INT64_MAX); /* the last place is within the array */
    CHECK(pl_histogram_quantile(&histogram, 1.0, &value_ns));
    CHECK_EQUAL(value_ns, PL_HISTOGRAM_MAX_NS);
}

/* Every value is read back at most 1/128 too high and never too low, at the edges of each octave as well. */
static void check_support(void)
{
    struct pl_histogram *histogram = calloc(1, sizeof *histogram);
    for (int i = 0; i < 99999; i++)
        pl_histogram_add(histogram, i);
    CHECK(!pl_histogram_supports(histogram, 10000));
    pl_histogram_add(histogram, 99999);
    CHECK(pl_histogram_supports(histogram, 10000));
    CHECK(!pl_histogram_supports(histogram, 100000));
    CHECK(pl_histogram_supports(histogram, 0));
    free(histogram);
}

static void check_error(void)
{
    for (unsigned power = 0; power < 62; power++) {
        for (pl_ns by = -1; by <= 1; by++) {
            static struct pl_histogram histogram;
            memset(&histogram, 0, sizeof histogram);
            pl_ns value_ns = (INT64_C(1) << power) + by;
            pl_histogram_add(&histogram, value_ns);
            pl_histogram_add(&histogram, PL_HISTOGRAM_MAX_NS);
            pl_ns found_ns = -1;
            CHECK(pl_histogram_quantile(&histogram, 0.5, &found_ns));
            CHECK(found_ns >= value_ns && found_ns - value_ns <= value_ns / 128);
        }
    }
}

/* Merged parts equal the total in every field, whatever the order. */
static void check_merges(void)
{
    static struct pl_histogram total;
    static struct pl_histogram parts[3];
    static const struct pl_histogram empty;
    uint64_t state = 4;
    for (int i = 0; i < 5000; i++) {
        pl_ns value_ns = (pl_ns)(next_random(&state) % 100000000);
        value_ns = i < 4 ? PL_HISTOGRAM_MAX_NS - i : value_ns; /* the sum exceeds 64 bits */
        pl_histogram_add(&total, value_ns);
        pl_histogram_add(&parts[i % 3], value_ns);
    }
    pl_histogram_merge(&parts[2], &empty);
    pl_histogram_merge(&parts[2], &parts[0]);
    pl_histogram_merge(&parts[2], &parts[1]);
    CHECK(total.sum_overflows > 0);
    CHECK(memcmp(&parts[2], &total, sizeof total) == 0);
    static struct pl_histogram copy;
    pl_histogram_merge(&copy, &total);
    CHECK(memcmp(&copy, &total, sizeof total) == 0);
}

/* However many are counted and however large they are, the memory is the histogram's own, of one size. */
static void check_memory(void)
{
    static struct pl_histogram guarded[2];
    uint64_t state = 9;
    for (int i = 0; i < 1000000; i++)
        pl_histogram_add(&guarded[0], (pl_ns)(next_random(&state) << (i % 16)));
    static const struct pl_histogram empty;
    CHECK(memcmp(&guarded[1], &empty, sizeof empty) == 0);
    CHECK(sizeof guarded[0] < (57 << 10));
    CHECK_EQUAL(guarded[0].count, 1000000);
    uint64_t sum = 0;
    for (unsigned place = 0; place < PL_HISTOGRAM_PLACES; place++)
        sum += guarded[0].counts[place];
    CHECK_EQUAL(sum, 1000000);
}

static void check_json(const struct pl_histogram *histogram, const char *text)
{
    struct pl_json json = {0};
    pl_json_begin_object(&json, NULL);
    pl_histogram_write(histogram, &json, "h");
    pl_json_end_object(&json);
    CHECK_EQUAL(json.length, strlen(text));
    CHECK(strncmp(json.data, text, json.length) == 0);
    pl_json_release(&json);
}

/* Worked out by hand: one 0; 1 is empty; 3 twice; 5000 (shift 5, place 5 * 128 + 5000 / 32 = 796) 300 times.
 */
static void check_encoding(void)
{
    static struct pl_histogram histogram;
    check_json(&histogram, "{\"h\":{\"count\":0,\"min\":null,\"max\":null,\"mean\":null,\"hdr\":null}}");
    pl_histogram_add(&histogram, 0);
    pl_histogram_add(&histogram, 3);
    pl_histogram_add(&histogram, 3);
    for (int i = 0; i < 300; i++)
        pl_histogram_add(&histogram, 5000);
    /* 1c849313 00000007 00000000 00000002 | 1 | 3fffffffffffffff | 1.0 | 02 03 04 af0c d804 */
    check_json(&histogram, "{\"h\":{\"count\":303,\"min\":0,\"max\":5000,\"mean\":4950.514851485149,\"hdr\":"
                           "\"HISTEwAAAAcAAAAAAAAAAgAAAAAAAAABP/////////8/8AAAAAAAAAIDBK8M2AQ=\"}}");
}

int main(void)
{
    check_quantiles();
    check_support();
    check_error();
    check_merges();
    check_memory();
    check_encoding();
    CHECK_RETURN();
}
