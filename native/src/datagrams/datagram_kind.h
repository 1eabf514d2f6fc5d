/* The kind of flow that carries datagrams. */
#pragma once

#include "flow/flow_kind.h"

extern const struct pl_flow_kind pl_datagram_kind;
