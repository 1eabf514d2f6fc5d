#include "probe/ping_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"
#include "base/units.h"

#define READABLE_NS (100 * PL_NS_PER_MS)

bool pl_ping_text_start(const char *address, const struct pl_probe_socket *socket)
{
    (void)printf("probing %s by %s, %zu bytes, %s time stamps\n", address, pl_method_name(socket->method),
                 socket->payload_bytes, pl_stamps_name(pl_probe_socket_stamps(socket)));
    return pl_output_flush();
}

static void keep(struct pl_ping_text *text, pl_ns rtt_ns)
{
    if (text->count == text->capacity) {
        size_t capacity = text->capacity > 0 ? 2 * text->capacity : 1024;
        pl_ns *larger = realloc(text->rtts_ns, capacity * sizeof *larger);
        if (larger == NULL) {
            text->unkept++;
            return;
        }
        text->rtts_ns = larger;
        text->capacity = capacity;
    }
    text->rtts_ns[text->count++] = rtt_ns;
}

bool pl_ping_text_probe(struct pl_ping_text *text, const struct pl_probe *probe, pl_ns interval_ns)
{
    char rtt[PL_QUANTITY_BYTES];
    if (probe->answered)
        keep(text, probe->rtt_ns);
    if (interval_ns < READABLE_NS)
        return true;
    if (probe->failed) {
        (void)printf("%6" PRIu64 "  not sent: the kernel refused it\n", probe->sequence);
    } else if (!probe->answered) {
        (void)printf("%6" PRIu64 "  no answer yet\n", probe->sequence);
    } else {
        pl_format_quantity((double)probe->rtt_ns, PL_UNIT_NS, rtt);
        (void)printf("%6" PRIu64 "  %s%s\n", probe->sequence, rtt, probe->reordered ? "  reordered" : "");
    }
    return pl_output_flush();
}

bool pl_ping_text_late(struct pl_ping_text *text, const struct pl_probe *probe, pl_ns interval_ns)
{
    char rtt[PL_QUANTITY_BYTES];
    keep(text, probe->rtt_ns);
    if (interval_ns < READABLE_NS)
        return true;
    pl_format_quantity((double)probe->rtt_ns, PL_UNIT_NS, rtt);
    (void)printf("%6" PRIu64 "  %s  late\n", probe->sequence, rtt);
    return pl_output_flush();
}

static int compare(const void *a, const void *b)
{
    pl_ns x = *(const pl_ns *)a;
    pl_ns y = *(const pl_ns *)b;
    return (x > y) - (x < y);
}

/* The quantile `ratio` of the round trips (type 1 of Hyndman and Fan). */
static pl_ns percentile(const struct pl_ping_text *text, double ratio)
{
    size_t rank = (size_t)ceil(ratio * (double)text->count);
    return text->rtts_ns[rank > 0 ? rank - 1 : 0];
}

bool pl_ping_text_result(struct pl_ping_text *text, const struct pl_ping_counts *counts)
{
    static const struct {
        const char *name;
        double ratio;
    } columns[] = {{"min", 0}, {"median", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}};
    uint64_t received = text->count + text->unkept;
    (void)printf("%" PRIu64 " sent, %" PRIu64 " received", counts->sent, received);
    if (counts->sent > 0)
        (void)printf(", %.3g %% lost", 100.0 * (double)(counts->sent - received) / (double)counts->sent);
    (void)printf(", %" PRIu64 " duplicates, %" PRIu64 " late, %" PRIu64 " reordered", counts->duplicates,
                 counts->late, counts->reordered);
    if (counts->send_errors > 0)
        (void)printf(", %" PRIu64 " not sent", counts->send_errors);
    (void)printf("\n");
    if (text->count > 0) {
        qsort(text->rtts_ns, text->count, sizeof *text->rtts_ns, compare);
        (void)printf("round trip");
        for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
            char value[PL_QUANTITY_BYTES];
            pl_format_quantity((double)percentile(text, columns[i].ratio), PL_UNIT_NS, value);
            (void)printf("%s %s %s", i == 0 ? "" : ",", columns[i].name, value);
        }
        (void)printf("\n");
    }
    if (text->unkept > 0)
        (void)printf("no memory for %" PRIu64 " round trips, which are not in the line above\n",
                     text->unkept);
    return pl_output_flush();
}

void pl_ping_text_release(struct pl_ping_text *text)
{
    free(text->rtts_ns);
    *text = (struct pl_ping_text){0};
}
