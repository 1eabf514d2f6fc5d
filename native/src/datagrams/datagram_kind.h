/* The kind of flow that carries datagrams. */
#ifndef PL_DATAGRAM_KIND_H
#define PL_DATAGRAM_KIND_H

#include "flow/flow_kind.h"

extern const struct pl_flow_kind pl_datagram_kind;

#endif
