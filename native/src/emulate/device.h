/* The two ends of an emulated link: a TUN device, or a packet socket on an existing interface, each in its
 * own network namespace. Packets carry a virtio-net header in front (superpacket.h), and behind it an
 * Ethernet header when it is a packet socket.
 */
#ifndef PL_DEVICE_H
#define PL_DEVICE_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/error.h"

enum pl_backend { PL_BACKEND_TUN, PL_BACKEND_PACKET };

struct pl_device {
    enum pl_backend backend;
    int fd;
    bool stamped;   /* the kernel says when each packet came */
    int netlink_fd; /* asks for the statistics of a TUN; -1: not available */
    unsigned interface_index;
    uint32_t link_header_bytes; /* between the virtio-net header and IP */
    char name[IFNAMSIZ];
    uint64_t socket_dropped; /* packet socket: drops fetched so far; the kernel forgets them once told */
    uint64_t dropped_before; /* at opening */
};

struct pl_device_settings {
    enum pl_backend backend;
    const char *namespace_path; /* NULL or "": the caller's own network namespace */
    const char *interface;      /* TUN: created; packet: must exist and be up */
    uint32_t mtu_bytes;         /* TUN only; 0: leave */
};

/* Open one end; the caller is back in its own network namespace afterwards, whatever happened.
 * PL_USAGE: the name is no interface name. PL_SETUP: the text names the namespace, device or interface and
 * what is missing. `device` is owned by the caller, who closes it also after a failure. */
enum pl_status pl_device_open(struct pl_device *device, const struct pl_device_settings *settings,
                              struct pl_error *error);

void pl_device_close(struct pl_device *device);

/* Read one packet into `parts`; returns and fails as readv does. `*arrived_ns`: when it came, by the kernel's
 * stamp on a packet socket (a process that slept reads it tens of microseconds later), else now. It may lie
 * before that of the packet read last. */
ssize_t pl_device_read(struct pl_device *device, struct iovec *parts, unsigned count, pl_ns *arrived_ns);

/* True when this errno of a read or write means that the interface is down or gone, for good. */
bool pl_device_is_gone(int errno_value);

/* Packets dropped by the kernel before they could be read, since the device was opened. A packet counts once,
 * whether it is a super-packet or not. False: the kernel does not tell. */
bool pl_device_dropped(struct pl_device *device, uint64_t *packets);

#endif
