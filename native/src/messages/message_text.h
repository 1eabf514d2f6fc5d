/* What people at a terminal read about the messages of a trial. */
#pragma once

#include "flow/counters.h"

/* A line about the messages at the start. */
void pl_message_text_settings(const struct pl_counters *counters);
/* Lines of the summary: the rate of the steady window, what is missing, and the round trips. */
void pl_message_text_result(const struct pl_counters *counters);
