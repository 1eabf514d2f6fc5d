/* Opens channels. The first exchange over an admitted stream: what carries the data is made by the accepting
 * end and handed to the other one. Nothing of it has a name in a file system, so nothing is left behind. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/error.h"
#include "messages/channel.h"
#include "messages/udp_pair.h"

struct pl_channel_settings {
    enum pl_carrier carrier;
    bool polls;
    size_t queue_bytes;         /* room of a ring in one direction: a power of two */
    struct pl_udp_settings udp; /* of all carriers: which end this is, and the deadline */
};

/* Makes or receives what carries the data, over the admitted stream. False with `error` set. Close it in
 * either case. */
bool pl_channel_open(struct pl_channel *channel, int stream_fd, const struct pl_channel_settings *settings,
                     struct pl_error *error);
/* Between two threads of this process: what is written can be read from the same channel. */
bool pl_channel_open_queue(struct pl_channel *channel, size_t queue_bytes, bool polls,
                           struct pl_error *error);
