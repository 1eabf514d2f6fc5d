/* CoDel against the pseudo-code of RFC 8289, 5.4 to 5.6, run on a real queue, and against its control law for
 * the times of drops. */
#include <math.h>

#include "check.h"
#include "emulate/codel.h"

enum { PACKETS = 40000, SIZE = 1500 };
static const pl_ns TARGET_NS = 5 * PL_NS_PER_MS;
static const pl_ns INTERVAL_NS = 100 * PL_NS_PER_MS;
static const pl_ns PACKET_NS = 1200000; /* 1500 bytes at 10 Mbit/s */

/* ---------- the RFC's queue ---------- */

struct reference {
    pl_ns first_above_ns, drop_next_ns; /* 0: not above, as in the RFC */
    uint32_t count, last_count;
    bool dropping;
    const pl_ns *arrivals_ns;
    unsigned next, arrived; /* packets next..arrived-1 are in the queue */
    bool *dropped;
};

static pl_ns control_law(pl_ns t_ns, uint32_t count)
{
    return t_ns + (pl_ns)((double)INTERVAL_NS / sqrt((double)count));
}

/* The number of the dequeued packet; -1: none. A drop is allowed only with `behind` packets left. */
static int reference_take(struct reference *queue, pl_ns now_ns, bool *ok_to_drop)
{
    *ok_to_drop = false;
    while (queue->arrived < PACKETS && queue->arrivals_ns[queue->arrived] <= now_ns)
        queue->arrived++;
    if (queue->next == queue->arrived) {
        queue->first_above_ns = 0;
        return -1;
    }
    int packet = (int)queue->next++;
    /* The bytes ahead of a packet at its arrival replace the RFC's bytes behind it: under the load of these
     * tests both agree, since one packet ahead is 1.2 ms of wait, below the target. */
    if (now_ns - queue->arrivals_ns[packet] < TARGET_NS)
        queue->first_above_ns = 0;
    else if (queue->first_above_ns == 0)
        queue->first_above_ns = now_ns + INTERVAL_NS;
    else if (now_ns >= queue->first_above_ns)
        *ok_to_drop = true;
    return packet;
}

static int reference_dequeue(struct reference *queue, pl_ns now_ns)
{
    bool ok_to_drop = false;
    int packet = reference_take(queue, now_ns, &ok_to_drop);
    if (queue->dropping) {
        if (!ok_to_drop)
            queue->dropping = false;
        while (now_ns >= queue->drop_next_ns && queue->dropping) {
            queue->dropped[packet] = true;
            ++queue->count;
            packet = reference_take(queue, now_ns, &ok_to_drop);
            if (!ok_to_drop)
                queue->dropping = false;
            else
                queue->drop_next_ns = control_law(queue->drop_next_ns, queue->count);
        }
    } else if (ok_to_drop) {
        queue->dropped[packet] = true;
        packet = reference_take(queue, now_ns, &ok_to_drop);
        queue->dropping = true;
        uint32_t delta = queue->count - queue->last_count;
        queue->count = 1;
        if (delta > 1 && now_ns - queue->drop_next_ns < 16 * INTERVAL_NS)
            queue->count = delta;
        queue->drop_next_ns = control_law(now_ns, queue->count);
        queue->last_count = queue->count;
    }
    return packet;
}

static void run_reference(const pl_ns *arrivals_ns, bool *dropped)
{
    struct reference queue = {.arrivals_ns = arrivals_ns, .dropped = dropped};
    pl_ns now_ns = arrivals_ns[0];
    while (queue.next < PACKETS)
        if (reference_dequeue(&queue, now_ns) >= 0)
            now_ns += PACKET_NS;
        else if (queue.next < PACKETS)
            now_ns = arrivals_ns[queue.next] > now_ns ? arrivals_ns[queue.next] : now_ns;
}

/* ---------- the code under test ---------- */

static void run_codel(const pl_ns *arrivals_ns, bool markable, bool *signalled)
{
    const struct pl_codel_times times = {.target_ns = TARGET_NS, .interval_ns = INTERVAL_NS};
    struct pl_codel codel = {.count = 0};
    pl_ns free_ns = 0;
    for (int i = 0; i < PACKETS; i++) {
        pl_ns leave_ns = free_ns > arrivals_ns[i] ? free_ns : arrivals_ns[i];
        const struct pl_codel_packet packet = {
            .arrival_ns = arrivals_ns[i],
            .leave_ns = leave_ns,
            .ahead_bytes = (uint64_t)((leave_ns - arrivals_ns[i]) * SIZE / PACKET_NS),
            .size_bytes = SIZE,
            .markable = markable,
        };
        signalled[i] = pl_codel_decide(&codel, &times, &packet);
        if (!signalled[i] || markable)
            free_ns = leave_ns + PACKET_NS;
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return *state >> 33;
}

/* Load around the rate, in bursts of up to eight packets, with pauses that empty the queue. */
static void make_arrivals(uint64_t seed, pl_ns *arrivals_ns)
{
    pl_ns now_ns = 1; /* the RFC's code uses the time 0 for "none" */
    pl_ns gap_ns = PACKET_NS;
    for (int i = 0; i < PACKETS; i++) {
        if (next_random(&seed) % 1000 == 0) {
            gap_ns = PACKET_NS / 2 + (pl_ns)(next_random(&seed) % (uint64_t)PACKET_NS);
            now_ns += next_random(&seed) % 4 == 0 ? 40 * INTERVAL_NS : 0;
        }
        now_ns += i % 8 == 0 ? 8 * gap_ns : 0;
        arrivals_ns[i] = now_ns;
    }
}

static pl_ns arrivals_ns[PACKETS];
static bool wanted[PACKETS];
static bool got[PACKETS];

static void check_against_the_reference(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        make_arrivals(seed, arrivals_ns);
        memset(wanted, 0, sizeof wanted);
        run_reference(arrivals_ns, wanted);
        run_codel(arrivals_ns, false, got);
        int drops = 0;
        int differ = 0;
        for (int i = 0; i < PACKETS; i++) {
            drops += wanted[i];
            differ += wanted[i] != got[i];
        }
        CHECK(drops > 100);
        CHECK_EQUAL(differ, 0);
    }
}

/* Under unresponsive load, the n-th signal follows the previous one after interval / sqrt(n). */
static void check_the_law(void)
{
    for (int i = 0; i < PACKETS; i++)
        arrivals_ns[i] = (pl_ns)i * PACKET_NS / 2;
    run_codel(arrivals_ns, true, got); /* marks remove nothing from the queue, so the load is unresponsive */
    pl_ns expected_ns = 0;
    unsigned count = 0;
    for (int i = 0; i < PACKETS && count < 1000; i++) {
        pl_ns leave_ns = (pl_ns)i * PACKET_NS;
        if (!got[i]) {
            CHECK(count == 0 || leave_ns < expected_ns);
            continue;
        }
        if (count == 0) {
            /* The wait exceeds 5 ms with packet 9, which leaves after 10.8 ms. */
            CHECK(leave_ns >= 9 * PACKET_NS + INTERVAL_NS && leave_ns < 10 * PACKET_NS + INTERVAL_NS);
            expected_ns = leave_ns;
        }
        CHECK(leave_ns >= expected_ns);
        count++;
        expected_ns += (pl_ns)((double)INTERVAL_NS / sqrt((double)count));
    }
    CHECK_EQUAL(count, 1000);
}

/* Below the target, or with at most one packet ahead, nothing is dropped. */
static void check_what_is_spared(void)
{
    for (int i = 0; i < PACKETS; i++)
        arrivals_ns[i] = (pl_ns)(i / 4) * 4 * PACKET_NS; /* waits of up to 3.6 ms */
    run_codel(arrivals_ns, false, got);
    int drops = 0;
    for (int i = 0; i < PACKETS; i++)
        drops += got[i];
    /* A link on which one packet takes longer than the target. */
    const struct pl_codel_times times = {.target_ns = TARGET_NS, .interval_ns = INTERVAL_NS};
    struct pl_codel codel = {.count = 0};
    for (int i = 0; i < 1000; i++) {
        const struct pl_codel_packet packet = {.arrival_ns = (pl_ns)i * 20 * PL_NS_PER_MS,
                                               .leave_ns = (pl_ns)(i + 1) * 20 * PL_NS_PER_MS,
                                               .ahead_bytes = SIZE,
                                               .size_bytes = SIZE};
        drops += pl_codel_decide(&codel, &times, &packet);
    }
    CHECK_EQUAL(drops, 0);
}

int main(void)
{
    check_against_the_reference();
    check_the_law();
    check_what_is_spared();
    CHECK_RETURN();
}
