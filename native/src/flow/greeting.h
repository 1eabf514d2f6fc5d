/* The receiver's door: accepts connections, reads their hellos and admits those of the flow.
 *
 * Nobody outside can hold it up: nothing blocks, a hello must be whole within two seconds, and no more than
 * 64 connections beyond the expected ones are half-greeted at a time, the oldest going first. */
#ifndef PL_GREETING_H
#define PL_GREETING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "flow/flow.h"
#include "flow/stream.h"

#define PL_GREETING_SPARE 64
#define PL_GREETING_NS (2 * PL_NS_PER_S)

struct pl_door;

/* Borrows the listening socket, the flow, which takes from the first hello what it was not told, and the
 * streams, whose descriptors it fills as they are admitted. */
struct pl_door *pl_door_open(int listen_fd, struct pl_flow *flow, struct pl_stream *streams,
                             struct pl_error *error);
/* Closes whoever is half-greeted. */
void pl_door_close(struct pl_door *door);

/* Readable when there is something to serve. */
int pl_door_fd(const struct pl_door *door);
/* When the next half-greeted connection runs out of time; PL_NEVER without one. */
pl_ns pl_door_deadline_ns(const struct pl_door *door);
/* Does what can be done without waiting, a bounded amount per call. False with `error` set when the machine
 * is out of descriptors although nobody is left to be dropped. */
bool pl_door_serve(struct pl_door *door, struct pl_error *error);

uint32_t pl_door_admitted(const struct pl_door *door);
/* Whether every stream of the flow has been admitted. */
bool pl_door_is_complete(const struct pl_door *door);
/* Those who stand there with half a hello. */
uint32_t pl_door_waiting(const struct pl_door *door);
/* Strangers turned away so far. */
uint64_t pl_door_rejected(const struct pl_door *door);

#endif
