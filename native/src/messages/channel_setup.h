/* The first exchange over an admitted stream: what carries the data is made by the accepting end and handed
 * to the other one. Nothing of it has a name in a file system, so nothing is left behind. */
#ifndef PL_CHANNEL_SETUP_H
#define PL_CHANNEL_SETUP_H

#include "messages/channel.h"

/* Fills the descriptors and rings of the channel. False with `error` set. */
bool pl_channel_set_up(struct pl_channel *channel, const struct pl_channel_settings *settings,
                       struct pl_error *error);

#endif
