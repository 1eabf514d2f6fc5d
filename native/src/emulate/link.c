#include "emulate/link.h"

#include <math.h>
#include <string.h>

static const uint64_t NS_PER_S = PL_NS_PER_S;
static const pl_ns WAIT_NS_MAX =
    3600000000000; /* bound of an unlimited queue, long before the time overflows */

static const pl_ns CROSS_PLAYBACK_NS_MIN = 200 * PL_NS_PER_MS;
static const double CROSS_PLAYBACK_PACKETS = 8000; /* a queue at 95 % of the rate has converged by then */
enum { CROSS_BYTES = 1500 };

/* ---------- random draws ---------- */

static const uint64_t GOLDEN = 0x9e3779b97f4a7c15U;

/* The finalizer of splitmix64 (Steele, Lea, Flood 2014, variant 13 of Stafford's mixers). */
static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

/* A random number in [0, 1) with 53 bits. Always steps, so that draws do not depend on the settings. */
static double draw(struct pl_link *link, enum pl_link_draw which)
{
    link->draws[which] += GOLDEN;
    return (double)(mix(link->draws[which]) >> 11) * 0x1p-53;
}

static bool draw_loss(struct pl_link *link)
{
    const struct pl_link_settings *settings = &link->settings;
    double state = draw(link, PL_DRAW_STATE);
    double loss = draw(link, PL_DRAW_LOSS);
    if (settings->ge_enter_ratio <= 0.0)
        link->bad_state = false;
    else if (state < (link->bad_state ? settings->ge_leave_ratio : settings->ge_enter_ratio))
        link->bad_state = !link->bad_state;
    return loss < (link->bad_state ? settings->ge_loss_ratio : settings->loss_ratio);
}

/* ---------- queue and serializer ---------- */

void pl_link_init(struct pl_link *link, const struct pl_link_settings *settings, uint64_t seed,
                  unsigned direction)
{
    memset(link, 0, sizeof *link);
    link->settings = *settings;
    link->latest_ns = INT64_MIN;
    for (unsigned i = 0; i < PL_LINES_MAX; i++) {
        link->lines[i] = (struct pl_line){
            .free_at_ns = INT64_MIN,
            .last_due_ns = INT64_MIN,
            .earlier_until_ns = INT64_MIN,
            .cross_due_ns = INT64_MIN,
        };
    }
    for (unsigned i = 0; i < PL_DRAW_CROSS; i++)
        link->draws[i] = mix(mix(seed + GOLDEN) + GOLDEN * (direction * (unsigned)PL_DRAW_CROSS + i + 1U));
    link->draws[PL_DRAW_CROSS] =
        mix(mix(seed + GOLDEN) + GOLDEN * (2U * (unsigned)PL_DRAW_CROSS + direction + 1U));
}

/* What a rate carries in a time: whole bits, and further bit-nanoseconds, up to 10^18. The product itself
 * takes more than 64 bits, and 32-bit machines have no type for it. */
struct volume {
    uint64_t bits;
    uint64_t bit_ns;
};

static struct volume volume_between(pl_ns from_ns, pl_ns to_ns, uint64_t rate_bits_per_s)
{
    if (to_ns <= from_ns)
        return (struct volume){0};
    uint64_t time_ns = (uint64_t)(to_ns - from_ns);
    uint64_t seconds = time_ns / NS_PER_S;
    uint64_t rest_ns = time_ns % NS_PER_S;
    return (struct volume){.bits = seconds * rate_bits_per_s + rest_ns * (rate_bits_per_s / NS_PER_S),
                           .bit_ns = rest_ns * (rate_bits_per_s % NS_PER_S)};
}

static uint64_t line_backlog_bytes(const struct pl_link *link, const struct pl_line *line, pl_ns now_ns)
{
    if (line->free_at_ns <= now_ns)
        return 0;
    pl_ns earlier_ns = line->earlier_until_ns > now_ns ? line->earlier_until_ns : now_ns;
    struct volume earlier = volume_between(now_ns, earlier_ns, line->earlier_bits_per_s);
    struct volume later = volume_between(earlier_ns, line->free_at_ns, link->settings.rate_bits_per_s);
    uint64_t bit_ns = earlier.bit_ns + later.bit_ns;
    if (line->earlier_until_ns < line->free_at_ns)
        bit_ns += line->free_remainder;
    uint64_t bits = earlier.bits + later.bits + bit_ns / NS_PER_S;
    bool is_whole = bits % 8U == 0 && bit_ns % NS_PER_S == 0;
    return bits / 8U + (is_whole ? 0 : 1);
}

static unsigned count_lines(const struct pl_link_settings *settings)
{
    return settings->lines > 1 ? (unsigned)settings->lines : 1U;
}

uint64_t pl_link_backlog_bytes(const struct pl_link *link, pl_ns now_ns)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < count_lines(&link->settings); i++)
        bytes += line_backlog_bytes(link, &link->lines[i], now_ns);
    return bytes;
}

/* The rate, rounded down, that carries these bytes in this time: at most a queue's, so no product overflows.
 */
static uint64_t rate_of(uint64_t bytes, uint64_t time_ns)
{
    uint64_t rate = bytes * 8U / time_ns;
    uint64_t rest = bytes * 8U % time_ns;
    for (int i = 0; i < 3; i++) { /* a thousandfold three times is NS_PER_S */
        rate = rate * 1000U + rest * 1000U / time_ns;
        rest = rest * 1000U % time_ns;
    }
    return rate;
}

/* Book `size_bytes` on the serializer; returns when its last bit has left. */
static pl_ns serialize(const struct pl_link *link, struct pl_line *line, pl_ns now_ns, uint32_t size_bytes)
{
    uint64_t rate = link->settings.rate_bits_per_s;
    if (line->free_at_ns < now_ns) {
        line->free_at_ns = now_ns;
        line->free_remainder = 0;
    }
    if (rate == 0)
        return line->free_at_ns; /* after the packets queued under an earlier rate */
    uint64_t bit_ns = (uint64_t)size_bytes * 8U * NS_PER_S + line->free_remainder;
    line->free_at_ns += (pl_ns)(bit_ns / rate);
    line->free_remainder = bit_ns % rate;
    return line->free_at_ns;
}

static bool is_queue_full(const struct pl_link *link, const struct pl_line *line, pl_ns now_ns,
                          uint64_t backlog_bytes, uint32_t size_bytes)
{
    const struct pl_link_settings *settings = &link->settings;
    if (settings->rate_bits_per_s == 0)
        return false;
    if (line->free_at_ns > now_ns && line->free_at_ns - now_ns > WAIT_NS_MAX)
        return true;
    return settings->queue_bytes > 0 && backlog_bytes + size_bytes > settings->queue_bytes;
}

/* An arrival timestamp may be earlier than a change of settings made meanwhile. */
static pl_ns advance(struct pl_link *link, pl_ns now_ns)
{
    if (link->latest_ns < now_ns)
        link->latest_ns = now_ns;
    return link->latest_ns;
}

/* Admit the cross-traffic packets due by now. */
static void admit_cross(struct pl_link *link, struct pl_line *line, pl_ns now_ns)
{
    const struct pl_link_settings *settings = &link->settings;
    if (settings->cross_bits_per_s == 0 || settings->rate_bits_per_s == 0) {
        line->cross_due_ns = INT64_MIN;
        return;
    }
    double mean_gap_ns = CROSS_BYTES * 8.0 * (double)NS_PER_S / (double)settings->cross_bits_per_s;
    pl_ns playback_ns = (pl_ns)(CROSS_PLAYBACK_PACKETS * mean_gap_ns);
    if (playback_ns < CROSS_PLAYBACK_NS_MIN)
        playback_ns = CROSS_PLAYBACK_NS_MIN;
    if (line->cross_due_ns < now_ns - playback_ns)
        line->cross_due_ns = now_ns - playback_ns;
    while (line->cross_due_ns <= now_ns) {
        pl_ns due_ns = line->cross_due_ns;
        if (is_queue_full(link, line, due_ns, line_backlog_bytes(link, line, due_ns), CROSS_BYTES)) {
            link->counters.cross_dropped_packets++;
        } else {
            link->counters.cross_packets++;
            (void)serialize(link, line, due_ns, CROSS_BYTES);
        }
        line->cross_due_ns += (pl_ns)(-log1p(-draw(link, PL_DRAW_CROSS)) * mean_gap_ns);
    }
}

/* Packets already accepted by a line keep their times; what is left of the old rate's unit goes. */
static void change_line(struct pl_link *link, struct pl_line *line, const struct pl_link_settings *settings,
                        pl_ns now_ns)
{
    const struct pl_link_settings *before = &link->settings;
    admit_cross(link, line, now_ns);
    if (settings->rate_bits_per_s != before->rate_bits_per_s) {
        uint64_t backlog_bytes = line_backlog_bytes(link, line, now_ns);
        if (backlog_bytes > 0) {
            uint64_t left_ns = (uint64_t)(line->free_at_ns - now_ns);
            line->earlier_bits_per_s = rate_of(backlog_bytes, left_ns);
            line->earlier_until_ns = line->free_at_ns;
        }
        line->free_remainder = 0; /* its unit was the old rate */
    }
    if (settings->aqm != before->aqm || settings->target_ns != before->target_ns ||
        settings->interval_ns != before->interval_ns)
        memset(&line->codel, 0, sizeof line->codel);
}

void pl_link_change(struct pl_link *link, const struct pl_link_settings *settings, pl_ns now_ns)
{
    now_ns = advance(link, now_ns);
    for (unsigned i = 0; i < count_lines(&link->settings); i++)
        change_line(link, &link->lines[i], settings, now_ns);
    link->settings = *settings;
}

/* Whether CoDel drops or marks this packet. */
static bool apply_codel(const struct pl_link *link, struct pl_line *line, pl_ns now_ns,
                        uint64_t backlog_bytes, uint32_t size_bytes, bool markable)
{
    const struct pl_codel_times times = {
        .target_ns = (pl_ns)link->settings.target_ns,
        .interval_ns = (pl_ns)link->settings.interval_ns,
    };
    const struct pl_codel_packet packet = {
        .arrival_ns = now_ns,
        .leave_ns = line->free_at_ns > now_ns ? line->free_at_ns : now_ns,
        .ahead_bytes = backlog_bytes,
        .size_bytes = size_bytes,
        .markable = markable,
    };
    return link->settings.aqm == PL_AQM_CODEL && pl_codel_decide(&line->codel, &times, &packet);
}

static pl_ns decide_due(const struct pl_link *link, struct pl_line *line, pl_ns sent_ns, double jitter,
                        bool reordered)
{
    const struct pl_link_settings *settings = &link->settings;
    pl_ns due_ns = sent_ns + (pl_ns)settings->delay_ns + (pl_ns)(jitter * (double)settings->jitter_ns);
    due_ns += (pl_ns)settings->line_delay_ns * (line - link->lines);
    if (reordered)
        return due_ns + (pl_ns)settings->reorder_ns;
    if (due_ns < line->last_due_ns)
        due_ns = line->last_due_ns;
    line->last_due_ns = due_ns;
    return due_ns;
}

struct pl_link_verdict pl_link_admit(struct pl_link *link, pl_ns now_ns, uint32_t size_bytes, enum pl_ecn ecn)
{
    const struct pl_link_settings *settings = &link->settings;
    bool lost = draw_loss(link);
    double jitter = draw(link, PL_DRAW_JITTER);
    bool reordered = draw(link, PL_DRAW_REORDER) < settings->reorder_ratio;
    bool duplicate = draw(link, PL_DRAW_DUPLICATE) < settings->duplicate_ratio;

    now_ns = advance(link, now_ns);
    struct pl_line *line = &link->lines[link->counters.arrived_packets % count_lines(settings)];
    admit_cross(link, line, now_ns);
    link->counters.arrived_packets++;
    link->counters.arrived_bytes += size_bytes;
    uint64_t backlog_bytes = line_backlog_bytes(link, line, now_ns);
    if (is_queue_full(link, line, now_ns, backlog_bytes, size_bytes)) {
        link->counters.queue_dropped_packets++;
        return (struct pl_link_verdict){.fate = PL_FATE_QUEUE_DROPPED};
    }
    bool markable = ecn != PL_ECN_NOT_CAPABLE;
    bool unwanted = apply_codel(link, line, now_ns, backlog_bytes, size_bytes, markable);
    if (unwanted && !markable) {
        link->counters.aqm_dropped_packets++;
        return (struct pl_link_verdict){.fate = PL_FATE_AQM_DROPPED};
    }
    bool congested = unwanted || (settings->ecn_bytes > 0 && backlog_bytes > settings->ecn_bytes);
    bool mark = congested && markable && ecn != PL_ECN_CE;
    link->counters.marked_packets += mark ? 1 : 0;
    pl_ns sent_ns = serialize(link, line, now_ns, size_bytes);
    if (lost) {
        link->counters.lost_packets++;
        return (struct pl_link_verdict){.fate = PL_FATE_LOST, .mark = mark};
    }
    return (struct pl_link_verdict){
        .fate = PL_FATE_DELIVERED,
        .duplicate = duplicate,
        .mark = mark,
        .due_ns = decide_due(link, line, sent_ns, jitter, reordered),
    };
}
