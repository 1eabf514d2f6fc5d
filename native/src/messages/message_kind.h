/* The kind of flow that carries messages. */
#ifndef PL_MESSAGE_KIND_H
#define PL_MESSAGE_KIND_H

#include "flow/flow_kind.h"

extern const struct pl_flow_kind pl_message_kind;

#endif
