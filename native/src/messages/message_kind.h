/* The kind of flow that carries messages. */
#pragma once

#include "flow/flow_kind.h"

extern const struct pl_flow_kind pl_message_kind;
