#include "load/cpu.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/relaxed.h"

/* Steps between two looks at the stop: about 10 us. */
#define STEPS 10000

struct pl_cpu_load {
    atomic_bool stopping;
    _Atomic uint64_t sum; /* so that no compiler drops the work */
    uint32_t count;
    pthread_t threads[];
};

static void *compute(void *context)
{
    struct pl_cpu_load *load = context;
    uint64_t value = 1;
    while (!pl_load_relaxed(&load->stopping))
        for (int i = 0; i < STEPS; i++) /* Knuth's MMIX: each step needs the one before */
            value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    atomic_fetch_add(&load->sum, value);
    return NULL;
}

struct pl_cpu_load *pl_cpu_load_start(uint32_t threads, struct pl_error *error)
{
    struct pl_cpu_load *load = calloc(1, sizeof *load + threads * sizeof(pthread_t));
    if (load == NULL) {
        pl_error_set(error, PL_RESOURCES, "cpu", ENOMEM, "no memory for %u threads", threads);
        return NULL;
    }
    for (; load->count < threads; load->count++) {
        int failure = pthread_create(&load->threads[load->count], NULL, compute, load);
        if (failure != 0) {
            pl_error_set(error, PL_RESOURCES, "cpu", failure, "cannot start thread %u", load->count);
            pl_cpu_load_stop(load);
            return NULL;
        }
    }
    return load;
}

pl_ns pl_cpu_load_used_ns(const struct pl_cpu_load *load, uint32_t thread)
{
    return pl_thread_cpu_ns(load->threads[thread]);
}

void pl_cpu_load_stop(struct pl_cpu_load *load)
{
    if (load == NULL)
        return;
    atomic_store(&load->stopping, true);
    for (uint32_t i = 0; i < load->count; i++)
        (void)pthread_join(load->threads[i], NULL);
    free(load);
}
