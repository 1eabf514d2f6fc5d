/* The table of pending probes: classifies answers and finds lost probes. Pure.
 *
 * Times are nanoseconds since the start of the run on one clock; kernel timestamps are CLOCK_REALTIME. */
#ifndef PL_PROBE_TABLE_H
#define PL_PROBE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

/* The timestamps of a round trip: user-space ones, user-space send and kernel receive time, kernel ones. */
enum pl_stamps { PL_STAMPS_USER, PL_STAMPS_KERNEL_RECEIVE, PL_STAMPS_KERNEL };
enum pl_answer_kind { PL_ANSWERED, PL_LATE, PL_DUPLICATE, PL_FOREIGN };

struct pl_probe {
    uint64_t sequence;
    pl_ns intended_ns;
    pl_ns sent_ns;
    pl_ns sent_realtime_ns; /* read before the send */
    pl_ns kernel_sent_ns;   /* 0: unknown */
    uint64_t stamp_key;     /* number of the successful send, the kernel's key */
    pl_ns rtt_ns;           /* once answered */
    pl_ns held_ns;          /* time that the echo held it, no part of rtt_ns; -1: unknown */
    enum pl_stamps stamps;  /* timestamps of rtt_ns */
    bool reordered;         /* answered after a later one (RFC 4737) */
    bool failed;            /* the kernel did not take it: never sent */
    bool open;              /* neither answered nor given up */
    bool answered;
};

/* Arrival of an answer: user-space time since the start, and the kernel's timestamp (0: none). */
struct pl_arrival {
    pl_ns received_ns;
    pl_ns kernel_received_ns;
    pl_ns held_ns; /* as in struct pl_probe */
};

/* "user", "kernel-receive", "kernel". */
const char *pl_stamps_name(enum pl_stamps stamps);

struct pl_probe_table;

/* Has room for every probe that can be pending within the time-out. NULL with `error` set: no memory, or
 * (usage) more than 2^20 of them. */
struct pl_probe_table *pl_probe_table_create(pl_ns interval_ns, pl_ns timeout_ns, struct pl_error *error);
void pl_probe_table_free(struct pl_probe_table *table);

/* Whether the next probe can be entered: no pending probe has its slot. It can after the oldest one was
 * answered or given up. */
bool pl_probe_table_has_room(const struct pl_probe_table *table);
/* Enters the next probe, which must have the next sequence number (0 first) and room. */
void pl_probe_table_enter(struct pl_probe_table *table, const struct pl_probe *probe);
/* Sets the kernel's transmit timestamp of the send with that key. Ignores an unknown key and a timestamp from
 * before the send. */
void pl_probe_table_stamp(struct pl_probe_table *table, uint64_t stamp_key, pl_ns kernel_sent_ns);
/* Classifies an answer to `sequence`; fills `probe` for PL_ANSWERED. A round trip longer than the time-out is
 * PL_LATE even if the probe was not given up yet. */
enum pl_answer_kind pl_probe_table_answer(struct pl_probe_table *table, uint64_t sequence,
                                          const struct pl_arrival *arrival, struct pl_probe *probe);
/* Gives up the oldest probe whose time-out has passed at `now_ns`, and fills `probe`; false when there is
 * none. */
bool pl_probe_table_give_up(struct pl_probe_table *table, pl_ns now_ns, struct pl_probe *probe);
/* The deadline of the oldest pending probe; INT64_MAX when there is none. */
pl_ns pl_probe_table_deadline_ns(struct pl_probe_table *table);

#endif
