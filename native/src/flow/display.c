#include "flow/display.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/output.h"
#include "base/units.h"
#include "flow/flow_kind.h"
#include "flow/sockopts.h"

/* A shorter span, such as the end of a trial, has no meaningful rate. */
#define SHORTEST_NS (10 * PL_NS_PER_MS)

static uint64_t sum_of(const uint64_t *values, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

static uint64_t step_of(const struct pl_byte_counters *bytes, uint32_t count)
{
    return sum_of(bytes->current, count) - sum_of(bytes->previous, count);
}

static void format_rate(uint64_t bytes, const struct pl_span *span, char text[PL_QUANTITY_BYTES])
{
    pl_ns length_ns = span->end_ns - span->start_ns;
    if (length_ns < SHORTEST_NS)
        (void)snprintf(text, PL_QUANTITY_BYTES, "-");
    else
        pl_format_quantity((double)bytes * 8e9 / (double)length_ns, PL_UNIT_BITS_PER_S, text);
}

/* Who is at the other end, and how the streams are set. */
static void print_peer(const struct pl_counters *counters)
{
    const struct pl_flow *flow = counters->flow;
    struct pl_socket_facts facts;
    struct pl_address peer;
    char address[PL_ADDRESS_TEXT_BYTES + sizeof " port 65535"] = "";
    char window[PL_QUANTITY_BYTES] = "autotuned";
    struct pl_transfer transfer = pl_pool_transfer(counters->pool);
    pl_read_socket_facts(pl_stream_data_fd(&counters->streams[0], counters->kind), &facts);
    if (pl_address_of_peer(counters->streams[0].fd, &peer))
        pl_address_text(&peer, address);
    size_t length = strlen(address);
    if (length > 0 && !flow->accepting && pl_address_port(&peer) > 0)
        (void)snprintf(address + length, sizeof address - length, " port %lld",
                       (long long)pl_address_port(&peer));
    if (address[0] == 0)
        (void)snprintf(address, sizeof address, "an unnamed socket");
    if (flow->window_bytes > 0)
        pl_format_exact_quantity(flow->window_bytes, PL_UNIT_BYTES, window);
    (void)printf("%s %s %s, %lld stream%s, %s%s%s, window %s, %u worker%s\n",
                 flow->transmits && flow->receives ? "exchanging with"
                 : flow->transmits                 ? "sending to"
                                                   : "receiving from",
                 address,
                 counters->kind->transport != NULL ? counters->kind->transport
                                                   : pl_transport_name(pl_counters_transport(counters)),
                 (long long)flow->streams, flow->streams == 1 ? "" : "s",
                 transfer.send != NULL ? transfer.send : transfer.receive,
                 facts.congestion[0] != 0 ? ", " : "", facts.congestion, window, counters->workers,
                 counters->workers == 1 ? "" : "s");
}

bool pl_display_ready(const struct pl_counters *counters)
{
    const struct pl_flow *flow = counters->flow;
    const struct pl_kind_counts *counts = counters->kind->counts;
    struct pl_transfer transfer = pl_pool_transfer(counters->pool);
    if (flow->messages.placement == PL_PLACEMENT_APART)
        print_peer(counters);
    else
        (void)printf("source and sink in this process, %s, %lld stream%s\n",
                     pl_placement_name(flow->messages.placement), (long long)flow->streams,
                     flow->streams == 1 ? "" : "s");
    if (counts != NULL)
        counts->print_settings(counters);
    if (transfer.reason != NULL)
        (void)printf("zero-copy was requested, but %s\n", transfer.reason);
    (void)printf("%15s  %-8s", "time", "phase");
    if (flow->receives)
        (void)printf("  %14s", "received");
    if (flow->transmits)
        (void)printf("  %14s", "sent");
    if (flow->transmits && counters->kind->by_streams)
        (void)printf("  %11s  %9s  %9s", "retransmits", "rtt", "in flight");
    if (counts != NULL && counts->print_headings != NULL)
        counts->print_headings(counters);
    (void)printf("\n");
    return pl_output_flush();
}

/* Sums and means over the streams of the sender's TCP_INFO. */
static void print_tcp(const struct pl_counters *counters)
{
    uint64_t retransmits;
    uint64_t rtt_us;
    uint64_t in_flight = 0;
    uint64_t unacked;
    uint64_t mss;
    char rtt[PL_QUANTITY_BYTES];
    char flight[PL_QUANTITY_BYTES];
    if (!pl_counters_sum(counters, "total_retrans_segments", &retransmits) ||
        !pl_counters_sum(counters, "rtt_us", &rtt_us)) {
        (void)printf("  %11s  %9s  %9s", "-", "-", "-");
        return;
    }
    for (uint32_t s = 0; s < counters->count; s++)
        if (pl_tcp_info_find(&counters->tcp_info[s], "unacked_segments", &unacked) &&
            pl_tcp_info_find(&counters->tcp_info[s], "snd_mss_bytes", &mss))
            in_flight += unacked * mss;
    (void)printf("  %11" PRIu64 "  %9s  %9s", retransmits,
                 pl_format_quantity((double)rtt_us * 1e3 / counters->count, PL_UNIT_NS, rtt),
                 pl_format_quantity((double)in_flight, PL_UNIT_BYTES, flight));
}

static void print_rates(const struct pl_counters *counters, uint64_t received, uint64_t sent,
                        const struct pl_span *span)
{
    char rate[PL_QUANTITY_BYTES];
    if (counters->flow->receives) {
        format_rate(received, span, rate);
        (void)printf("  %14s", rate);
    }
    if (counters->flow->transmits) {
        format_rate(sent, span, rate);
        (void)printf("  %14s", rate);
    }
}

bool pl_display_interval(const struct pl_counters *counters)
{
    const struct pl_interval *interval = &counters->interval;
    const struct pl_kind_counts *counts = counters->kind->counts;
    if (interval->span.end_ns - interval->span.start_ns < SHORTEST_NS)
        return true;
    (void)printf("%6.2f-%6.2f s  %-8s", (double)interval->span.start_ns / 1e9,
                 (double)interval->span.end_ns / 1e9, pl_phase_name(interval->phase));
    print_rates(counters, step_of(&counters->received, counters->count),
                step_of(&counters->sent, counters->count), &interval->span);
    if (counters->flow->transmits && counters->kind->by_streams)
        print_tcp(counters);
    if (counts != NULL && counts->print_interval != NULL)
        counts->print_interval(counters);
    (void)printf("\n");
    return pl_output_flush();
}

static void print_confirmed(const struct pl_counters *counters)
{
    uint64_t sum = 0;
    uint32_t known = 0;
    char bytes[PL_QUANTITY_BYTES];
    for (uint32_t s = 0; s < counters->count; s++) {
        if (counters->streams[s].confirmed < PL_CONFIRMATION_BYTES)
            continue;
        sum += pl_get64(counters->streams[s].confirmation);
        known++;
    }
    pl_format_quantity((double)sum, PL_UNIT_BYTES, bytes);
    if (known == counters->count)
        (void)printf("the peer received %s (%" PRIu64 " bytes)%s\n", bytes, sum,
                     sum == sum_of(counters->sent.current, counters->count) ? ", all bytes sent" : "");
    else
        (void)printf("the peer confirmed the bytes of %u of %u streams\n", known, counters->count);
}

static void print_undelivered(const struct pl_counters *counters)
{
    uint64_t sum = 0;
    char bytes[PL_QUANTITY_BYTES];
    for (uint32_t s = 0; s < counters->count; s++)
        sum += counters->missing_bytes[s] > 0 ? (uint64_t)counters->missing_bytes[s] : 0;
    pl_format_quantity((double)sum, PL_UNIT_BYTES, bytes);
    if (counters->reset_streams > 0)
        (void)printf("%u of %u streams were reset at the end of the drain", counters->reset_streams,
                     counters->count);
    if (counters->reset_streams > 0 && counters->flow->transmits)
        (void)printf("; %s (%" PRIu64 " bytes) were not delivered", bytes, sum);
    if (counters->reset_streams > 0)
        (void)printf("\n");
}

static void print_windows(const struct pl_counters *counters)
{
    double sum = 0;
    uint32_t known = 0;
    char effective[PL_QUANTITY_BYTES];
    char requested[PL_QUANTITY_BYTES] = "autotuned";
    for (uint32_t s = 0; s < counters->count; s++) {
        int64_t window = pl_counters_effective_window(counters, s);
        sum += window >= 0 ? (double)window : 0;
        known += window >= 0;
    }
    if (known == 0)
        return;
    if (counters->flow->window_bytes > 0)
        pl_format_exact_quantity(counters->flow->window_bytes, PL_UNIT_BYTES, requested);
    pl_format_quantity(sum / known, PL_UNIT_BYTES, effective);
    (void)printf("window: requested %s, effective %s per stream (goodput x RTT)\n", requested, effective);
}

static void print_cpu(const struct pl_counters *counters)
{
    double seconds = 0;
    uint64_t bytes =
        sum_of(counters->received.current, counters->count) + sum_of(counters->sent.current, counters->count);
    for (uint32_t w = 0; w < counters->workers; w++)
        seconds += (double)(counters->usage[w].user_ns + counters->usage[w].system_ns) / 1e9;
    (void)printf("CPU of this end's workers: %.2f s", seconds);
    if (bytes > 0)
        (void)printf(", %.3f s per GB", seconds / ((double)bytes / 1e9));
    (void)printf("\n");
}

bool pl_display_result(const struct pl_counters *counters, const struct pl_ending *ending)
{
    const struct pl_flow *flow = counters->flow;
    const struct pl_span *steady = &counters->phases.spans[PL_STEADY];
    if (counters->started) {
        (void)printf("%6.2f-%6.2f s  %-8s", (double)steady->start_ns / 1e9, (double)steady->end_ns / 1e9,
                     "steady");
        print_rates(counters, sum_of(counters->received.phases[PL_STEADY], counters->count),
                    sum_of(counters->sent.phases[PL_STEADY], counters->count), steady);
        uint64_t retransmits;
        if (flow->transmits && pl_counters_sum(counters, "total_retrans_segments", &retransmits))
            (void)printf("  %11" PRIu64, retransmits);
        (void)printf("  in all\n");
        if (counters->kind->counts != NULL)
            counters->kind->counts->print_result(counters);
        if (flow->transmits && !flow->receives && counters->kind->by_streams)
            print_confirmed(counters);
        print_undelivered(counters);
        if (flow->transmits)
            print_windows(counters);
        print_cpu(counters);
    }
    if (ending->rejected > 0)
        (void)printf("unauthenticated peers rejected: %lld\n", (long long)ending->rejected);
    return pl_output_flush();
}
