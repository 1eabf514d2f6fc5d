/* Sending at an offered rate: every message has an intended time, and one that is sent late is still that
 * old. */
#pragma once

#include "flow/worker.h"
#include "messages/schedule.h"

struct pl_pace {
    struct pl_schedule schedule;
    uint64_t round; /* the next one */
    pl_ns end_ns;   /* what is due from then on is not sent */
};

/* Rounds over the worker's streams, at their share of the flow's rate, from the start of the trial on. */
struct pl_pace pl_pace_begin(const struct pl_worker *worker);

/* Sends what is due at `now_ns`, at most `most` rounds. Returns when something is due next. `cause` is set to
 * the errno of a stream that failed, the worker's `failed`-th. */
pl_ns pl_pace_step(struct pl_pace *pace, struct pl_worker *worker, pl_ns now_ns, uint64_t most, int *cause,
                   uint32_t *failed);

/* The sending has ended with `cause`, 0 or an errno. Sends what was due by now and is left, unless it is that
 * of more than 100 ms and one hundredth of the time: then the rate was missed, and is not made up. Then sends
 * what waits in batches. 0, or an errno; `failed` as above. */
int pl_pace_finish(struct pl_pace *pace, struct pl_worker *worker, int cause, uint32_t *failed);
