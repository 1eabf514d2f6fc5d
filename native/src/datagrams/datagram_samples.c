#include "datagrams/datagram_samples.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/relaxed.h"
#include "datagrams/datagram_link.h"

/* From <linux/sock_diag.h>, which older systems lack. */
#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif
#define MEMINFO_DROPS 8
#define MEMINFO_WORDS 9

void *pl_datagram_samples_create(const struct pl_flow *flow)
{
    const uint32_t count = (uint32_t)flow->streams;
    struct pl_datagram_samples *samples = calloc(1, sizeof *samples);
    if (samples == NULL)
        return NULL;
    samples->values = calloc(count * (1 + 2 * (size_t)PL_DATAGRAM_FIELDS), sizeof *samples->values);
    samples->jitter_ns = calloc(count, sizeof *samples->jitter_ns);
    if (samples->values == NULL || samples->jitter_ns == NULL) {
        pl_datagram_samples_free(samples);
        return NULL;
    }
    samples->drops_before = samples->values;
    for (size_t f = 0; f < PL_DATAGRAM_FIELDS; f++) {
        samples->current[f] = samples->values + count * (1 + 2 * f);
        samples->previous[f] = samples->current[f] + count;
    }
    return samples;
}

void pl_datagram_samples_free(void *of)
{
    struct pl_datagram_samples *samples = of;
    free(samples->values);
    free(samples->jitter_ns);
    free(samples);
}

/* False where the kernel does not report it. */
static bool read_drops(int fd, uint64_t *drops)
{
    uint32_t words[MEMINFO_WORDS] = {0};
    socklen_t length = sizeof words;
    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, words, &length) != 0 || length < sizeof words)
        return false;
    *drops = words[MEMINFO_DROPS];
    return true;
}

static void take(struct pl_datagram_samples *samples, uint32_t s, const struct pl_datagram_link *link)
{
    uint64_t *const *current = samples->current;
    for (int f = 0; f < PL_DATAGRAMS_RECEIVED; f++)
        current[f][s] = 0;
    for (int p = 0; p < PL_DATAGRAM_PHASES; p++) {
        current[PL_DATAGRAMS_SENT][s] += pl_load_relaxed(&link->sent[p]);
        current[PL_DATAGRAMS_REFUSED][s] += pl_load_relaxed(&link->refused[p]);
        current[PL_DATAGRAMS_GIVEN_UP][s] += pl_load_relaxed(&link->given_up[p]);
    }
    const struct pl_datagram_counts *all = &link->all;
    current[PL_DATAGRAMS_RECEIVED][s] = pl_load_relaxed(&all->received);
    current[PL_DATAGRAMS_LOST][s] = pl_load_relaxed(&all->lost);
    current[PL_DATAGRAMS_DUPLICATE][s] = pl_load_relaxed(&all->duplicates);
    current[PL_DATAGRAMS_REORDERED][s] = pl_load_relaxed(&all->reordered);
    samples->jitter_ns[s] = pl_load_relaxed(&all->jitter_ns);
    samples->drops_known = read_drops(link->fd, &current[PL_DATAGRAMS_DROPPED][s]);
}

void pl_datagram_samples_take(void *of, const struct pl_counters *counters)
{
    struct pl_datagram_samples *samples = of;
    for (int f = 0; f < PL_DATAGRAM_FIELDS; f++) {
        uint64_t *oldest = samples->previous[f];
        samples->previous[f] = samples->current[f];
        samples->current[f] = oldest;
    }
    for (uint32_t s = 0; s < counters->count; s++)
        take(samples, s, counters->streams[s].link);
}

void pl_datagram_samples_close_interval(void *of, const struct pl_counters *counters, enum pl_phase phase,
                                        bool enters)
{
    struct pl_datagram_samples *samples = of;
    (void)phase;
    if (enters)
        memcpy(samples->drops_before, samples->current[PL_DATAGRAMS_DROPPED],
               counters->count * sizeof *samples->drops_before);
}

int64_t pl_datagram_samples_dropped(const struct pl_datagram_samples *samples, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < count; s++)
        sum += (uint32_t)(samples->current[PL_DATAGRAMS_DROPPED][s] - samples->drops_before[s]);
    return samples->drops_known ? (int64_t)sum : -1;
}
