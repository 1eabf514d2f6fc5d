#include "flow/display.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/wire.h"
#include "flow/sockopts.h"

/* A stretch shorter than this has no rate worth reading: the end of a trial. */
#define SHORTEST_NS (10 * PL_NS_PER_MS)

static uint64_t sum_of(const uint64_t *values, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

static uint64_t step_of(const struct pl_tally *tally, uint32_t count)
{
    return sum_of(tally->now, count) - sum_of(tally->before, count);
}

static void spell_rate(uint64_t bytes, const struct pl_span *span, char text[PL_QUANTITY_BYTES])
{
    pl_ns length_ns = span->end_ns - span->start_ns;
    if (length_ns < SHORTEST_NS)
        (void)snprintf(text, PL_QUANTITY_BYTES, "-");
    else
        pl_format_quantity((double)bytes * 8e9 / (double)length_ns, PL_UNIT_BITS_PER_S, text);
}

static bool flushed(void)
{
    return fflush(stdout) == 0;
}

bool pl_display_ready(const struct pl_account *account)
{
    const struct pl_flow *flow = account->flow;
    struct pl_socket_facts facts;
    struct pl_address peer;
    char address[PL_ADDRESS_TEXT_BYTES + sizeof " port 65535"] = "";
    char window[PL_QUANTITY_BYTES] = "autotuned";
    struct pl_transfer transfer = pl_pool_transfer(account->pool);
    pl_read_socket_facts(account->streams[0].fd, &facts);
    if (pl_address_of_peer(account->streams[0].fd, &peer))
        pl_address_text(&peer, address);
    size_t length = strlen(address);
    if (length > 0 && !flow->accepting && pl_address_port(&peer) > 0)
        (void)snprintf(address + length, sizeof address - length, " port %lld",
                       (long long)pl_address_port(&peer));
    if (address[0] == 0)
        (void)snprintf(address, sizeof address, "an unnamed socket");
    if (flow->window_bytes > 0)
        pl_spell_quantity(flow->window_bytes, PL_UNIT_BYTES, window);
    (void)printf("%s %s %s, %lld stream%s, %s%s%s, window %s, %u worker%s\n",
                 flow->transmits && flow->receives ? "exchanging with"
                 : flow->transmits                 ? "sending to"
                                                   : "receiving from",
                 address, pl_transport_name(pl_account_transport(account)), (long long)flow->streams,
                 flow->streams == 1 ? "" : "s", transfer.send != NULL ? transfer.send : transfer.receive,
                 facts.congestion[0] != 0 ? ", " : "", facts.congestion, window, account->workers,
                 account->workers == 1 ? "" : "s");
    if (transfer.reason != NULL)
        (void)printf("zero-copy was asked for, but %s\n", transfer.reason);
    (void)printf("%15s  %-8s", "time", "phase");
    if (flow->receives)
        (void)printf("  %14s", "received");
    if (flow->transmits)
        (void)printf("  %14s  %11s  %9s  %9s", "sent", "retransmits", "rtt", "in flight");
    (void)printf("\n");
    return flushed();
}

/* Means and sums over the streams, of what the sending side of TCP knows. */
static void print_tcp(const struct pl_account *account)
{
    uint64_t retransmits;
    uint64_t rtt_us;
    uint64_t in_flight = 0;
    uint64_t unacked;
    uint64_t mss;
    char rtt[PL_QUANTITY_BYTES];
    char flight[PL_QUANTITY_BYTES];
    if (!pl_account_sum(account, "total_retrans_segments", &retransmits) ||
        !pl_account_sum(account, "rtt_us", &rtt_us)) {
        (void)printf("  %11s  %9s  %9s", "-", "-", "-");
        return;
    }
    for (uint32_t s = 0; s < account->count; s++)
        if (pl_tcp_info_find(&account->tcp_info[s], "unacked_segments", &unacked) &&
            pl_tcp_info_find(&account->tcp_info[s], "snd_mss_bytes", &mss))
            in_flight += unacked * mss;
    pl_format_quantity((double)rtt_us * 1e3 / account->count, PL_UNIT_NS, rtt);
    pl_format_quantity((double)in_flight, PL_UNIT_BYTES, flight);
    (void)printf("  %11" PRIu64 "  %9s  %9s", retransmits, rtt, flight);
}

static void print_rates(const struct pl_account *account, uint64_t received, uint64_t sent,
                        const struct pl_span *span)
{
    char rate[PL_QUANTITY_BYTES];
    if (account->flow->receives) {
        spell_rate(received, span, rate);
        (void)printf("  %14s", rate);
    }
    if (account->flow->transmits) {
        spell_rate(sent, span, rate);
        (void)printf("  %14s", rate);
    }
}

bool pl_display_interval(const struct pl_account *account)
{
    const struct pl_interval *interval = &account->interval;
    if (interval->span.end_ns - interval->span.start_ns < SHORTEST_NS)
        return true;
    (void)printf("%6.2f-%6.2f s  %-8s", (double)interval->span.start_ns / 1e9,
                 (double)interval->span.end_ns / 1e9, pl_phase_name(interval->phase));
    print_rates(account, step_of(&account->received, account->count), step_of(&account->sent, account->count),
                &interval->span);
    if (account->flow->transmits)
        print_tcp(account);
    (void)printf("\n");
    return flushed();
}

static void print_confirmed(const struct pl_account *account)
{
    uint64_t sum = 0;
    uint32_t known = 0;
    char bytes[PL_QUANTITY_BYTES];
    for (uint32_t s = 0; s < account->count; s++) {
        if (account->streams[s].confirmed < PL_CONFIRMATION_BYTES)
            continue;
        sum += pl_get_u64(account->streams[s].confirmation);
        known++;
    }
    pl_format_quantity((double)sum, PL_UNIT_BYTES, bytes);
    if (known == account->count)
        (void)printf("the peer received %s (%" PRIu64 " bytes)%s\n", bytes, sum,
                     sum == sum_of(account->sent.now, account->count) ? ", all that was sent" : "");
    else
        (void)printf("the peer stated what it received for %u of %u streams\n", known, account->count);
}

static void print_undelivered(const struct pl_account *account)
{
    uint64_t sum = 0;
    char bytes[PL_QUANTITY_BYTES];
    for (uint32_t s = 0; s < account->count; s++)
        sum += account->missing_bytes[s] > 0 ? (uint64_t)account->missing_bytes[s] : 0;
    pl_format_quantity((double)sum, PL_UNIT_BYTES, bytes);
    if (account->reset_streams > 0)
        (void)printf("%u of %u streams were reset at the end of the drain", account->reset_streams,
                     account->count);
    if (account->reset_streams > 0 && account->flow->transmits)
        (void)printf("; %s (%" PRIu64 " bytes) were not delivered", bytes, sum);
    if (account->reset_streams > 0)
        (void)printf("\n");
}

static void print_windows(const struct pl_account *account)
{
    double sum = 0;
    uint32_t known = 0;
    char effective[PL_QUANTITY_BYTES];
    char asked[PL_QUANTITY_BYTES] = "autotuned";
    for (uint32_t s = 0; s < account->count; s++) {
        int64_t window = pl_account_effective_window(account, s);
        sum += window >= 0 ? (double)window : 0;
        known += window >= 0;
    }
    if (known == 0)
        return;
    if (account->flow->window_bytes > 0)
        pl_spell_quantity(account->flow->window_bytes, PL_UNIT_BYTES, asked);
    pl_format_quantity(sum / known, PL_UNIT_BYTES, effective);
    (void)printf("window: asked %s, effective %s per stream (goodput x RTT)\n", asked, effective);
}

static void print_cpu(const struct pl_account *account)
{
    double seconds = 0;
    uint64_t bytes =
        sum_of(account->received.now, account->count) + sum_of(account->sent.now, account->count);
    for (uint32_t w = 0; w < account->workers; w++)
        seconds += (double)(account->use[w].user_ns + account->use[w].system_ns) / 1e9;
    (void)printf("CPU of this end's workers: %.2f s", seconds);
    if (bytes > 0)
        (void)printf(", %.3f s per GB", seconds / ((double)bytes / 1e9));
    (void)printf("\n");
}

bool pl_display_result(const struct pl_account *account, const struct pl_ending *ending)
{
    const struct pl_flow *flow = account->flow;
    const struct pl_span *steady = &account->phases.spans[PL_STEADY];
    if (account->started) {
        (void)printf("%6.2f-%6.2f s  %-8s", (double)steady->start_ns / 1e9, (double)steady->end_ns / 1e9,
                     "steady");
        print_rates(account, sum_of(account->received.phases[PL_STEADY], account->count),
                    sum_of(account->sent.phases[PL_STEADY], account->count), steady);
        uint64_t retransmits;
        if (flow->transmits && pl_account_sum(account, "total_retrans_segments", &retransmits))
            (void)printf("  %11" PRIu64, retransmits);
        (void)printf("  in all\n");
        if (flow->transmits && !flow->receives)
            print_confirmed(account);
        print_undelivered(account);
        if (flow->transmits)
            print_windows(account);
        print_cpu(account);
    }
    if (ending->rejected > 0)
        (void)printf("strangers turned away: %lld\n", (long long)ending->rejected);
    return flushed();
}
