/* What is counted of the messages of a flow, and what records (PROTOCOL.md) and text state of them. */
#pragma once

#include "flow/flow_kind.h"

extern const struct pl_kind_counts pl_message_report;
