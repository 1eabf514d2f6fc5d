/* The text output of a flow of datagrams, for people. */
#pragma once

#include "flow/counters.h"

/* A line of settings. */
void pl_datagram_text_settings(const struct pl_counters *counters);
/* The columns of an interval's line, and their headings. */
void pl_datagram_text_headings(const struct pl_counters *counters);
void pl_datagram_text_interval(const struct pl_counters *counters);
/* The lines of the result: the steady window. */
void pl_datagram_text_result(const struct pl_counters *counters);
