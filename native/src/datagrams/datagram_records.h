/* The "datagrams" objects of the records of a flow of datagrams. */
#pragma once

#include "base/json.h"
#include "flow/counters.h"

/* Of ready. */
void pl_datagram_records_settings(struct pl_json *j, const struct pl_counters *counters);
/* Of an interval. */
void pl_datagram_records_interval(struct pl_json *j, const struct pl_counters *counters);
/* Of a phase of the result. */
void pl_datagram_records_phase(struct pl_json *j, const struct pl_counters *counters, enum pl_phase phase);
/* Of the result; after the workers have ended. */
void pl_datagram_records_result(struct pl_json *j, const struct pl_counters *counters);
