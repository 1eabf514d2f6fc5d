#include "probe/probe_ledger.h"

#include <errno.h>
#include <stdlib.h>

#define CAPACITY_MAX (UINT64_C(1) << 20)
/* Kernel and user-space round trips further apart than this: CLOCK_REALTIME was set in between. */
#define CLOCK_STEP_NS PL_NS_PER_S

struct pl_probe_ledger {
    struct pl_probe *probes; /* the probe with sequence s at s modulo capacity */
    uint64_t capacity;       /* a power of two */
    uint64_t oldest;         /* no open probe is older */
    uint64_t next;           /* sequence of the next probe */
    uint64_t stamped;        /* no probe without a stamp that may still come is older */
    uint64_t latest;         /* the highest sequence answered, if any was */
    bool answered;
    pl_ns timeout_ns;
};

static struct pl_probe *place_of(struct pl_probe_ledger *ledger, uint64_t sequence)
{
    return &ledger->probes[sequence & (ledger->capacity - 1)];
}

struct pl_probe_ledger *pl_probe_ledger_create(pl_ns interval_ns, pl_ns timeout_ns, struct pl_error *error)
{
    struct pl_probe_ledger *ledger = calloc(1, sizeof *ledger);
    uint64_t needed = (uint64_t)(timeout_ns / interval_ns) + 16;
    uint64_t capacity = 64;
    while (capacity < needed && capacity < CAPACITY_MAX)
        capacity *= 2;
    if (needed > capacity) {
        pl_error_set(error, PL_USAGE, "options", 0,
                     "--timeout-ns is too long for --interval-ns: at most %llu probes may be under way",
                     (unsigned long long)CAPACITY_MAX);
        free(ledger);
        return NULL;
    }
    if (ledger != NULL)
        ledger->probes = calloc(capacity, sizeof *ledger->probes);
    if (ledger == NULL || ledger->probes == NULL) {
        pl_error_set(error, PL_RESOURCES, "probes", ENOMEM, "no memory for %llu probes",
                     (unsigned long long)capacity);
        free(ledger);
        return NULL;
    }
    ledger->capacity = capacity;
    ledger->timeout_ns = timeout_ns;
    return ledger;
}

void pl_probe_ledger_free(struct pl_probe_ledger *ledger)
{
    if (ledger == NULL)
        return;
    free(ledger->probes);
    free(ledger);
}

bool pl_probe_ledger_has_room(const struct pl_probe_ledger *ledger)
{
    return !ledger->probes[ledger->next & (ledger->capacity - 1)].open;
}

void pl_probe_ledger_enter(struct pl_probe_ledger *ledger, const struct pl_probe *probe)
{
    struct pl_probe *place = place_of(ledger, probe->sequence);
    *place = *probe;
    place->open = true;
    place->answered = false;
    ledger->next = probe->sequence + 1;
    if (ledger->next - ledger->stamped > ledger->capacity)
        ledger->stamped = ledger->next - ledger->capacity;
}

void pl_probe_ledger_stamp(struct pl_probe_ledger *ledger, uint64_t stamp_key, pl_ns kernel_sent_ns)
{
    /* Stamps come in the order of the sends, so the search begins where the last one ended. */
    for (uint64_t s = ledger->stamped; s < ledger->next; s++) {
        struct pl_probe *probe = place_of(ledger, s);
        if (probe->stamp_key == stamp_key) {
            if (kernel_sent_ns >= probe->sent_realtime_ns)
                probe->kernel_sent_ns = kernel_sent_ns;
            ledger->stamped = s + 1;
            return;
        }
    }
}

static void time_round_trip(struct pl_probe *probe, const struct pl_arrival *arrival)
{
    pl_ns user_ns = arrival->received_ns - probe->sent_ns;
    probe->rtt_ns = user_ns;
    probe->stamps = PL_STAMPS_USER;
    if (arrival->kernel_received_ns == 0)
        return;
    bool whole = probe->kernel_sent_ns != 0;
    pl_ns sent_ns = whole ? probe->kernel_sent_ns : probe->sent_realtime_ns;
    pl_ns kernel_ns = arrival->kernel_received_ns - sent_ns;
    if (kernel_ns < 0 || kernel_ns > user_ns + CLOCK_STEP_NS || kernel_ns < user_ns - CLOCK_STEP_NS)
        return;
    probe->rtt_ns = kernel_ns;
    probe->stamps = whole ? PL_STAMPS_KERNEL : PL_STAMPS_KERNEL_RECEIVE;
}

enum pl_verdict pl_probe_ledger_answer(struct pl_probe_ledger *ledger, uint64_t sequence,
                                       const struct pl_arrival *arrival, struct pl_probe *probe)
{
    if (sequence >= ledger->next)
        return PL_FOREIGN;
    struct pl_probe *place = place_of(ledger, sequence);
    if (place->sequence != sequence)
        return PL_LATE; /* so late that its place is another's */
    if (place->answered)
        return PL_DUPLICATE;
    if (!place->open)
        return PL_LATE;
    time_round_trip(place, arrival);
    if (place->rtt_ns > ledger->timeout_ns)
        return PL_LATE;
    /* RFC 5357: what the reflector held it for is not the path's. More than all of it cannot be true. */
    bool plausible = arrival->held_ns >= 0 && arrival->held_ns <= place->rtt_ns;
    place->held_ns = plausible ? arrival->held_ns : -1;
    if (plausible)
        place->rtt_ns -= arrival->held_ns;
    place->reordered = ledger->answered && sequence < ledger->latest;
    if (!place->reordered) {
        ledger->latest = sequence;
        ledger->answered = true;
    }
    place->open = false;
    place->answered = true;
    *probe = *place;
    return PL_ANSWERED;
}

static void skip_closed(struct pl_probe_ledger *ledger)
{
    while (ledger->oldest < ledger->next && !place_of(ledger, ledger->oldest)->open)
        ledger->oldest++;
}

bool pl_probe_ledger_give_up(struct pl_probe_ledger *ledger, pl_ns now_ns, struct pl_probe *probe)
{
    if (pl_probe_ledger_deadline_ns(ledger) > now_ns)
        return false;
    struct pl_probe *place = place_of(ledger, ledger->oldest);
    place->open = false;
    *probe = *place;
    return true;
}

pl_ns pl_probe_ledger_deadline_ns(struct pl_probe_ledger *ledger)
{
    skip_closed(ledger);
    return ledger->oldest < ledger->next ? place_of(ledger, ledger->oldest)->sent_ns + ledger->timeout_ns
                                         : INT64_MAX;
}
