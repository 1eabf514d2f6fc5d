#include "probe/ping_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"
#include "base/record.h"
#include "base/units.h"

#define READABLE_NS (100 * PL_NS_PER_MS)

static void write_record(struct pl_ping_report *report, const struct pl_record_type *type, const void *values)
{
    report->written = pl_record_write(&report->json, type, values) && report->written;
}

static void flush(struct pl_ping_report *report)
{
    report->written = pl_output_flush() && report->written;
}

void pl_ping_report_start(struct pl_ping_report *report, const char *address,
                          const struct pl_probe_socket *socket, pl_ns start_ns)
{
    const struct pl_ping_start_record record = {
        .method = pl_method_name(socket->method),
        .stamps = pl_stamps_name(pl_probe_socket_stamps(socket)),
        .address = address,
        .payload_bytes = (int64_t)socket->payload_bytes,
        .monotonic_ns = start_ns,
        .realtime_ns = pl_realtime_ns() - (pl_now_ns() - start_ns),
    };
    if (!report->human) {
        write_record(report, &pl_ping_start_type, &record);
        return;
    }
    (void)printf("probing %s by %s, %zu bytes, %s time stamps\n", address, record.method,
                 socket->payload_bytes, record.stamps);
    flush(report);
}

static void keep(struct pl_ping_report *report, pl_ns rtt_ns)
{
    if (report->count == report->capacity) {
        size_t capacity = report->capacity > 0 ? 2 * report->capacity : 1024;
        pl_ns *larger = realloc(report->rtts_ns, capacity * sizeof *larger);
        if (larger == NULL) {
            report->unkept++;
            return;
        }
        report->rtts_ns = larger;
        report->capacity = capacity;
    }
    report->rtts_ns[report->count++] = rtt_ns;
}

static void print_probe(struct pl_ping_report *report, const struct pl_probe *probe, const char *remark)
{
    char rtt[PL_QUANTITY_BYTES];
    if (probe->answered)
        keep(report, probe->rtt_ns);
    if (report->interval_ns < READABLE_NS)
        return;
    (void)printf("%6" PRIu64 "  %s%s\n", probe->sequence,
                 probe->failed      ? "not sent: the kernel refused it"
                 : !probe->answered ? "no answer yet"
                                    : pl_format_quantity((double)probe->rtt_ns, PL_UNIT_NS, rtt),
                 remark);
    flush(report);
}

void pl_ping_report_probe(struct pl_ping_report *report, const struct pl_probe *probe)
{
    if (report->human) {
        print_probe(report, probe, probe->answered && probe->reordered ? "  reordered" : "");
        return;
    }
    const struct pl_ping_probe_record record = {
        .sequence = (int64_t)probe->sequence,
        .intended_ns = probe->intended_ns,
        .sent_ns = probe->failed ? -1 : probe->sent_ns,
        .rtt_ns = probe->answered ? probe->rtt_ns : -1,
        .stamps = probe->answered ? pl_stamps_name(probe->stamps) : NULL,
        .held_ns = probe->answered ? probe->held_ns : -1,
        .reordered = probe->answered && probe->reordered,
    };
    write_record(report, &pl_ping_probe_type, &record);
}

void pl_ping_report_late(struct pl_ping_report *report, const struct pl_probe *probe)
{
    if (report->human) {
        print_probe(report, probe, "  late");
        return;
    }
    const struct pl_ping_late_record record = {
        .sequence = (int64_t)probe->sequence,
        .intended_ns = probe->intended_ns,
        .sent_ns = probe->sent_ns,
        .rtt_ns = probe->rtt_ns,
        .stamps = pl_stamps_name(probe->stamps),
    };
    write_record(report, &pl_ping_late_type, &record);
}

void pl_ping_report_overdue(struct pl_ping_report *report, const struct pl_probe *probe, pl_ns overdue_ns)
{
    const struct pl_ping_overdue_record record = {
        .sequence = (int64_t)probe->sequence, .sent_ns = probe->sent_ns, .waited_ns = overdue_ns};
    if (!report->human)
        write_record(report, &pl_ping_overdue_type, &record);
}

void pl_ping_report_interval(struct pl_ping_report *report, const struct pl_probe_interval *interval)
{
    const struct pl_ping_round_trips_record record = {
        .start_ns = interval->start_ns,
        .end_ns = interval->end_ns,
        .sent = (int64_t)interval->sent,
        .lost = (int64_t)interval->lost,
        .reordered = (int64_t)interval->reordered,
        .round_trip_ns = &interval->round_trips,
    };
    write_record(report, &pl_ping_round_trips_type, &record);
}

static int compare(const void *a, const void *b)
{
    pl_ns x = *(const pl_ns *)a;
    pl_ns y = *(const pl_ns *)b;
    return (x > y) - (x < y);
}

/* The quantile `ratio` of the round trips (type 1 of Hyndman and Fan). */
static pl_ns percentile(const struct pl_ping_report *report, double ratio)
{
    size_t rank = (size_t)ceil(ratio * (double)report->count);
    return report->rtts_ns[rank > 0 ? rank - 1 : 0];
}

static void print_result(struct pl_ping_report *report, const struct pl_ping_counts *counts)
{
    static const struct {
        const char *name;
        double ratio;
    } columns[] = {{"min", 0}, {"median", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}};
    uint64_t received = report->count + report->unkept;
    (void)printf("%" PRIu64 " sent, %" PRIu64 " received", counts->sent, received);
    if (counts->sent > 0)
        (void)printf(", %.3g %% lost", 100.0 * (double)(counts->sent - received) / (double)counts->sent);
    (void)printf(", %" PRIu64 " duplicates, %" PRIu64 " late, %" PRIu64 " reordered", counts->duplicates,
                 counts->late, counts->reordered);
    if (counts->send_errors > 0)
        (void)printf(", %" PRIu64 " not sent", counts->send_errors);
    (void)printf("\n");
    if (report->count > 0) {
        qsort(report->rtts_ns, report->count, sizeof *report->rtts_ns, compare);
        (void)printf("round trip");
        for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
            char value[PL_QUANTITY_BYTES];
            (void)printf("%s %s %s", i == 0 ? "" : ",", columns[i].name,
                         pl_format_quantity((double)percentile(report, columns[i].ratio), PL_UNIT_NS, value));
        }
        (void)printf("\n");
    }
    if (report->unkept > 0)
        (void)printf("no memory for %" PRIu64 " round trips, which are not in the line above\n",
                     report->unkept);
    flush(report);
}

void pl_ping_report_result(struct pl_ping_report *report, const char *reason, enum pl_method method,
                           const struct pl_ping_counts *counts, const struct pl_histogram *send_lateness)
{
    if (report->human) {
        print_result(report, counts);
        return;
    }
    const struct pl_ping_result_record record = {
        .complete = reason == NULL,
        .reason = reason,
        .method = pl_method_name(method),
        .sent = (int64_t)counts->sent,
        .received = (int64_t)counts->received,
        .duplicates = (int64_t)counts->duplicates,
        .late = (int64_t)counts->late,
        .reordered = (int64_t)counts->reordered,
        .send_errors = (int64_t)counts->send_errors,
        .timeout_ns = counts->timeout_ns,
        .ended_ns = counts->ended_ns,
        .send_error_ns = send_lateness,
    };
    write_record(report, &pl_ping_result_type, &record);
}

void pl_ping_report_release(struct pl_ping_report *report)
{
    free(report->rtts_ns);
    pl_json_release(&report->json);
}
