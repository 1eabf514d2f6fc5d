#include "datagrams/datagram_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "datagrams/datagram_flow.h"
#include "datagrams/datagram_link.h"
#include "datagrams/datagram_samples.h"

static uint64_t sum_step(const struct pl_counters *counters, enum pl_datagram_field field)
{
    const struct pl_datagram_samples *samples = counters->samples;
    uint64_t sum = 0;
    for (uint32_t s = 0; s < counters->count; s++)
        sum += samples->current[field][s] - samples->previous[field][s];
    return sum;
}

static double seconds_of(const struct pl_span *span)
{
    return (double)(span->end_ns - span->start_ns) / 1e9;
}

static double per_second(uint64_t count, const struct pl_span *span)
{
    double seconds = seconds_of(span);
    return seconds > 0 ? (double)count / seconds : 0;
}

void pl_datagram_text_settings(const struct pl_counters *counters)
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

void pl_datagram_text_headings(const struct pl_counters *counters)
{
    const struct pl_flow *flow = counters->flow;
    if (flow->receives)
        (void)printf("  %12s  %8s  %9s  %9s", "received/s", "lost", "reordered", "jitter");
    if (flow->transmits)
        (void)printf("  %12s  %8s", "sent/s", "refused");
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

void pl_datagram_text_interval(const struct pl_counters *counters)
{
    const struct pl_flow *flow = counters->flow;
    const struct pl_span *span = &counters->interval.span;
    if (flow->receives) {
        (void)printf(
            "  %12.0f  %8" PRId64 "  %9" PRIu64, per_second(sum_step(counters, PL_DATAGRAMS_RECEIVED), span),
            (int64_t)sum_step(counters, PL_DATAGRAMS_LOST), sum_step(counters, PL_DATAGRAMS_REORDERED));
        print_jitter(counters);
    }
    if (flow->transmits)
        (void)printf("  %12.0f  %8" PRIu64, per_second(sum_step(counters, PL_DATAGRAMS_SENT), span),
                     sum_step(counters, PL_DATAGRAMS_REFUSED));
}

/* What the ends state of one direction of the steady window. */
struct direction {
    uint64_t sent;
    uint64_t received;
    uint64_t duplicates;
    uint64_t reordered;
    bool known; /* of every stream both ends have stated their numbers */
};

static void print_direction(const char *name, const struct direction *found, const struct pl_span *span)
{
    uint64_t lost = found->sent > found->received ? found->sent - found->received : 0;
    (void)printf("%s: ", name);
    if (!found->known) {
        (void)printf("%" PRIu64 " received, loss unknown: the peer has not stated its numbers\n",
                     found->received);
        return;
    }
    (void)printf("%.0f/s sent, %.0f/s received, %" PRIu64 " of %" PRIu64 " lost",
                 per_second(found->sent, span), per_second(found->received, span), lost, found->sent);
    if (found->sent > 0)
        (void)printf(" (%.3g %%)", 100 * (double)lost / (double)found->sent);
    (void)printf(", %" PRIu64 " reordered, %" PRIu64 " duplicated\n", found->reordered, found->duplicates);
}

static struct direction find_received(const struct pl_counters *counters)
{
    struct direction found = {.known = true};
    for (uint32_t s = 0; s < counters->count; s++) {
        const struct pl_datagram_link *link = counters->streams[s].link;
        bool ended = atomic_load(&link->ended);
        found.known = found.known && ended;
        found.sent += ended ? link->end.sent[PL_DATAGRAM_STEADY] : 0;
        found.received += atomic_load(&link->steady.received);
        found.duplicates += atomic_load(&link->steady.duplicates);
        found.reordered += atomic_load(&link->steady.reordered);
    }
    return found;
}

static struct direction find_sent(const struct pl_counters *counters)
{
    struct direction found = {.known = true};
    for (uint32_t s = 0; s < counters->count; s++) {
        const struct pl_datagram_link *link = counters->streams[s].link;
        bool confirmed = atomic_load(&link->confirmed);
        found.known = found.known && confirmed;
        found.sent += atomic_load(&link->sent[PL_DATAGRAM_STEADY]);
        found.received += confirmed ? link->receipt.received : 0;
        found.duplicates += confirmed ? link->receipt.duplicates : 0;
        found.reordered += confirmed ? link->receipt.reordered : 0;
    }
    return found;
}

void pl_datagram_text_result(const struct pl_counters *counters)
{
    const struct pl_flow *flow = counters->flow;
    const struct pl_span *steady = &counters->phases.spans[PL_STEADY];
    if (flow->transmits) {
        const struct direction found = find_sent(counters);
        print_direction("datagrams to the peer", &found, steady);
    }
    if (flow->receives) {
        const struct direction found = find_received(counters);
        print_direction("datagrams from the peer", &found, steady);
        int64_t dropped = pl_datagram_samples_dropped(counters->samples, counters->count);
        if (dropped > 0)
            (void)printf("of the lost ones, the sockets of this end dropped %lld%s\n", (long long)dropped,
                         flow->datagrams.gro ? " super-packets" : "");
    }
}
