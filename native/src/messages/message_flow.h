/* The settings of a flow of messages: what flags and hellos may say, and what follows from them. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "flow/flow.h"
#include "flow/hello.h"

/* Checks the flags once the transport and the directions are known. False with `error` set (usage). */
bool pl_message_flow_check(struct pl_flow *flow, struct pl_error *error);

/* Fills the hello's part about messages. */
void pl_message_flow_state(const struct pl_flow *flow, struct pl_hello *hello);
/* Adopts what the first hello says about messages; false where that is impossible, or a later one differs. */
bool pl_message_flow_adopt(struct pl_flow *flow, const struct pl_hello *hello);

/* Derives the number of threads and the sizes of calls. */
void pl_message_flow_derive(struct pl_flow *flow);
