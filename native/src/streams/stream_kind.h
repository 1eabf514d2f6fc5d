/* The kind of flow that carries bytes. */
#pragma once

#include "flow/flow_kind.h"

extern const struct pl_flow_kind pl_stream_kind;
