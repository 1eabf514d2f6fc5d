/* The network interfaces of a capture. */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { PL_INTERFACES_MAX = 64 };

struct pl_interface {
    unsigned index;
    char name[IFNAMSIZ];
    bool loopback;
};

struct pl_interfaces {
    struct pl_interface list[PL_INTERFACES_MAX];
    size_t count;
    bool named; /* by the user, one after the other */
};

/* The interfaces of a list of names ("eth0,eth1"), or for "" all that have an IP address: with the members of
 * a bond, the ports of a bridge or the device below a VLAN, each packet would be seen twice. False with
 * `error` set: no such interface, or more than PL_INTERFACES_MAX. */
bool pl_interfaces_find(const char *names, struct pl_interfaces *interfaces, struct pl_error *error);

/* Its place in the list; -1: not there. */
int pl_interfaces_index(const struct pl_interfaces *interfaces, unsigned index);
