/* The model of a link: rate, queue, delay, loss, and that a change of settings keeps earlier decisions. */
#include <math.h>

#include "check.h"
#include "emulate/link.h"

enum { PACKET_BYTES = 1500, MANY = 200000 };

static struct pl_link_settings settings_of(const char *spec)
{
    struct pl_link_settings settings = {0};
    struct pl_error error = {0};
    CHECK(pl_link_settings_parse(&settings, "--forward", spec, &error));
    return settings;
}

static struct pl_link link_of(const char *spec, uint64_t seed, unsigned direction)
{
    struct pl_link_settings settings = settings_of(spec);
    struct pl_link link;
    pl_link_init(&link, &settings, seed, direction);
    return link;
}

/* A packet that is not ECN-capable. */
static struct pl_link_verdict admit(struct pl_link *link, pl_ns now_ns, uint32_t size_bytes)
{
    return pl_link_admit(link, now_ns, size_bytes, PL_ECN_NOT_CAPABLE);
}

static void check_parsing(void)
{
    struct pl_link_settings settings =
        settings_of("rate_bits_per_s=40000000,delay_ns=20000000,loss_ratio=1e-3");
    CHECK_EQUAL(settings.rate_bits_per_s, 40000000);
    CHECK_EQUAL(settings.delay_ns, 20000000);
    CHECK(settings.loss_ratio == 1e-3);
    CHECK_EQUAL(settings.queue_bytes, 0);

    struct pl_error error = {0};
    CHECK(pl_link_settings_parse(&settings, "forward", "queue_bytes=250000", &error));
    CHECK_EQUAL(settings.queue_bytes, 250000);
    CHECK_EQUAL(settings.rate_bits_per_s, 40000000); /* other keys are unchanged */
    CHECK(settings.aqm == PL_AQM_NONE);
    CHECK_EQUAL(settings.target_ns, 0);

    CHECK(pl_link_settings_parse(&settings, "forward", "aqm=codel,ecn_bytes=30000", &error));
    CHECK(settings.aqm == PL_AQM_CODEL);
    CHECK_EQUAL(settings.ecn_bytes, 30000);
    CHECK_EQUAL(settings.target_ns, 5000000); /* RFC 8289, 4.4 */
    CHECK_EQUAL(settings.interval_ns, 100000000);
    CHECK(pl_link_settings_parse(&settings, "forward", "target_ns=7000000", &error));
    CHECK_EQUAL(settings.target_ns, 7000000);
    CHECK(pl_link_settings_parse(&settings, "forward", "aqm=none", &error));
    CHECK(settings.aqm == PL_AQM_NONE);
}

static void check_refusals(void)
{
    static const struct {
        const char *spec, *text;
    } cases[] = {
        {"speed=1", "--forward: there is no link setting 'speed'"},
        {"delay_ns=1,delay_ns=2", "--forward: given twice: 'delay_ns'"},
        {"delay_ns", "--forward: expected key=value,... and found 'delay_ns'"},
        {"delay_ns=1,", "--forward: nothing follows the last comma"},
        {"delay_ns=20ms", "--forward: delay_ns must be an integer from 0 to 600000000000, not '20ms'"},
        {"delay_ns=-1", "--forward: delay_ns must be an integer from 0 to 600000000000, not '-1'"},
        {"loss_ratio=1.5", "--forward: loss_ratio must be a number from 0 to 1, not '1.5'"},
        {"loss_ratio=nan", "--forward: loss_ratio must be a number from 0 to 1, not 'nan'"},
        {"aqm=red", "--forward: aqm must be none or codel, not 'red'"},
        {"aqm=codel,target_ns=2000000,interval_ns=1000000",
         "--forward: target_ns is 2000000, above interval_ns, which is 1000000"},
        {"aqm=codel,interval_ns=4999999",
         "--forward: target_ns is 5000000, above interval_ns, which is 4999999"},
        {"loss_ratio=", "--forward: loss_ratio must be a number from 0 to 1, not ''"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pl_link_settings settings = {.delay_ns = 7};
        struct pl_error error = {0};
        CHECK(!pl_link_settings_parse(&settings, "--forward", cases[i].spec, &error));
        CHECK_TEXT(error.text, cases[i].text);
        CHECK_EQUAL(settings.delay_ns, 7);
    }
}

static void check_delay_and_rate(void)
{
    struct pl_link link = link_of("rate_bits_per_s=12000000,delay_ns=5000000", 1, 0); /* 1 ms per packet */
    CHECK_EQUAL(admit(&link, 1000, PACKET_BYTES).due_ns, 1000 + 1000000 + 5000000);
    CHECK_EQUAL(admit(&link, 1000, PACKET_BYTES).due_ns, 1000 + 2000000 + 5000000);
    /* An idle link accumulates no credit. */
    CHECK_EQUAL(admit(&link, 90000000, PACKET_BYTES).due_ns, 90000000 + 1000000 + 5000000);
    CHECK_EQUAL(link.counters.arrived_packets, 3);
    CHECK_EQUAL(link.counters.arrived_bytes, 3 * PACKET_BYTES);
}

static void check_no_drift(void)
{
    /* 12000 bits at 7 Gbit/s are 1714 2/7 ns: truncation would gain 28 us over 100000 packets. */
    struct pl_link link = link_of("rate_bits_per_s=7000000000", 1, 0);
    pl_ns due_ns = 0;
    for (int i = 0; i < 100000; i++)
        due_ns = admit(&link, 0, PACKET_BYTES).due_ns;
    CHECK_EQUAL(due_ns, 171428571); /* floor(100000 * 12000 / 7) */
}

static void check_queue(void)
{
    struct pl_link link = link_of("rate_bits_per_s=12000000,queue_bytes=4500", 1, 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(admit(&link, 0, PACKET_BYTES).fate, PL_FATE_DELIVERED);
    CHECK_EQUAL(pl_link_backlog_bytes(&link, 0), 4500);
    CHECK_EQUAL(admit(&link, 0, PACKET_BYTES).fate, PL_FATE_QUEUE_DROPPED);
    CHECK_EQUAL(admit(&link, 0, 1).fate, PL_FATE_QUEUE_DROPPED);
    CHECK_EQUAL(pl_link_backlog_bytes(&link, 500000), 3750); /* half a packet has left */
    CHECK_EQUAL(admit(&link, 500000, 750).fate, PL_FATE_DELIVERED);
    CHECK_EQUAL(admit(&link, 500000, 750).fate, PL_FATE_QUEUE_DROPPED);
    CHECK_EQUAL(link.counters.queue_dropped_packets, 3);
    CHECK_EQUAL(pl_link_backlog_bytes(&link, 4000000), 0);

    struct pl_link small = link_of("rate_bits_per_s=12000000,queue_bytes=1000", 1, 0);
    CHECK_EQUAL(admit(&small, 0, PACKET_BYTES).fate, PL_FATE_QUEUE_DROPPED); /* never fits */
}

static void check_slowest_link_never_overflows(void)
{
    struct pl_link link = link_of("rate_bits_per_s=1", 1, 0);
    uint64_t delivered = 0;
    for (int i = 0; i < 100000; i++) {
        struct pl_link_verdict verdict = admit(&link, 0, 65535);
        delivered += verdict.fate == PL_FATE_DELIVERED ? 1 : 0;
        CHECK(verdict.due_ns >= 0);
    }
    CHECK_EQUAL(delivered, 1); /* the second would wait for six days */
}

/* Time times rate, in bit-nanoseconds, takes more than 64 bits. */
static void check_long_queue_of_fast_link(void)
{
    struct pl_link link = link_of("rate_bits_per_s=1000000000000", 1, 0);
    const uint64_t bytes = 2621400000;
    const pl_ns drained_ns = 20971200;
    for (uint64_t sent = 0; sent < bytes; sent += 65535)
        (void)admit(&link, 0, 65535);
    CHECK_EQUAL(pl_link_backlog_bytes(&link, 0), bytes);
    CHECK_EQUAL(pl_link_backlog_bytes(&link, drained_ns / 2), bytes / 2);
    CHECK_EQUAL(pl_link_backlog_bytes(&link, drained_ns - 1), 125);
    struct pl_link_settings slower = settings_of("rate_bits_per_s=999999999999");
    pl_link_change(&link, &slower, 0);
    CHECK_EQUAL(pl_link_backlog_bytes(&link, 0), bytes);
    CHECK_EQUAL(pl_link_backlog_bytes(&link, drained_ns / 4), bytes / 4 * 3);
    CHECK_EQUAL(pl_link_backlog_bytes(&link, drained_ns), 0);
    CHECK_EQUAL(admit(&link, 0, 1500).due_ns, drained_ns + 12);
    CHECK_EQUAL(pl_link_backlog_bytes(&link, drained_ns), 1500);
}

static void check_loss_interval(const char *spec, double expected, double deviation)
{
    struct pl_link link = link_of(spec, 42, 0);
    for (int i = 0; i < MANY; i++)
        (void)admit(&link, i, PACKET_BYTES);
    double share = (double)link.counters.lost_packets / MANY;
    CHECK(fabs(share - expected) < 4.0 * deviation / sqrt(MANY));
}

static void check_bursts(void)
{
    /* Mean burst 1 / leave; each packet in the bad state is lost. */
    struct pl_link link = link_of("ge_enter_ratio=0.01,ge_leave_ratio=0.25,ge_loss_ratio=1", 3, 0);
    uint64_t bursts = 0;
    bool before = false;
    for (int i = 0; i < MANY; i++) {
        bool lost = admit(&link, i, PACKET_BYTES).fate == PL_FATE_LOST;
        bursts += lost && !before ? 1 : 0;
        before = lost;
    }
    double mean = (double)link.counters.lost_packets / (double)bursts;
    CHECK(fabs(mean - 4.0) < 4.0 * 3.5 / sqrt((double)bursts)); /* geometric: deviation sqrt(0.75)/0.25 */
}

static void check_seed(void)
{
    struct pl_link one = link_of("loss_ratio=0.1", 9, 0);
    /* The same draws although the queue drops and delays differ. */
    struct pl_link same = link_of("loss_ratio=0.1,delay_ns=1000,jitter_ns=500", 9, 0);
    struct pl_link other_seed = link_of("loss_ratio=0.1", 10, 0);
    struct pl_link other_direction = link_of("loss_ratio=0.1", 9, 1);
    int differ_seed = 0;
    int differ_direction = 0;
    for (int i = 0; i < 5000; i++) {
        enum pl_link_fate fate = admit(&one, i, PACKET_BYTES).fate;
        CHECK_EQUAL(admit(&same, i, PACKET_BYTES).fate, fate);
        differ_seed += admit(&other_seed, i, PACKET_BYTES).fate != fate;
        differ_direction += admit(&other_direction, i, PACKET_BYTES).fate != fate;
    }
    /* Independent losses differ in 2 * 0.1 * 0.9 of the packets. */
    CHECK(differ_seed > 700 && differ_seed < 1100);
    CHECK(differ_direction > 700 && differ_direction < 1100);
}

static void check_jitter_keeps_order(void)
{
    struct pl_link link = link_of("delay_ns=1000000,jitter_ns=5000000", 5, 0);
    pl_ns before_ns = 0;
    pl_ns greatest_ns = 0;
    for (int i = 0; i < 10000; i++) {
        pl_ns now_ns = (pl_ns)i * 100000;
        pl_ns due_ns = admit(&link, now_ns, PACKET_BYTES).due_ns;
        CHECK(due_ns >= before_ns && due_ns >= now_ns + 1000000 && due_ns < now_ns + 6000000);
        before_ns = due_ns;
        greatest_ns = due_ns - now_ns > greatest_ns ? due_ns - now_ns : greatest_ns;
    }
    CHECK(greatest_ns > 5900000);
}

static void check_reordering_and_duplication(void)
{
    struct pl_link link =
        link_of("delay_ns=1000,reorder_ratio=0.2,reorder_ns=777,duplicate_ratio=0.05", 6, 0);
    int late = 0;
    int twice = 0;
    for (int i = 0; i < 10000; i++) {
        struct pl_link_verdict verdict = admit(&link, i, PACKET_BYTES);
        CHECK(verdict.due_ns == i + 1000 || verdict.due_ns == i + 1777);
        late += verdict.due_ns == i + 1777;
        twice += verdict.duplicate;
    }
    CHECK(late > 1840 && late < 2160); /* 4 deviations of 40 */
    CHECK(twice > 412 && twice < 588); /* 4 deviations of 22 */
}

/* Two lines of 10 Mbit/s in turn, the second 5 ms longer, with a queue of two packets each. */
static void check_lines(void)
{
    struct pl_link link = link_of(
        "rate_bits_per_s=10000000,delay_ns=1000000,queue_bytes=3000,lines=2,line_delay_ns=5000000", 1, 0);
    const pl_ns serial_ns = 1200000; /* 1500 bytes */
    const pl_ns due_ns[] = {serial_ns, serial_ns + 5000000, 2 * serial_ns, 2 * serial_ns + 5000000};
    for (unsigned i = 0; i < 4; i++) {
        struct pl_link_verdict verdict = admit(&link, 0, PACKET_BYTES);
        CHECK(verdict.fate == PL_FATE_DELIVERED);
        CHECK_EQUAL(verdict.due_ns, 1000000 + due_ns[i]);
    }
    CHECK_EQUAL(pl_link_backlog_bytes(&link, 0), 6000);
    CHECK(admit(&link, 0, PACKET_BYTES).fate == PL_FATE_QUEUE_DROPPED); /* the first line's queue */
    CHECK(admit(&link, 0, PACKET_BYTES).fate == PL_FATE_QUEUE_DROPPED);
    CHECK_EQUAL(link.counters.queue_dropped_packets, 2);

    struct pl_link_settings one = settings_of("rate_bits_per_s=10000000,delay_ns=1000000");
    pl_link_change(&link, &one, 3000000);
    CHECK_EQUAL(pl_link_backlog_bytes(&link, 3000000), 0);
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQUAL(admit(&link, 3000000, PACKET_BYTES).due_ns, 4000000 + (pl_ns)(i + 1) * serial_ns);
}

static void check_change(void)
{
    struct pl_link link = link_of("rate_bits_per_s=12000000,queue_bytes=15000,delay_ns=1000000", 1, 0);
    for (int i = 0; i < 10; i++)
        CHECK_EQUAL(admit(&link, 0, PACKET_BYTES).fate, PL_FATE_DELIVERED);
    struct pl_link_settings faster =
        settings_of("rate_bits_per_s=120000000,queue_bytes=15000,delay_ns=1000000");
    pl_link_change(&link, &faster, 0);
    /* The backlog is what was accepted at any earlier rate, and it drains at the decided times. */
    CHECK_EQUAL(pl_link_backlog_bytes(&link, 0), 15000);
    CHECK_EQUAL(admit(&link, 0, PACKET_BYTES).fate, PL_FATE_QUEUE_DROPPED);
    CHECK_EQUAL(pl_link_backlog_bytes(&link, 5000000), 7500);
    struct pl_link_verdict next = admit(&link, 5000000, PACKET_BYTES);
    CHECK_EQUAL(next.due_ns, 10000000 + 100000 + 1000000); /* after the old ones, at the new rate */
    CHECK_EQUAL(pl_link_backlog_bytes(&link, 5000000), 9000);

    struct pl_link_settings nearer = settings_of("");
    pl_link_change(&link, &nearer, 6000000);
    CHECK_EQUAL(admit(&link, 6000000, PACKET_BYTES).due_ns, next.due_ns); /* never overtakes */
    CHECK_EQUAL(admit(&link, 90000000, PACKET_BYTES).due_ns, 90000000);
}

static void check_ecn_threshold(void)
{
    struct pl_link link = link_of("rate_bits_per_s=12000000,queue_bytes=9000,ecn_bytes=3000", 1, 0);
    /* Backlogs of 0, 1500 and 3000 bytes are not longer than 3000. */
    for (int i = 0; i < 3; i++)
        CHECK(!pl_link_admit(&link, 0, PACKET_BYTES, PL_ECN_ECT0).mark);
    struct pl_link_verdict marked = pl_link_admit(&link, 0, PACKET_BYTES, PL_ECN_ECT0);
    CHECK(marked.mark && marked.fate == PL_FATE_DELIVERED);
    CHECK_EQUAL(marked.due_ns, 4000000); /* a mark costs and delays nothing */
    CHECK(pl_link_admit(&link, 0, PACKET_BYTES, PL_ECN_ECT1).mark);
    CHECK(!pl_link_admit(&link, 0, 100, PL_ECN_CE).mark); /* is CE already */
    CHECK(!pl_link_admit(&link, 0, 100, PL_ECN_NOT_CAPABLE).mark);
    struct pl_link_verdict dropped = pl_link_admit(&link, 0, PACKET_BYTES, PL_ECN_ECT0);
    CHECK(dropped.fate == PL_FATE_QUEUE_DROPPED && !dropped.mark); /* the bound applies to all packets */
    CHECK_EQUAL(link.counters.marked_packets, 2);
    CHECK_EQUAL(link.counters.queue_dropped_packets, 1);

    struct pl_link never = link_of("rate_bits_per_s=12000000", 1, 0);
    for (int i = 0; i < 1000; i++)
        CHECK(!pl_link_admit(&never, 0, PACKET_BYTES, PL_ECN_ECT0).mark);
}

/* Twice the rate for ten seconds through a long queue; returns the wait of the last sent packet. */
static pl_ns overload(struct pl_link *link, enum pl_ecn ecn)
{
    pl_ns wait_ns = 0;
    for (int i = 0; i < 20000; i++) {
        pl_ns now_ns = (pl_ns)i * 500000;
        struct pl_link_verdict verdict = pl_link_admit(link, now_ns, PACKET_BYTES, ecn);
        wait_ns = verdict.fate == PL_FATE_DELIVERED ? verdict.due_ns - now_ns : wait_ns;
    }
    return wait_ns;
}

static void check_codel(void)
{
    static const char tail_only[] = "rate_bits_per_s=12000000,queue_bytes=100000000";
    static const char with_codel[] = "rate_bits_per_s=12000000,queue_bytes=100000000,aqm=codel";
    struct pl_link plain = link_of(tail_only, 1, 0);
    struct pl_link link = link_of(with_codel, 1, 0);
    struct pl_link capable = link_of(with_codel, 1, 0);
    CHECK_EQUAL(overload(&plain, PL_ECN_ECT0), (pl_ns)(20000 * 1000000.0 - 19999 * 500000.0));
    CHECK_EQUAL(plain.counters.marked_packets + plain.counters.aqm_dropped_packets, 0);
    /* Drops grow with the time above the target: the square-root law reaches every second packet within
     * seconds. */
    CHECK(overload(&link, PL_ECN_NOT_CAPABLE) < 7 * PL_NS_PER_S);
    CHECK(link.counters.aqm_dropped_packets > 1000);
    CHECK_EQUAL(link.counters.queue_dropped_packets + link.counters.marked_packets, 0);
    /* Marks replace drops, so a sender that ignores marks keeps its queue. */
    CHECK_EQUAL(overload(&capable, PL_ECN_ECT0), (pl_ns)(20000 * 1000000.0 - 19999 * 500000.0));
    CHECK_EQUAL(capable.counters.aqm_dropped_packets, 0);
    CHECK(capable.counters.marked_packets > 1000);
}

/* 50 Mbit/s of cross traffic and 60 Mbit/s of packets on a link of 100 Mbit/s: the link is fully used, a
 * tenth of all packets is dropped, and the draws for the packets do not change. */
static void check_cross_traffic(void)
{
    const char *spec = "rate_bits_per_s=100000000,queue_bytes=150000,loss_ratio=0.1";
    char crossed[128];
    (void)snprintf(crossed, sizeof crossed, "%s,cross_bits_per_s=50000000", spec);
    struct pl_link alone = link_of(spec, 5, 0);
    struct pl_link shared = link_of(crossed, 5, 0);
    int lost_here_alone = 0;
    const unsigned packets = 50000; /* 10 s */
    uint64_t before = 0;
    for (unsigned i = 0; i < packets; i++) {
        pl_ns at_ns = (pl_ns)i * 200000;
        before = i == 1 ? shared.counters.cross_packets : before;
        enum pl_link_fate fate = admit(&shared, at_ns, PACKET_BYTES).fate;
        bool lost = admit(&alone, at_ns, PACKET_BYTES).fate == PL_FATE_LOST;
        lost_here_alone += fate != PL_FATE_QUEUE_DROPPED && (fate == PL_FATE_LOST) != lost;
    }
    CHECK_EQUAL(lost_here_alone, 0);
    CHECK_EQUAL(alone.counters.cross_packets + alone.counters.queue_dropped_packets, 0);
    uint64_t others = shared.counters.cross_packets + shared.counters.cross_dropped_packets;
    CHECK(before > 8000 - 450 && before < 8000 + 450); /* 5 standard errors */
    CHECK(others - before > 41667 - 1000 && others - before < 41667 + 1000);
    uint64_t served = shared.counters.cross_packets + packets - shared.counters.queue_dropped_packets;
    CHECK(served - before > 83333 - 300 && served - before < 83333 + 1000);
    CHECK(shared.counters.queue_dropped_packets > packets / 25 &&
          shared.counters.queue_dropped_packets < packets / 6);
    /* After an hour without a packet, only the last 8000 cross-traffic packets are played back. */
    (void)admit(&shared, 3600 * PL_NS_PER_S, PACKET_BYTES);
    uint64_t later = shared.counters.cross_packets + shared.counters.cross_dropped_packets;
    CHECK(later - others > 8000 - 450 && later - others < 8000 + 450);
}

/* A packet once a second on a link with 95 % cross traffic waits as long as frequent packets: an M/D/1 queue
 * has rho / (2 (1 - rho)) packets of 1.2 ms before it, 11.4 ms. */
static void check_cross_traffic_has_settled(void)
{
    struct pl_link link = link_of("rate_bits_per_s=10000000,cross_bits_per_s=9500000", 5, 0);
    const int packets = 2000;
    double waited_ns = 0.0;
    for (int i = 1; i <= packets; i++) {
        pl_ns at_ns = i * PL_NS_PER_S;
        waited_ns += (double)(admit(&link, at_ns, 40).due_ns - at_ns) - 32000.0;
    }
    CHECK(waited_ns / packets > 10.1e6 && waited_ns / packets < 12.7e6); /* 5 standard errors */
}

/* CoDel and ECN do not change the random draws of the n-th packet. */
static void check_marks_leave_the_draws(void)
{
    struct pl_link one = link_of("loss_ratio=0.1,duplicate_ratio=0.1", 9, 0);
    struct pl_link other =
        link_of("loss_ratio=0.1,duplicate_ratio=0.1,rate_bits_per_s=12000000,aqm=codel,ecn_bytes=3000", 9, 0);
    for (int i = 0; i < 20000; i++) {
        pl_ns now_ns = (pl_ns)i * 900000;
        struct pl_link_verdict wanted = pl_link_admit(&one, now_ns, PACKET_BYTES, PL_ECN_ECT0);
        struct pl_link_verdict got = pl_link_admit(&other, now_ns, PACKET_BYTES, PL_ECN_ECT0);
        CHECK(got.fate == wanted.fate && got.duplicate == wanted.duplicate);
    }
    CHECK(other.counters.marked_packets > 1000);
    CHECK_EQUAL(one.counters.marked_packets, 0);
}

/* New CoDel settings restart it: above the target again, it waits for a whole interval. */
static void check_codel_begins_anew(void)
{
    struct pl_link link = link_of("rate_bits_per_s=12000000,aqm=codel", 1, 0);
    (void)overload(&link, PL_ECN_NOT_CAPABLE);
    uint64_t before = link.counters.aqm_dropped_packets;
    struct pl_link_settings off = settings_of("rate_bits_per_s=12000000");
    struct pl_link_settings on = settings_of("rate_bits_per_s=12000000,aqm=codel");
    pl_ns now_ns = 10 * PL_NS_PER_S;
    pl_link_change(&link, &off, now_ns);
    CHECK(pl_link_admit(&link, now_ns, PACKET_BYTES, PL_ECN_NOT_CAPABLE).fate == PL_FATE_DELIVERED);
    pl_link_change(&link, &on, now_ns);
    for (int i = 0; i < 100; i++) /* 100 ms of packets */
        CHECK(pl_link_admit(&link, now_ns, PACKET_BYTES, PL_ECN_NOT_CAPABLE).fate == PL_FATE_DELIVERED);
    CHECK_EQUAL(link.counters.aqm_dropped_packets, before);
    CHECK(pl_link_admit(&link, now_ns, PACKET_BYTES, PL_ECN_NOT_CAPABLE).fate == PL_FATE_AQM_DROPPED);
}

/* A timestamp before a change or before the previous packet counts as the latest time. */
static void check_time_never_goes_back(void)
{
    struct pl_link link = link_of("rate_bits_per_s=0,delay_ns=1000", 1, 0);
    struct pl_link_settings nearer = settings_of("rate_bits_per_s=0,delay_ns=500");
    CHECK_EQUAL(admit(&link, 10000, PACKET_BYTES).due_ns, 11000);
    CHECK_EQUAL(admit(&link, 9000, PACKET_BYTES).due_ns, 11000);
    pl_link_change(&link, &nearer, 20000);
    CHECK_EQUAL(admit(&link, 15000, PACKET_BYTES).due_ns, 20500);
}

int main(void)
{
    check_parsing();
    check_refusals();
    check_delay_and_rate();
    check_no_drift();
    check_queue();
    check_slowest_link_never_overflows();
    check_long_queue_of_fast_link();
    check_loss_interval("loss_ratio=0.01", 0.01, sqrt(0.01 * 0.99));
    check_loss_interval("loss_ratio=0.3", 0.3, sqrt(0.3 * 0.7));
    /* p / (p + r), widened 2.6-fold by the bursts */
    check_loss_interval("ge_enter_ratio=0.01,ge_leave_ratio=0.25,ge_loss_ratio=1", 0.01 / 0.26, 2.6 * 0.193);
    check_bursts();
    check_seed();
    check_cross_traffic();
    check_cross_traffic_has_settled();
    check_jitter_keeps_order();
    check_reordering_and_duplication();
    check_lines();
    check_change();
    check_time_never_goes_back();
    check_ecn_threshold();
    check_codel();
    check_marks_leave_the_draws();
    check_codel_begins_anew();
    CHECK_RETURN();
}
