#include "probe/probe_table.h"

#include <errno.h>
#include <stdlib.h>

#define CAPACITY_MAX (UINT64_C(1) << 20)
/* A larger difference between kernel and user-space round trips means that CLOCK_REALTIME was set in between.
 */
#define CLOCK_STEP_NS PL_NS_PER_S

struct pl_probe_table {
    struct pl_probe *probes; /* the probe with sequence s at s modulo capacity */
    uint64_t capacity;       /* a power of two */
    uint64_t oldest;         /* the oldest probe that may be open */
    uint64_t next;           /* sequence of the next probe */
    uint64_t stamped;        /* the oldest probe whose timestamp may be missing */
    uint64_t latest;         /* the highest answered sequence, if `answered` */
    bool answered;
    pl_ns timeout_ns;
};

const char *pl_stamps_name(enum pl_stamps stamps)
{
    static const char *const names[] = {"user", "kernel-receive", "kernel"};
    return names[stamps];
}

static struct pl_probe *slot_of(struct pl_probe_table *table, uint64_t sequence)
{
    return &table->probes[sequence & (table->capacity - 1)];
}

struct pl_probe_table *pl_probe_table_create(pl_ns interval_ns, pl_ns timeout_ns, struct pl_error *error)
{
    struct pl_probe_table *table = calloc(1, sizeof *table);
    uint64_t needed = (uint64_t)(timeout_ns / interval_ns) + 16;
    uint64_t capacity = 64;
    while (capacity < needed && capacity < CAPACITY_MAX)
        capacity *= 2;
    if (needed > capacity) {
        pl_error_set(error, PL_USAGE, "options", 0,
                     "--timeout-ns is too long for --interval-ns: at most %llu probes may be pending",
                     (unsigned long long)CAPACITY_MAX);
        free(table);
        return NULL;
    }
    if (table != NULL)
        table->probes = calloc((size_t)capacity, sizeof *table->probes);
    if (table == NULL || table->probes == NULL) {
        pl_error_set(error, PL_RESOURCES, "probes", ENOMEM, "no memory for %llu probes",
                     (unsigned long long)capacity);
        free(table);
        return NULL;
    }
    table->capacity = capacity;
    table->timeout_ns = timeout_ns;
    return table;
}

void pl_probe_table_free(struct pl_probe_table *table)
{
    if (table == NULL)
        return;
    free(table->probes);
    free(table);
}

bool pl_probe_table_has_room(const struct pl_probe_table *table)
{
    return !table->probes[table->next & (table->capacity - 1)].open;
}

void pl_probe_table_enter(struct pl_probe_table *table, const struct pl_probe *probe)
{
    struct pl_probe *slot = slot_of(table, probe->sequence);
    *slot = *probe;
    slot->open = true;
    slot->answered = false;
    table->next = probe->sequence + 1;
    if (table->next - table->stamped > table->capacity)
        table->stamped = table->next - table->capacity;
}

void pl_probe_table_stamp(struct pl_probe_table *table, uint64_t stamp_key, pl_ns kernel_sent_ns)
{
    /* Timestamps arrive in the order of the sends, so the search begins where the last one ended. */
    for (uint64_t s = table->stamped; s < table->next; s++) {
        struct pl_probe *probe = slot_of(table, s);
        if (probe->stamp_key == stamp_key) {
            if (kernel_sent_ns >= probe->sent_realtime_ns)
                probe->kernel_sent_ns = kernel_sent_ns;
            table->stamped = s + 1;
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
    bool complete = probe->kernel_sent_ns != 0;
    pl_ns sent_ns = complete ? probe->kernel_sent_ns : probe->sent_realtime_ns;
    pl_ns kernel_ns = arrival->kernel_received_ns - sent_ns;
    if (kernel_ns < 0 || kernel_ns > user_ns + CLOCK_STEP_NS || kernel_ns < user_ns - CLOCK_STEP_NS)
        return;
    probe->rtt_ns = kernel_ns;
    probe->stamps = complete ? PL_STAMPS_KERNEL : PL_STAMPS_KERNEL_RECEIVE;
}

enum pl_answer_kind pl_probe_table_answer(struct pl_probe_table *table, uint64_t sequence,
                                          const struct pl_arrival *arrival, struct pl_probe *probe)
{
    if (sequence >= table->next)
        return PL_FOREIGN;
    struct pl_probe *slot = slot_of(table, sequence);
    if (slot->sequence != sequence)
        return PL_LATE; /* so late that another probe has its slot */
    if (slot->answered)
        return PL_DUPLICATE;
    if (!slot->open)
        return PL_LATE;
    time_round_trip(slot, arrival);
    if (slot->rtt_ns > table->timeout_ns)
        return PL_LATE;
    /* RFC 5357: the reflector's holding time does not belong to the path. A time longer than the round trip
     * is invalid. */
    bool plausible = arrival->held_ns >= 0 && arrival->held_ns <= slot->rtt_ns;
    slot->held_ns = plausible ? arrival->held_ns : -1;
    if (plausible)
        slot->rtt_ns -= arrival->held_ns;
    slot->reordered = table->answered && sequence < table->latest;
    if (!slot->reordered) {
        table->latest = sequence;
        table->answered = true;
    }
    slot->open = false;
    slot->answered = true;
    *probe = *slot;
    return PL_ANSWERED;
}

static void skip_closed(struct pl_probe_table *table)
{
    while (table->oldest < table->next && !slot_of(table, table->oldest)->open)
        table->oldest++;
}

bool pl_probe_table_give_up(struct pl_probe_table *table, pl_ns now_ns, struct pl_probe *probe)
{
    if (pl_probe_table_deadline_ns(table) > now_ns)
        return false;
    struct pl_probe *slot = slot_of(table, table->oldest);
    slot->open = false;
    *probe = *slot;
    return true;
}

pl_ns pl_probe_table_deadline_ns(struct pl_probe_table *table)
{
    skip_closed(table);
    return table->oldest < table->next ? slot_of(table, table->oldest)->sent_ns + table->timeout_ns
                                       : INT64_MAX;
}
