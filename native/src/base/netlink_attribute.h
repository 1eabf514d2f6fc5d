/* Attributes of messages of netlink sockets. */
#pragma once

#include <stddef.h>

#include <linux/rtnetlink.h>

/* The content of the first attribute of `type` among `bytes` of attributes, and its size; NULL: there is
 * none. */
const void *pl_netlink_attribute(const void *attributes, size_t bytes, unsigned short type, size_t *size);
