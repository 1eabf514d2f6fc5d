#include "datagrams/datagram_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "datagrams/datagram_flow.h"
#include "datagrams/datagram_link.h"
#include "datagrams/datagram_samples.h"
#include "flow/counters.h"

/* The fields of an interval; those with a heading are columns of the text. */
static const struct {
    const char *key;
    const char *heading;
    int width;
    bool is_rate;
} fields[PL_DATAGRAM_FIELDS] = {
    [PL_DATAGRAMS_SENT] = {"sent", "sent/s", 12, true},
    [PL_DATAGRAMS_REFUSED] = {"refused", "refused", 8, false},
    [PL_DATAGRAMS_GIVEN_UP] = {.key = "given_up"},
    [PL_DATAGRAMS_RECEIVED] = {"received", "received/s", 12, true},
    [PL_DATAGRAMS_LOST] = {"lost", "lost", 8, false},
    [PL_DATAGRAMS_DUPLICATE] = {.key = "duplicate"},
    [PL_DATAGRAMS_REORDERED] = {"reordered", "reordered", 9, false},
    [PL_DATAGRAMS_DROPPED] = {.key = "socket_dropped"},
};

/* The first field of an end that receives. */
#define FIRST_RECEIVED PL_DATAGRAMS_RECEIVED

/* The numbers of a direction in a phase: of this end's datagrams, and of the peer's, of which this end states
 * the first four also of its own as the peer has confirmed them. */
static const char *const sent_names[] = {"sent", "refused", "given_up"};
enum {
    RECEIVED,
    LOST,
    DUPLICATE,
    REORDERED,
    SENT,
    JITTER,
    CONFIRMED_NUMBERS = SENT,
    RECEIVED_NUMBERS = JITTER + 1
};
static const char *const received_names[] = {"received",  "lost",      "duplicate",
                                             "reordered", "peer_sent", "jitter_ns"};

static const struct pl_datagram_link *link_of(const struct pl_counters *counters, uint32_t stream)
{
    return counters->streams[stream].link;
}

/* The sum over the streams of a number at `offset` in their links. */
static uint64_t sum_links(const struct pl_counters *counters, size_t offset)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < counters->count; s++)
        sum += atomic_load((const _Atomic uint64_t *)((const char *)link_of(counters, s) + offset));
    return sum;
}

static void write_settings(struct pl_json *j, const struct pl_counters *counters)
{
    static const char *const pacings[] = {"off", "kernel", "user", "txtime"};
    const struct pl_flow *flow = counters->flow;
    const struct pl_datagram_settings *datagrams = &flow->datagrams;
    pl_json_begin_object(j, "datagrams");
    pl_json_i64(j, "bytes", datagrams->bytes);
    if (flow->transmits) {
        int64_t rate = pl_datagram_flow_rate(flow);
        pl_json_bool(j, "gso", datagrams->segments > 1);
        pl_json_u64(j, "segments", datagrams->segments);
        pl_json_string(j, "pacing", pacings[flow->pacing]);
        if (rate > 0)
            pl_json_double(j, "offered_packets_per_s", (double)rate / 8 / (double)datagrams->bytes);
        else
            pl_json_null(j, "offered_packets_per_s");
    }
    if (flow->receives)
        pl_json_bool(j, "gro", datagrams->gro);
    pl_json_end_object(j);
}

static bool is_of_this_end(const struct pl_flow *flow, int field)
{
    return field < FIRST_RECEIVED ? flow->transmits : flow->receives;
}

static void write_interval(struct pl_json *j, const struct pl_counters *counters)
{
    const struct pl_datagram_samples *samples = counters->samples;
    pl_json_begin_object(j, "datagrams");
    for (int f = 0; f < PL_DATAGRAM_FIELDS; f++) {
        if (!is_of_this_end(counters->flow, f) || (f == PL_DATAGRAMS_DROPPED && !samples->drops_known))
            continue;
        pl_json_begin_array(j, fields[f].key);
        for (uint32_t s = 0; s < counters->count; s++)
            pl_json_i64(j, NULL, (int64_t)(samples->current[f][s] - samples->previous[f][s]));
        pl_json_end_array(j);
    }
    if (counters->flow->receives) {
        pl_json_begin_array(j, "jitter_ns");
        for (uint32_t s = 0; s < counters->count; s++)
            pl_json_known_i64(j, NULL, samples->jitter_ns[s]);
        pl_json_end_array(j);
    }
    pl_json_end_object(j);
}

/* Of a phase of the sender, which sends nothing in the drain. */
static void find_sent(const struct pl_counters *counters, uint32_t stream, int phase, int64_t *numbers)
{
    const struct pl_datagram_link *link = link_of(counters, stream);
    const _Atomic uint64_t *const of[] = {link->sent, link->refused, link->given_up};
    for (int f = 0; f < FIRST_RECEIVED; f++)
        numbers[f] = phase < PL_DATAGRAM_PHASES ? (int64_t)atomic_load(&of[f][phase]) : 0;
}

static void find_sent_in_all(const struct pl_counters *counters, uint32_t stream, int phase, int64_t *numbers)
{
    int64_t more[FIRST_RECEIVED];
    (void)phase;
    find_sent(counters, stream, PL_DATAGRAM_WARMUP, numbers);
    find_sent(counters, stream, PL_DATAGRAM_STEADY, more);
    for (int f = 0; f < FIRST_RECEIVED; f++)
        numbers[f] += more[f];
}

/* What came of a phase of the peer: of the steady window, or of the warm-up. */
static void find_received(const struct pl_counters *counters, uint32_t stream, int phase, int64_t *numbers)
{
    const struct pl_datagram_link *link = link_of(counters, stream);
    const struct pl_datagram_counts *all = &link->all, *steady = &link->steady;
    bool ended = atomic_load(&link->ended), drain = phase == PL_DRAIN;
    numbers[RECEIVED] = drain ? 0 : (int64_t)atomic_load(&steady->received);
    numbers[DUPLICATE] = drain ? 0 : (int64_t)atomic_load(&steady->duplicates);
    numbers[REORDERED] = drain ? 0 : (int64_t)atomic_load(&steady->reordered);
    numbers[JITTER] = phase == PL_STEADY ? atomic_load(&steady->jitter_ns) : -1;
    if (phase == PL_WARMUP) {
        numbers[RECEIVED] = (int64_t)atomic_load(&all->received) - numbers[RECEIVED];
        numbers[DUPLICATE] = (int64_t)atomic_load(&all->duplicates) - numbers[DUPLICATE];
        numbers[REORDERED] = (int64_t)atomic_load(&all->reordered) - numbers[REORDERED];
    }
    int64_t sent = numbers[SENT] = !ended ? -1 : drain ? 0 : (int64_t)link->end.sent[phase];
    numbers[LOST] = sent < 0 ? -1 : sent > numbers[RECEIVED] ? sent - numbers[RECEIVED] : 0;
}

/* What the peer's receipt states of the steady window; all unknown where it has given none. */
static void find_confirmed(const struct pl_counters *counters, uint32_t stream, int phase, int64_t *numbers)
{
    const struct pl_datagram_link *link = link_of(counters, stream);
    const struct pl_statement *receipt = &link->receipt;
    bool confirmed = atomic_load(&link->confirmed); /* before the receipt is read */
    uint64_t sent = atomic_load(&link->sent[phase]);
    const int64_t stated[RECEIVED_NUMBERS] = {
        [RECEIVED] = (int64_t)receipt->received,
        [LOST] = sent > receipt->received ? (int64_t)(sent - receipt->received) : 0,
        [DUPLICATE] = (int64_t)receipt->duplicates,
        [REORDERED] = (int64_t)receipt->reordered,
        [SENT] = (int64_t)sent};
    for (int n = 0; n < RECEIVED_NUMBERS; n++)
        numbers[n] = confirmed ? stated[n] : -1;
}

static void write_phase(struct pl_json *j, const struct pl_counters *counters, enum pl_phase phase)
{
    pl_json_begin_object(j, "datagrams");
    if (counters->flow->transmits)
        pl_counters_write(j, counters, sent_names, FIRST_RECEIVED, find_sent, (int)phase);
    if (counters->flow->receives)
        pl_counters_write(j, counters, received_names, RECEIVED_NUMBERS, find_received, (int)phase);
    pl_json_end_object(j);
}

static void write_sent(struct pl_json *j, const struct pl_counters *counters)
{
    static struct pl_pacing_errors errors; /* too large for the stack; records are written by one thread */
    pl_counters_write(j, counters, sent_names, FIRST_RECEIVED, find_sent_in_all, 0);
    memset(&errors, 0, sizeof errors);
    pl_pool_merge_pacing_errors(counters->pool, &errors);
    pl_histogram_write_summary(&errors.error_ns, j, "pacing_error_ns");
    pl_histogram_write_summary(&errors.call_ns, j, "send_call_ns");
    pl_json_u64(j, "icmp_unreachable", sum_links(counters, offsetof(struct pl_datagram_link, unreachable)));
    pl_json_begin_object(j, "confirmed");
    pl_counters_write(j, counters, received_names, CONFIRMED_NUMBERS, find_confirmed, PL_DATAGRAM_STEADY);
    pl_json_end_object(j);
}

static void write_marks(struct pl_json *j, const struct pl_counters *counters)
{
    static const char *const names[PL_ECN_CODEPOINTS] = {"not_ect", "ect1", "ect0", "ce"};
    if (!counters->flow->datagrams.counts_ecn) {
        pl_json_null(j, "ecn");
        return;
    }
    pl_json_begin_object(j, "ecn");
    for (size_t c = 0; c < PL_ECN_CODEPOINTS; c++)
        pl_json_u64(j, names[c],
                    sum_links(counters, offsetof(struct pl_datagram_link, marks) + c * sizeof(uint64_t)));
    pl_json_end_object(j);
}

static void write_host_lost(struct pl_json *j, const struct pl_counters *counters)
{
    int64_t dropped = pl_datagram_samples_dropped(counters->samples, counters->count);
    /* The socket counts coalesced datagrams as one. */
    if (counters->flow->datagrams.gro && dropped > 0)
        dropped = -1;
    pl_json_begin_object(j, "host_lost");
    pl_json_known_i64(j, "socket", dropped);
    pl_json_end_object(j);
}

/* Merged over the workers; those of which the first ones have the first streams. */
static void write_histograms(struct pl_json *j, const struct pl_counters *counters)
{
    struct pl_reordering *merged = calloc(1, sizeof *merged);
    uint32_t workers = (uint32_t)counters->flow->workers;
    if (merged == NULL) {
        pl_json_null(j, "histograms");
        return;
    }
    for (uint32_t s = 0; s < workers && s < counters->count; s++)
        pl_reordering_add(merged, link_of(counters, s)->reordering);
    pl_reordering_write(merged, j, "histograms");
    free(merged);
}

static void write_received(struct pl_json *j, const struct pl_counters *counters)
{
    write_host_lost(j, counters);
    pl_json_u64(j, "foreign", sum_links(counters, offsetof(struct pl_datagram_link, foreign)));
    pl_json_u64(j, "unclassified",
                sum_links(counters, offsetof(struct pl_datagram_link, steady.unclassified)));
    write_marks(j, counters);
    write_histograms(j, counters);
}

static void write_result(struct pl_json *j, const struct pl_counters *counters)
{
    pl_json_begin_object(j, "datagrams");
    if (counters->flow->transmits)
        write_sent(j, counters);
    if (counters->flow->receives)
        write_received(j, counters);
    pl_json_end_object(j);
}

static uint64_t sum_step(const struct pl_counters *counters, int field)
{
    const struct pl_datagram_samples *samples = counters->samples;
    uint64_t sum = 0;
    for (uint32_t s = 0; s < counters->count; s++)
        sum += samples->current[field][s] - samples->previous[field][s];
    return sum;
}

static double per_second(uint64_t count, const struct pl_span *span)
{
    double seconds = (double)(span->end_ns - span->start_ns) / 1e9;
    return seconds > 0 ? (double)count / seconds : 0;
}

static void print_settings(const struct pl_counters *counters)
{
    static const char *const pacings[] = {"", "the kernel", "this process", "the kernel by SO_TXTIME"};
    const struct pl_flow *flow = counters->flow;
    const struct pl_datagram_settings *datagrams = &flow->datagrams;
    (void)printf("datagrams of %lld bytes", (long long)datagrams->bytes);
    if (flow->transmits && flow->pacing != PL_PACING_OFF)
        (void)printf(", %.0f/s offered, paced by %s",
                     (double)pl_datagram_flow_rate(flow) / 8 / (double)datagrams->bytes,
                     pacings[flow->pacing]);
    else if (flow->transmits)
        (void)printf(", as fast as possible");
    if (flow->transmits && datagrams->segments > 1)
        (void)printf(", up to %u in a super-packet", datagrams->segments);
    if (flow->receives && datagrams->gro)
        (void)printf(", coalesced by the kernel on arrival");
    (void)printf("\n");
}

/* The mean over the streams that have one. */
static void print_jitter(const struct pl_counters *counters)
{
    char text[PL_QUANTITY_BYTES] = "-";
    double sum = 0;
    uint32_t known = 0;
    for (uint32_t s = 0; s < counters->count; s++) {
        int64_t jitter_ns = ((const struct pl_datagram_samples *)counters->samples)->jitter_ns[s];
        sum += jitter_ns >= 0 ? (double)jitter_ns : 0;
        known += jitter_ns >= 0;
    }
    if (known > 0)
        pl_format_quantity(sum / known, PL_UNIT_NS, text);
    (void)printf("  %9s", text);
}

static void print_fields(const struct pl_counters *counters, int first, int end, bool headings)
{
    for (int f = first; f < end; f++)
        if (fields[f].heading == NULL)
            continue;
        else if (headings)
            (void)printf("  %*s", fields[f].width, fields[f].heading);
        else if (fields[f].is_rate)
            (void)printf("  %*.0f", fields[f].width,
                         per_second(sum_step(counters, f), &counters->interval.span));
        else
            (void)printf("  %*" PRId64, fields[f].width, (int64_t)sum_step(counters, f));
}

static void print_headings(const struct pl_counters *counters)
{
    if (counters->flow->receives) {
        print_fields(counters, FIRST_RECEIVED, PL_DATAGRAM_FIELDS, true);
        (void)printf("  %9s", "jitter");
    }
    if (counters->flow->transmits)
        print_fields(counters, 0, FIRST_RECEIVED, true);
}

static void print_interval(const struct pl_counters *counters)
{
    if (counters->flow->receives) {
        print_fields(counters, FIRST_RECEIVED, PL_DATAGRAM_FIELDS, false);
        print_jitter(counters);
    }
    if (counters->flow->transmits)
        print_fields(counters, 0, FIRST_RECEIVED, false);
}

/* What the ends state of one direction of the steady window. */
static void print_direction(const struct pl_counters *counters, const char *name, pl_find_numbers *find)
{
    const struct pl_span *steady = &counters->phases.spans[PL_STEADY];
    uint64_t sums[RECEIVED_NUMBERS] = {0};
    bool known = true; /* of every stream both ends have stated their numbers */
    for (uint32_t s = 0; s < counters->count; s++) {
        int64_t numbers[RECEIVED_NUMBERS];
        find(counters, s, PL_STEADY, numbers);
        known = known && numbers[SENT] >= 0;
        for (int n = 0; n < RECEIVED_NUMBERS; n++)
            sums[n] += numbers[n] > 0 ? (uint64_t)numbers[n] : 0;
    }
    (void)printf("%s: ", name);
    if (!known) {
        (void)printf("%" PRIu64 " received, loss unknown: the peer has not stated its numbers\n",
                     sums[RECEIVED]);
        return;
    }
    (void)printf("%.0f/s sent, %.0f/s received, %" PRIu64 " of %" PRIu64 " lost",
                 per_second(sums[SENT], steady), per_second(sums[RECEIVED], steady), sums[LOST], sums[SENT]);
    if (sums[SENT] > 0)
        (void)printf(" (%.3g %%)", 100 * (double)sums[LOST] / (double)sums[SENT]);
    (void)printf(", %" PRIu64 " reordered, %" PRIu64 " duplicated\n", sums[REORDERED], sums[DUPLICATE]);
}

static void print_result(const struct pl_counters *counters)
{
    const struct pl_flow *flow = counters->flow;
    if (flow->transmits)
        print_direction(counters, "datagrams to the peer", find_confirmed);
    if (!flow->receives)
        return;
    print_direction(counters, "datagrams from the peer", find_received);
    int64_t dropped = pl_datagram_samples_dropped(counters->samples, counters->count);
    if (dropped > 0)
        (void)printf("of the lost ones, the sockets of this end dropped %lld%s\n", (long long)dropped,
                     flow->datagrams.gro ? " super-packets" : "");
}

const struct pl_kind_counts pl_datagram_report = {
    .create = pl_datagram_samples_create,
    .free = pl_datagram_samples_free,
    .take = pl_datagram_samples_take,
    .close_interval = pl_datagram_samples_close_interval,
    .write_settings = write_settings,
    .write_interval = write_interval,
    .write_phase = write_phase,
    .write_result = write_result,
    .print_settings = print_settings,
    .print_headings = print_headings,
    .print_interval = print_interval,
    .print_result = print_result,
};
