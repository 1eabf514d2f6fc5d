/* The settings of a flow of datagrams: what flags and hellos may say, and what follows from them. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "flow/flow.h"
#include "flow/hello.h"

/* Reads the words and numbers of the flags once the transport, the directions and the messages are known, and
 * refuses those that contradict each other. False with `error` set (usage). */
bool pl_datagram_flow_check(struct pl_flow *flow, struct pl_error *error);

/* Fills the hello's part about datagrams. */
void pl_datagram_flow_state(const struct pl_flow *flow, struct pl_hello *hello);
/* Whether a hello's part about datagrams is possible, and the same as that of an earlier one. */
bool pl_datagram_flow_agrees(const struct pl_flow *flow, const struct pl_hello *hello);
/* Takes it over. */
void pl_datagram_flow_adopt(struct pl_flow *flow, const struct pl_hello *hello);

/* The payload that the streams of a flow of datagrams may send together, in bit/s; 0: as fast as possible. */
int64_t pl_datagram_flow_rate(const struct pl_flow *flow);
/* Derives workers, pacing and the sizes of calls. */
void pl_datagram_flow_derive(struct pl_flow *flow);

/* Chooses or checks the payload of each datagram by the MTU of the path of a connected stream; false with
 * `error` set where the path cannot carry it. Without datagrams, and once it is chosen, nothing happens. */
bool pl_datagram_flow_fit(struct pl_flow *flow, int stream_fd, struct pl_error *error);
