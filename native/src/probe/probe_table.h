/* The table of pending probes: classifies answers and finds lost probes. Pure.
 *
 * Times are nanoseconds since the start of the run on one clock; kernel timestamps are CLOCK_REALTIME. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

/* The timestamps of a round trip: user-space ones, user-space send and kernel receive time, kernel ones. */
enum pl_stamps { PL_STAMPS_USER, PL_STAMPS_KERNEL_RECEIVE, PL_STAMPS_KERNEL };
/* PL_LATE: answered after it was given up. */
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

/* An answer may take three times as long as the slowest one so far before its probe is given up. */
#define PL_TIMEOUT_RTTS 3
#define PL_TIMEOUT_PROBES 65536

struct pl_probe_table;

/* The time-out begins with `timeout_ns`. Every answer makes it at least PL_TIMEOUT_RTTS times its round trip,
 * up to `timeout_max_ns` or, where that is less, as long as PL_TIMEOUT_PROBES probes take: the table has room
 * for every probe that can be pending. NULL with `error` set: no memory, or (usage) more than 2^20 probes
 * within `timeout_ns`. */
struct pl_probe_table *pl_probe_table_create(pl_ns interval_ns, pl_ns timeout_ns, pl_ns timeout_max_ns,
                                             struct pl_error *error);
void pl_probe_table_free(struct pl_probe_table *table);

/* Whether the next probe can be entered: no pending probe has its slot. It can after the oldest one was
 * answered or given up. */
bool pl_probe_table_has_room(const struct pl_probe_table *table);
/* Enters the next probe, which must have the next sequence number (0 first) and room. */
void pl_probe_table_enter(struct pl_probe_table *table, const struct pl_probe *probe);
/* Sets the kernel's transmit timestamp of the send with that key. Ignores an unknown key and a timestamp from
 * before the send. */
void pl_probe_table_stamp(struct pl_probe_table *table, uint64_t stamp_key, pl_ns kernel_sent_ns);
/* Classifies an answer to `sequence`. Fills `probe` for PL_ANSWERED, and for PL_LATE unless another probe has
 * its slot: then `probe->answered` is false. */
enum pl_answer_kind pl_probe_table_answer(struct pl_probe_table *table, uint64_t sequence,
                                          const struct pl_arrival *arrival, struct pl_probe *probe);
/* Gives up the oldest probe whose time-out has passed at `now_ns`, and fills `probe`; false when there is
 * none. */
bool pl_probe_table_give_up(struct pl_probe_table *table, pl_ns now_ns, struct pl_probe *probe);
/* The deadline of the oldest pending probe; INT64_MAX when there is none. */
pl_ns pl_probe_table_deadline_ns(struct pl_probe_table *table);
/* The present time-out, and the longest. */
pl_ns pl_probe_table_timeout_ns(const struct pl_probe_table *table);
pl_ns pl_probe_table_timeout_max_ns(const struct pl_probe_table *table);

/* The oldest probe that was not stated as overdue and may still have to be: fills `probe` and passes over it,
 * where it is unanswered `overdue_ns` after it was sent; false when there is none at `now_ns`. */
bool pl_probe_table_overdue(struct pl_probe_table *table, pl_ns overdue_ns, pl_ns now_ns,
                            struct pl_probe *probe);
/* When pl_probe_table_overdue() has to be called next; INT64_MAX when nothing is pending. */
pl_ns pl_probe_table_overdue_ns(struct pl_probe_table *table, pl_ns overdue_ns);
/* Whether pl_probe_table_overdue() has passed over this probe. */
bool pl_probe_table_was_overdue(const struct pl_probe_table *table, uint64_t sequence);

/* Until when an answer is worth waiting for after the last probe, at least: the time-out of the latest
 * unanswered probe, given up or not; 0: all are answered. */
pl_ns pl_probe_table_last_deadline_ns(const struct pl_probe_table *table);
/* Whether any probe sent in the last `span_ns` before the latest one is answered. */
bool pl_probe_table_answered_within(const struct pl_probe_table *table, pl_ns span_ns);
/* When the latest probe was sent; 0: none was. */
pl_ns pl_probe_table_last_sent_ns(const struct pl_probe_table *table);
