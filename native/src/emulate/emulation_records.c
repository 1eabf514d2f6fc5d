#include "emulate/emulation_records.h"

#include <string.h>

void pl_write_trace(struct pl_json *j, const char *key, const struct pl_trace *trace)
{
    pl_json_begin_object(j, key);
    pl_json_u64(j, "records", trace->written_records);
    pl_json_u64(j, "skipped_records", trace->skipped_records);
    pl_json_string(j, "error", trace->errno_value == 0 ? NULL : strerror(trace->errno_value));
    pl_json_end_object(j);
}

void pl_write_direction(struct pl_json *j, const char *key, const struct pl_direction *direction)
{
    const struct pl_link_counters *link = &direction->link.counters;
    const struct pl_direction_counters *counters = &direction->counters;
    uint64_t dropped = 0;
    pl_json_begin_object(j, key);
    pl_json_u64(j, "arrived_packets", link->arrived_packets);
    pl_json_u64(j, "arrived_bytes", link->arrived_bytes);
    pl_json_u64(j, "queue_dropped_packets", link->queue_dropped_packets);
    pl_json_u64(j, "aqm_dropped_packets", link->aqm_dropped_packets);
    pl_json_u64(j, "lost_packets", link->lost_packets);
    pl_json_u64(j, "marked_packets", link->marked_packets);
    pl_json_u64(j, "cross_packets", link->cross_packets);
    pl_json_u64(j, "cross_dropped_packets", link->cross_dropped_packets);
    pl_json_u64(j, "duplicated_packets", counters->duplicated_packets);
    pl_json_u64(j, "delivered_packets", counters->delivered_packets);
    pl_json_u64(j, "delivered_bytes", counters->delivered_bytes);
    pl_json_u64(j, "waiting_packets", counters->waiting_packets);
    pl_json_u64(j, "write_errors", counters->write_errors);
    pl_json_u64(j, "overflow_dropped_packets", counters->overflow_dropped_packets);
    pl_json_u64(j, "unsplit_packets", counters->unsplit_packets);
    pl_json_u64(j, "unreadable_packets", counters->unreadable_packets);
    if (pl_device_dropped(direction->from, &dropped))
        pl_json_u64(j, "socket_dropped", dropped);
    else
        pl_json_null(j, "socket_dropped");
    pl_histogram_write_summary(&direction->lateness, j, "late_ns");
    pl_json_end_object(j);
}
