/* What records and text state about a flow of datagrams. */
#pragma once

#include "flow/flow_kind.h"

extern const struct pl_kind_counts pl_datagram_report;
