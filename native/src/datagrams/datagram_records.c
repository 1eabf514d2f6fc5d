#include "datagrams/datagram_records.h"

#include <stdlib.h>
#include <string.h>

#include "datagrams/datagram_flow.h"
#include "datagrams/datagram_link.h"
#include "datagrams/datagram_samples.h"

static const char *const field_names[PL_DATAGRAM_FIELDS] = {
    [PL_DATAGRAMS_SENT] = "sent",           [PL_DATAGRAMS_REFUSED] = "refused",
    [PL_DATAGRAMS_GIVEN_UP] = "given_up",   [PL_DATAGRAMS_RECEIVED] = "received",
    [PL_DATAGRAMS_LOST] = "lost",           [PL_DATAGRAMS_DUPLICATE] = "duplicate",
    [PL_DATAGRAMS_REORDERED] = "reordered", [PL_DATAGRAMS_DROPPED] = "socket_dropped"};

/* The first field of an end that receives. */
#define FIRST_RECEIVED PL_DATAGRAMS_RECEIVED

static const struct pl_datagram_link *link_of(const struct pl_counters *counters, uint32_t stream)
{
    return counters->streams[stream].link;
}

void pl_datagram_records_settings(struct pl_json *j, const struct pl_counters *counters)
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

void pl_datagram_records_interval(struct pl_json *j, const struct pl_counters *counters)
{
    const struct pl_datagram_samples *samples = counters->samples;
    pl_json_begin_object(j, "datagrams");
    for (int f = 0; f < PL_DATAGRAM_FIELDS; f++) {
        if (!is_of_this_end(counters->flow, f) || (f == PL_DATAGRAMS_DROPPED && !samples->drops_known))
            continue;
        pl_json_begin_array(j, field_names[f]);
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

/* The numbers of the sender's part, in the order of the fields. */
static uint64_t find_sent(const struct pl_datagram_link *link, int field, int phase)
{
    const _Atomic uint64_t *const of[] = {link->sent, link->refused, link->given_up};
    return atomic_load(&of[field][phase]);
}

/* Of a phase of the sender, which sends nothing in the drain. */
static void write_sent_phase(struct pl_json *j, const struct pl_counters *counters, enum pl_phase phase)
{
    for (int f = 0; f < FIRST_RECEIVED; f++) {
        pl_json_begin_array(j, field_names[f]);
        for (uint32_t s = 0; s < counters->count; s++)
            pl_json_u64(j, NULL, phase == PL_DRAIN ? 0 : find_sent(link_of(counters, s), f, (int)phase));
        pl_json_end_array(j);
    }
}

/* What came of a phase of the peer: of the steady window, or of the warm-up. */
struct received {
    uint64_t received;
    uint64_t duplicates;
    uint64_t reordered;
    int64_t lost;      /* -1: unknown */
    int64_t peer_sent; /* -1: unknown */
    int64_t jitter_ns; /* -1: unknown */
};

static struct received find_received(const struct pl_datagram_link *link, enum pl_phase phase)
{
    const struct pl_datagram_counts *all = &link->all;
    const struct pl_datagram_counts *steady = &link->steady;
    bool ended = atomic_load(&link->ended);
    if (phase == PL_DRAIN)
        return (struct received){.lost = ended ? 0 : -1, .peer_sent = ended ? 0 : -1, .jitter_ns = -1};
    struct received found = {.received = atomic_load(&steady->received),
                             .duplicates = atomic_load(&steady->duplicates),
                             .reordered = atomic_load(&steady->reordered),
                             .lost = -1,
                             .peer_sent = -1,
                             .jitter_ns = atomic_load(&steady->jitter_ns)};
    if (phase == PL_WARMUP) {
        found.received = atomic_load(&all->received) - found.received;
        found.duplicates = atomic_load(&all->duplicates) - found.duplicates;
        found.reordered = atomic_load(&all->reordered) - found.reordered;
        found.jitter_ns = -1;
    }
    if (ended) {
        uint64_t sent = link->end.sent[phase];
        found.peer_sent = (int64_t)sent;
        found.lost = found.received < sent ? (int64_t)(sent - found.received) : 0;
    }
    return found;
}

static void write_received_phase(struct pl_json *j, const struct pl_counters *counters, enum pl_phase phase)
{
    static const char *const names[] = {"received",  "lost",      "duplicate",
                                        "reordered", "peer_sent", "jitter_ns"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        pl_json_begin_array(j, names[n]);
        for (uint32_t s = 0; s < counters->count; s++) {
            const struct received found = find_received(link_of(counters, s), phase);
            const int64_t values[] = {(int64_t)found.received,  found.lost,      (int64_t)found.duplicates,
                                      (int64_t)found.reordered, found.peer_sent, found.jitter_ns};
            pl_json_known_i64(j, NULL, values[n]);
        }
        pl_json_end_array(j);
    }
}

void pl_datagram_records_phase(struct pl_json *j, const struct pl_counters *counters, enum pl_phase phase)
{
    pl_json_begin_object(j, "datagrams");
    if (counters->flow->transmits)
        write_sent_phase(j, counters, phase);
    if (counters->flow->receives)
        write_received_phase(j, counters, phase);
    pl_json_end_object(j);
}

static void write_total(struct pl_json *j, const struct pl_counters *counters, int field)
{
    pl_json_begin_array(j, field_names[field]);
    for (uint32_t s = 0; s < counters->count; s++) {
        uint64_t sum = 0;
        for (int p = 0; p < PL_DATAGRAM_PHASES; p++)
            sum += find_sent(link_of(counters, s), field, p);
        pl_json_u64(j, NULL, sum);
    }
    pl_json_end_array(j);
}

/* A number of the peer's receipts; null where it has given none. */
static void write_confirmed(struct pl_json *j, const struct pl_counters *counters, const char *key,
                            uint64_t (*number)(const struct pl_datagram_link *link))
{
    pl_json_begin_array(j, key);
    for (uint32_t s = 0; s < counters->count; s++) {
        const struct pl_datagram_link *link = link_of(counters, s);
        if (atomic_load(&link->confirmed))
            pl_json_u64(j, NULL, number(link));
        else
            pl_json_null(j, NULL);
    }
    pl_json_end_array(j);
}

static uint64_t confirmed_received(const struct pl_datagram_link *link)
{
    return link->receipt.received;
}

static uint64_t confirmed_lost(const struct pl_datagram_link *link)
{
    uint64_t sent = atomic_load(&link->sent[PL_DATAGRAM_STEADY]);
    return sent > link->receipt.received ? sent - link->receipt.received : 0;
}

static uint64_t confirmed_duplicates(const struct pl_datagram_link *link)
{
    return link->receipt.duplicates;
}

static uint64_t confirmed_reordered(const struct pl_datagram_link *link)
{
    return link->receipt.reordered;
}

static void write_sent(struct pl_json *j, const struct pl_counters *counters)
{
    static struct pl_pacing_errors errors; /* too large for the stack; records are written by one thread */
    uint64_t unreachable = 0;
    for (uint32_t s = 0; s < counters->count; s++)
        unreachable += atomic_load(&link_of(counters, s)->unreachable);
    for (int f = 0; f < FIRST_RECEIVED; f++)
        write_total(j, counters, f);
    memset(&errors, 0, sizeof errors);
    pl_pool_merge_pacing_errors(counters->pool, &errors);
    pl_histogram_write_summary(&errors.error_ns, j, "pacing_error_ns");
    pl_histogram_write_summary(&errors.call_ns, j, "send_call_ns");
    pl_json_u64(j, "icmp_unreachable", unreachable);
    pl_json_begin_object(j, "confirmed");
    write_confirmed(j, counters, "received", confirmed_received);
    write_confirmed(j, counters, "lost", confirmed_lost);
    write_confirmed(j, counters, "duplicate", confirmed_duplicates);
    write_confirmed(j, counters, "reordered", confirmed_reordered);
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
    for (int c = 0; c < PL_ECN_CODEPOINTS; c++) {
        uint64_t sum = 0;
        for (uint32_t s = 0; s < counters->count; s++)
            sum += atomic_load(&link_of(counters, s)->marks[c]);
        pl_json_u64(j, names[c], sum);
    }
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
    uint64_t foreign = 0;
    uint64_t unclassified = 0;
    for (uint32_t s = 0; s < counters->count; s++) {
        foreign += atomic_load(&link_of(counters, s)->foreign);
        unclassified += atomic_load(&link_of(counters, s)->steady.unclassified);
    }
    write_host_lost(j, counters);
    pl_json_u64(j, "foreign", foreign);
    pl_json_u64(j, "unclassified", unclassified);
    write_marks(j, counters);
    write_histograms(j, counters);
}

void pl_datagram_records_result(struct pl_json *j, const struct pl_counters *counters)
{
    pl_json_begin_object(j, "datagrams");
    if (counters->flow->transmits)
        write_sent(j, counters);
    if (counters->flow->receives)
        write_received(j, counters);
    pl_json_end_object(j);
}
