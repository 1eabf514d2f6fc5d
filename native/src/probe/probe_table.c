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
    uint64_t overdue; /* the oldest probe that was not looked at for being overdue */
    pl_ns timeout_ns;
    pl_ns timeout_max_ns;
};

const char *pl_stamps_name(enum pl_stamps stamps)
{
    static const char *const names[] = {"user", "kernel-receive", "kernel"};
    return names[stamps];
}

static struct pl_probe *slot_of(const struct pl_probe_table *table, uint64_t sequence)
{
    return &table->probes[sequence & (table->capacity - 1)];
}

static pl_ns bound_timeout_ns(pl_ns interval_ns, pl_ns timeout_ns, pl_ns timeout_max_ns)
{
    if (timeout_max_ns / PL_TIMEOUT_PROBES > interval_ns)
        timeout_max_ns = PL_TIMEOUT_PROBES * interval_ns;
    return timeout_max_ns > timeout_ns ? timeout_max_ns : timeout_ns;
}

struct pl_probe_table *pl_probe_table_create(pl_ns interval_ns, pl_ns timeout_ns, pl_ns timeout_max_ns,
                                             struct pl_error *error)
{
    struct pl_probe_table *table = calloc(1, sizeof *table);
    pl_ns longest_ns = bound_timeout_ns(interval_ns, timeout_ns, timeout_max_ns);
    uint64_t needed = (uint64_t)(longest_ns / interval_ns) + 16;
    uint64_t capacity = 64;
    while (capacity < needed && capacity < CAPACITY_MAX)
        capacity *= 2;
    if (needed > capacity) {
        pl_error_usage(error,
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
    table->timeout_max_ns = longest_ns;
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
    return !slot_of(table, table->next)->open;
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

static void extend_timeout(struct pl_probe_table *table, pl_ns rtt_ns)
{
    pl_ns wanted_ns =
        rtt_ns < table->timeout_max_ns / PL_TIMEOUT_RTTS ? PL_TIMEOUT_RTTS * rtt_ns : table->timeout_max_ns;
    if (wanted_ns > table->timeout_ns)
        table->timeout_ns = wanted_ns;
}

enum pl_answer_kind pl_probe_table_answer(struct pl_probe_table *table, uint64_t sequence,
                                          const struct pl_arrival *arrival, struct pl_probe *probe)
{
    if (sequence >= table->next)
        return PL_FOREIGN;
    struct pl_probe *slot = slot_of(table, sequence);
    if (slot->sequence != sequence) {
        *probe = (struct pl_probe){.sequence = sequence};
        return PL_LATE; /* so late that another probe has its slot */
    }
    if (slot->answered)
        return PL_DUPLICATE;
    enum pl_answer_kind kind = slot->open ? PL_ANSWERED : PL_LATE;
    time_round_trip(slot, arrival);
    extend_timeout(table, slot->rtt_ns);
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
    return kind;
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

pl_ns pl_probe_table_timeout_ns(const struct pl_probe_table *table)
{
    return table->timeout_ns;
}

pl_ns pl_probe_table_timeout_max_ns(const struct pl_probe_table *table)
{
    return table->timeout_max_ns;
}

/* Passes over probes that were answered or never sent, and those whose slot another probe has. */
static const struct pl_probe *find_awaited(struct pl_probe_table *table)
{
    if (table->next - table->overdue > table->capacity)
        table->overdue = table->next - table->capacity;
    for (; table->overdue < table->next; table->overdue++) {
        const struct pl_probe *slot = slot_of(table, table->overdue);
        if (!slot->answered && !slot->failed)
            return slot;
    }
    return NULL;
}

bool pl_probe_table_overdue(struct pl_probe_table *table, pl_ns overdue_ns, pl_ns now_ns,
                            struct pl_probe *probe)
{
    const struct pl_probe *slot = find_awaited(table);
    if (slot == NULL || slot->sent_ns + overdue_ns > now_ns)
        return false;
    *probe = *slot;
    table->overdue++;
    return true;
}

pl_ns pl_probe_table_overdue_ns(struct pl_probe_table *table, pl_ns overdue_ns)
{
    const struct pl_probe *slot = find_awaited(table);
    return slot == NULL ? INT64_MAX : slot->sent_ns + overdue_ns;
}

bool pl_probe_table_was_overdue(const struct pl_probe_table *table, uint64_t sequence)
{
    return sequence < table->overdue;
}

static uint64_t first_kept(const struct pl_probe_table *table)
{
    return table->next > table->capacity ? table->next - table->capacity : 0;
}

pl_ns pl_probe_table_last_deadline_ns(const struct pl_probe_table *table)
{
    for (uint64_t s = table->next; s > first_kept(table); s--) {
        const struct pl_probe *probe = slot_of(table, s - 1);
        if (!probe->answered && !probe->failed)
            return probe->sent_ns + table->timeout_ns;
    }
    return 0;
}

pl_ns pl_probe_table_last_sent_ns(const struct pl_probe_table *table)
{
    return table->next > 0 ? slot_of(table, table->next - 1)->sent_ns : 0;
}

bool pl_probe_table_answered_within(const struct pl_probe_table *table, pl_ns span_ns)
{
    pl_ns since_ns = pl_probe_table_last_sent_ns(table) - span_ns;
    for (uint64_t s = table->next; s > first_kept(table); s--) {
        const struct pl_probe *probe = slot_of(table, s - 1);
        if (probe->sent_ns < since_ns)
            return false;
        if (probe->answered)
            return true;
    }
    return false;
}
