/* What records and text state about a flow of datagrams. */
#pragma once

#include "base/json.h"
#include "flow/counters.h"

/* The "datagrams" objects of ready, an interval, a phase of the result, and the result, for which the workers
 * have ended. */
void pl_datagram_write_settings(struct pl_json *j, const struct pl_counters *counters);
void pl_datagram_write_interval(struct pl_json *j, const struct pl_counters *counters);
void pl_datagram_write_phase(struct pl_json *j, const struct pl_counters *counters, enum pl_phase phase);
void pl_datagram_write_result(struct pl_json *j, const struct pl_counters *counters);

/* For people: a line of settings, the columns of an interval's line and their headings, and the lines of the
 * steady window. */
void pl_datagram_print_settings(const struct pl_counters *counters);
void pl_datagram_print_headings(const struct pl_counters *counters);
void pl_datagram_print_interval(const struct pl_counters *counters);
void pl_datagram_print_result(const struct pl_counters *counters);
