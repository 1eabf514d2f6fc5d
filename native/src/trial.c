#include "trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "json.h"
#include "tcp_info.h"

struct pl_trial {
    const struct pl_flow *flow;
    struct pl_stream *streams;
    struct pl_pool *pool;
    uint32_t count;
    uint32_t workers;
    bool started;
    pl_ns start_ns;
    struct pl_phases phases;
    struct pl_json json;
    uint64_t *counted;                        /* per stream, at the last sample */
    uint64_t *previous;                       /* at the sample before */
    uint64_t *phase_bytes[PL_PHASE_COUNT];    /* per stream */
    struct pl_tcp_info *tcp_info;             /* per stream, at the last sample */
    struct pl_worker_cpu *cpu, *previous_cpu; /* per worker */
};

struct pl_trial *pl_trial_create(const struct pl_flow *flow, struct pl_stream *streams, struct pl_pool *pool,
                                 struct pl_error *error)
{
    struct pl_trial *trial = calloc(1, sizeof *trial);
    if (trial == NULL)
        goto no_memory;
    trial->flow = flow;
    trial->streams = streams;
    trial->pool = pool;
    trial->count = (uint32_t)flow->streams;
    trial->workers = pl_pool_workers(pool);
    trial->counted = calloc(trial->count, sizeof *trial->counted);
    trial->previous = calloc(trial->count, sizeof *trial->previous);
    trial->tcp_info = calloc(trial->count, sizeof *trial->tcp_info);
    trial->cpu = calloc(trial->workers, sizeof *trial->cpu);
    trial->previous_cpu = calloc(trial->workers, sizeof *trial->previous_cpu);
    bool whole = trial->counted != NULL && trial->previous != NULL && trial->tcp_info != NULL &&
                 trial->cpu != NULL && trial->previous_cpu != NULL;
    for (size_t p = 0; p < PL_PHASE_COUNT; p++) {
        trial->phase_bytes[p] = calloc(trial->count, sizeof *trial->phase_bytes[p]);
        whole = whole && trial->phase_bytes[p] != NULL;
    }
    if (whole)
        return trial;
    pl_trial_free(trial);
no_memory:
    pl_error_set(error, PL_RESOURCES, "trial", ENOMEM, "no memory for the trial's counters");
    return NULL;
}

void pl_trial_free(struct pl_trial *trial)
{
    if (trial == NULL)
        return;
    for (size_t p = 0; p < PL_PHASE_COUNT; p++)
        free(trial->phase_bytes[p]);
    free(trial->counted);
    free(trial->previous);
    free(trial->tcp_info);
    free(trial->cpu);
    free(trial->previous_cpu);
    pl_json_release(&trial->json);
    free(trial);
}

bool pl_trial_start(struct pl_trial *trial, pl_ns start_ns)
{
    trial->started = true;
    trial->start_ns = start_ns;
    for (uint32_t w = 0; w < trial->workers; w++)
        trial->previous_cpu[w] = pl_pool_cpu(trial->pool, w);
    pl_phases_begin(&trial->phases, trial->flow->interval_ns, trial->flow->warmup_ns,
                    trial->flow->duration_ns);
    struct pl_json *j = &trial->json;
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "start");
    pl_json_i64(j, "monotonic_ns", start_ns);
    /* The start may lie a moment back: the first byte was stamped by a worker. */
    pl_json_i64(j, "realtime_ns", pl_realtime_ns() - (pl_now_ns() - start_ns));
    pl_json_end_object(j);
    return pl_json_flush_line(j);
}

bool pl_trial_started(const struct pl_trial *trial)
{
    return trial->started;
}

pl_ns pl_trial_next_ns(const struct pl_trial *trial)
{
    return trial->started ? trial->start_ns + pl_phases_next_ns(&trial->phases) : PL_NEVER;
}

enum pl_phase pl_trial_phase(const struct pl_trial *trial)
{
    return trial->phases.current;
}

/* The byte counters are read first and in one sweep: they are what must belong to one instant. */
static pl_ns take_sample(struct pl_trial *trial)
{
    uint64_t *oldest = trial->previous;
    trial->previous = trial->counted;
    trial->counted = oldest;
    pl_ns now_ns = pl_now_ns();
    for (uint32_t s = 0; s < trial->count; s++)
        trial->counted[s] = atomic_load_explicit(&trial->streams[s].bytes, memory_order_relaxed);
    for (uint32_t s = 0; s < trial->count; s++)
        pl_tcp_info_read(trial->streams[s].fd, &trial->tcp_info[s]);
    for (uint32_t w = 0; w < trial->workers; w++)
        trial->cpu[w] = pl_pool_cpu(trial->pool, w);
    return now_ns;
}

static void write_u64s(struct pl_json *j, const char *key, const uint64_t *values, uint32_t count)
{
    pl_json_begin_array(j, key);
    for (uint32_t i = 0; i < count; i++)
        pl_json_u64(j, NULL, values[i]);
    pl_json_end_array(j);
}

static void write_span(struct pl_json *j, const struct pl_span *span)
{
    pl_json_i64(j, "start_ns", span->start_ns);
    pl_json_i64(j, "end_ns", span->end_ns);
}

static void write_cpu(struct pl_json *j, const struct pl_worker_cpu *now, const struct pl_worker_cpu *before,
                      uint32_t count)
{
    pl_json_begin_array(j, "workers");
    for (uint32_t w = 0; w < count; w++) {
        pl_json_begin_object(j, NULL);
        pl_json_i64(j, "user_ns", now[w].user_ns - (before != NULL ? before[w].user_ns : 0));
        pl_json_i64(j, "system_ns", now[w].system_ns - (before != NULL ? before[w].system_ns : 0));
        pl_json_end_object(j);
    }
    pl_json_end_array(j);
}

bool pl_trial_sample(struct pl_trial *trial)
{
    pl_ns now_ns = take_sample(trial);
    struct pl_interval interval = pl_phases_close(&trial->phases, now_ns - trial->start_ns);
    struct pl_json *j = &trial->json;
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "interval");
    pl_json_i64(j, "index", interval.index);
    pl_json_string(j, "phase", pl_phase_name(interval.phase));
    write_span(j, &interval.span);
    pl_json_begin_array(j, "bytes");
    for (uint32_t s = 0; s < trial->count; s++) {
        uint64_t bytes = trial->counted[s] - trial->previous[s];
        trial->phase_bytes[interval.phase][s] += bytes;
        pl_json_u64(j, NULL, bytes);
    }
    pl_json_end_array(j);
    pl_tcp_info_write(j, "tcp_info", trial->tcp_info, trial->count);
    write_cpu(j, trial->cpu, trial->previous_cpu, trial->workers);
    pl_json_end_object(j);
    memcpy(trial->previous_cpu, trial->cpu, trial->workers * sizeof *trial->cpu);
    return pl_json_flush_line(j);
}

bool pl_trial_cut(struct pl_trial *trial)
{
    bool written = pl_trial_sample(trial);
    pl_phases_cut(&trial->phases);
    return written;
}

bool pl_trial_finish(struct pl_trial *trial, const struct pl_ending *ending)
{
    pl_pool_join(trial->pool);
    bool written = true;
    if (trial->started)
        written = pl_trial_sample(trial);
    else
        (void)take_sample(trial);
    pl_phases_finish(&trial->phases);
    struct pl_json *j = &trial->json;
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "result");
    pl_json_bool(j, "complete", ending->reason == NULL);
    pl_json_string(j, "reason", ending->reason);
    pl_json_begin_object(j, "phases");
    for (size_t p = 0; p < PL_PHASE_COUNT; p++) {
        pl_json_begin_object(j, pl_phase_name((enum pl_phase)p));
        write_span(j, &trial->phases.spans[p]);
        write_u64s(j, "bytes", trial->phase_bytes[p], trial->count);
        pl_json_end_object(j);
    }
    pl_json_end_object(j);
    write_u64s(j, "total_bytes", trial->counted, trial->count);
    if (ending->rejected >= 0)
        pl_json_i64(j, "rejected", ending->rejected);
    write_cpu(j, trial->cpu, NULL, trial->workers);
    pl_tcp_info_write(j, "tcp_info", trial->tcp_info, trial->count);
    pl_json_end_object(j);
    return pl_json_flush_line(j) && written;
}
