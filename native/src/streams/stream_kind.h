/* The kind of flow that carries bytes. */
#ifndef PL_STREAM_KIND_H
#define PL_STREAM_KIND_H

#include "flow/flow_kind.h"

extern const struct pl_flow_kind pl_stream_kind;

#endif
