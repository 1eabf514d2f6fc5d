#include "base/histogram.h"

#include <string.h>

#include "base/bytes.h"

#define SAMPLES_ABOVE_MIN 10

enum {
    STEPS = 1 << PL_HISTOGRAM_STEP_BITS,
    DIGITS = 2,          /* of HdrHistogram: 2 x 10^2 values apart by 1 need 256 places, two times STEPS */
    COOKIE = 0x1C849313, /* of HdrHistogram's V2 encoding without compression */
    HEADER_BYTES = 40,
    VARINT_BYTES_MAX = 9,
};

/* Below 2 * STEPS a place is one nanosecond; above, each octave has STEPS equal places. */
static unsigned place_of(uint64_t value_ns)
{
    unsigned bits = 64U - (unsigned)__builtin_clzll(value_ns | 1U);
    unsigned shift = bits > PL_HISTOGRAM_STEP_BITS + 1U ? bits - PL_HISTOGRAM_STEP_BITS - 1U : 0;
    return shift * STEPS + (unsigned)(value_ns >> shift);
}

static uint64_t upper_edge_of(unsigned place)
{
    unsigned shift = place < 2 * STEPS ? 0 : place / STEPS - 1U;
    return ((uint64_t)(place - shift * STEPS + 1U) << shift) - 1U;
}

static pl_ns clip(pl_ns value_ns)
{
    if (value_ns < 0)
        return 0;
    return value_ns < PL_HISTOGRAM_MAX_NS ? value_ns : PL_HISTOGRAM_MAX_NS;
}

void pl_histogram_add(struct pl_histogram *histogram, pl_ns value_ns)
{
    pl_ns value = clip(value_ns);
    histogram->counts[place_of((uint64_t)value)]++;
    if (histogram->count++ == 0 || value < histogram->min_ns)
        histogram->min_ns = value;
    if (value > histogram->max_ns)
        histogram->max_ns = value;
    histogram->sum_low_ns += (uint64_t)value;
    histogram->sum_overflows += histogram->sum_low_ns < (uint64_t)value;
}

void pl_histogram_merge(struct pl_histogram *into, const struct pl_histogram *other)
{
    if (other->count == 0)
        return;
    for (unsigned place = 0; place < PL_HISTOGRAM_PLACES; place++)
        into->counts[place] += other->counts[place];
    if (into->count == 0 || other->min_ns < into->min_ns)
        into->min_ns = other->min_ns;
    if (other->max_ns > into->max_ns)
        into->max_ns = other->max_ns;
    into->count += other->count;
    into->sum_low_ns += other->sum_low_ns;
    into->sum_overflows += other->sum_overflows + (into->sum_low_ns < other->sum_low_ns);
}

bool pl_histogram_quantile(const struct pl_histogram *histogram, double ratio, pl_ns *value_ns)
{
    uint64_t seen = 0;
    for (unsigned place = 0; place < PL_HISTOGRAM_PLACES; place++) {
        seen += histogram->counts[place];
        if (seen > 0 && (double)seen >= ratio * (double)histogram->count) {
            uint64_t edge = upper_edge_of(place);
            *value_ns = edge < (uint64_t)histogram->max_ns ? (pl_ns)edge : histogram->max_ns;
            return true;
        }
    }
    return false;
}

bool pl_histogram_supports(const struct pl_histogram *histogram, uint64_t one_in)
{
    return histogram->count >= SAMPLES_ABOVE_MIN * one_in;
}

void pl_histogram_write_summary(const struct pl_histogram *histogram, struct pl_json *j, const char *key)
{
    static const struct {
        const char *key;
        double ratio;
    } members[] = {{"median", 0.5}, {"p99", 0.99}, {"max", 1.0}};
    pl_json_begin_object(j, key);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        pl_ns value_ns = -1;
        (void)pl_histogram_quantile(histogram, members[i].ratio, &value_ns);
        pl_json_known_i64(j, members[i].key, value_ns);
    }
    pl_json_end_object(j);
}

void pl_histogram_write_places(const struct pl_histogram *histogram, struct pl_json *j, const char *key)
{
    pl_json_begin_array(j, key);
    for (unsigned place = 0; place < PL_HISTOGRAM_PLACES; place++) {
        if (histogram->counts[place] == 0)
            continue;
        uint64_t edge = upper_edge_of(place);
        pl_json_begin_array(j, NULL);
        pl_json_u64(j, NULL, place == 0 ? 0 : upper_edge_of(place - 1) + 1);
        pl_json_u64(j, NULL, edge < (uint64_t)histogram->max_ns ? edge : (uint64_t)histogram->max_ns);
        pl_json_u64(j, NULL, histogram->counts[place]);
        pl_json_end_array(j);
    }
    pl_json_end_array(j);
}

/* ZigZag LEB128 as HdrHistogram writes it: seven bits a byte, the lowest first; the ninth byte has eight. */
static size_t encode_varint(int64_t value, uint8_t bytes[VARINT_BYTES_MAX])
{
    uint64_t rest = ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
    size_t length = 0;
    while (rest > 0x7F && length < VARINT_BYTES_MAX - 1) {
        bytes[length++] = (uint8_t)(rest | 0x80);
        rest >>= 7;
    }
    bytes[length++] = (uint8_t)rest;
    return length;
}

/* The counts up to the last one that is not 0, with zeros in a row as one negative number. Their length in
 * bytes; a NULL `j` measures only. */
static size_t write_counts(const struct pl_histogram *histogram, struct pl_json *j)
{
    size_t total = 0;
    int64_t zeros = 0;
    for (unsigned place = 0; place < PL_HISTOGRAM_PLACES; place++) {
        if (histogram->counts[place] == 0) {
            zeros++;
            continue;
        }
        uint8_t bytes[2 * VARINT_BYTES_MAX];
        size_t length = 0;
        if (zeros > 0)
            length = encode_varint(zeros == 1 ? 0 : -zeros, bytes);
        length += encode_varint((int64_t)histogram->counts[place], bytes + length);
        if (j != NULL)
            pl_json_base64(j, bytes, length);
        total += length;
        zeros = 0;
    }
    return total;
}

static void write_encoding(const struct pl_histogram *histogram, struct pl_json *j, const char *key)
{
    const double ratio = 1.0; /* of integers to values, as its bits */
    uint64_t ratio_bits = 0;
    memcpy(&ratio_bits, &ratio, sizeof ratio_bits);
    uint8_t header[HEADER_BYTES] = {0};
    pl_put32(header, COOKIE);
    pl_put32(header + 4, (uint32_t)write_counts(histogram, NULL));
    pl_put32(header + 12, DIGITS);
    pl_put64(header + 16, 1);
    pl_put64(header + 24, (uint64_t)PL_HISTOGRAM_MAX_NS);
    pl_put64(header + 32, ratio_bits);
    pl_json_begin_base64(j, key);
    pl_json_base64(j, header, sizeof header);
    (void)write_counts(histogram, j);
    pl_json_end_base64(j);
}

void pl_histogram_write(const struct pl_histogram *histogram, struct pl_json *j, const char *key)
{
    bool empty = histogram->count == 0;
    pl_json_begin_object(j, key);
    pl_json_u64(j, "count", histogram->count);
    pl_json_known_i64(j, "min", empty ? -1 : histogram->min_ns);
    pl_json_known_i64(j, "max", empty ? -1 : histogram->max_ns);
    if (empty) {
        pl_json_null(j, "mean");
        pl_json_null(j, "hdr");
    } else {
        double sum_ns = (double)histogram->sum_overflows * 0x1p64 + (double)histogram->sum_low_ns;
        pl_json_double(j, "mean", sum_ns / (double)histogram->count);
        write_encoding(histogram, j, "hdr");
    }
    pl_json_end_object(j);
}
