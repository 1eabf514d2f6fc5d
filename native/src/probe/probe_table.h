/* The probes under way: which are answered, which are lost, and what came too late or twice. Pure.
 *
 * Times are nanoseconds since the start of the run on one clock, kernel stamps are CLOCK_REALTIME. */
#ifndef PL_PROBE_TABLE_H
#define PL_PROBE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

/* What a round trip was taken from: user-space times, user-space send and kernel receive time, kernel times.
 */
enum pl_stamps { PL_STAMPS_USER, PL_STAMPS_KERNEL_RECEIVE, PL_STAMPS_KERNEL };
enum pl_answer_kind { PL_ANSWERED, PL_LATE, PL_DUPLICATE, PL_FOREIGN };

struct pl_probe {
    uint64_t sequence;
    pl_ns intended_ns;
    pl_ns sent_ns;
    pl_ns sent_realtime_ns; /* read just before the send */
    pl_ns kernel_sent_ns;   /* 0: the kernel has not said */
    uint64_t stamp_key;     /* number of the successful send, by which the kernel names it */
    pl_ns rtt_ns;           /* once answered */
    pl_ns held_ns;          /* for how long the echo held it, no part of rtt_ns; -1: it did not say */
    enum pl_stamps stamps;  /* what rtt_ns was taken from */
    bool reordered;         /* answered after a later one (RFC 4737) */
    bool failed;            /* the kernel did not take it: never sent */
    bool open;              /* neither answered nor given up */
    bool answered;
};

/* When an answer came: user-space time since the start, and the kernel's stamp (0: none). */
struct pl_arrival {
    pl_ns received_ns;
    pl_ns kernel_received_ns;
    pl_ns held_ns; /* as in struct pl_probe */
};

/* "user", "kernel-receive", "kernel". */
const char *pl_stamps_name(enum pl_stamps stamps);

struct pl_probe_table;

/* Room for every probe that can be under way within the time-out. NULL with `error` set: no memory, or
 * (usage) more of them than 2^20. */
struct pl_probe_table *pl_probe_table_create(pl_ns interval_ns, pl_ns timeout_ns, struct pl_error *error);
void pl_probe_table_free(struct pl_probe_table *table);

/* Whether the next probe can be entered: its place is not taken by one still under way. It can be after the
 * oldest one is answered or given up. */
bool pl_probe_table_has_room(const struct pl_probe_table *table);
/* Enters the next probe, which must have the next sequence number (0 first) and room. */
void pl_probe_table_enter(struct pl_probe_table *table, const struct pl_probe *probe);
/* The kernel's transmit stamp of the send with that key; an unknown key is ignored, and so is a stamp from
 * before the send. */
void pl_probe_table_stamp(struct pl_probe_table *table, uint64_t stamp_key, pl_ns kernel_sent_ns);
/* An answer to `sequence`. PL_ANSWERED fills `probe`. One whose round trip took longer than the time-out is
 * PL_LATE even if the probe was not given up yet. */
enum pl_answer_kind pl_probe_table_answer(struct pl_probe_table *table, uint64_t sequence,
                                          const struct pl_arrival *arrival, struct pl_probe *probe);
/* The oldest probe whose time is over at `now_ns`, given up by this call; false when there is none. */
bool pl_probe_table_give_up(struct pl_probe_table *table, pl_ns now_ns, struct pl_probe *probe);
/* When the oldest one's time is over; INT64_MAX when none is under way. */
pl_ns pl_probe_table_deadline_ns(struct pl_probe_table *table);

#endif
