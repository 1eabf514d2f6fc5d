/* The two ends of an emulated link: a TUN device, or a packet socket on an existing interface, each in its
 * own network namespace. Packets carry a virtio-net header in front (superpacket.h), and behind it an
 * Ethernet header when it is a packet socket.
 */
#pragma once

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
    bool stamped;   /* the kernel timestamps each packet */
    int netlink_fd; /* for the statistics of a TUN; -1: not available */
    unsigned interface_index;
    uint32_t link_header_bytes; /* between the virtio-net header and IP */
    char name[IFNAMSIZ];
    uint64_t socket_dropped; /* packet socket: drops read so far; reading resets the kernel's count */
    uint64_t dropped_before; /* at opening */
};

struct pl_device_settings {
    enum pl_backend backend;
    const char *namespace_path; /* NULL or "": the caller's own network namespace */
    const char *interface;      /* TUN: created; packet: must exist and be up */
    uint32_t mtu_bytes;         /* TUN only; 0: leave */
};

/* Open one end; the caller is back in its own network namespace afterwards in any case. False with
 * `error` set: PL_USAGE where the name is no interface name, else PL_SETUP, whose text names the namespace,
 * device or interface and the missing requirement. The caller owns `device` and closes it also after a
 * failure. */
bool pl_device_open(struct pl_device *device, const struct pl_device_settings *settings,
                    struct pl_error *error);

void pl_device_close(struct pl_device *device);

/* Read one packet into `parts`; returns and fails as readv does. `*arrived_ns`: its arrival by the kernel's
 * timestamp on a packet socket (a process that slept reads the packet tens of microseconds later), else now.
 * It may be earlier than that of the previous packet. */
ssize_t pl_device_read(struct pl_device *device, struct iovec *parts, unsigned count, pl_ns *arrived_ns);

/* True when this errno of a read or write means that the interface is down or gone. */
bool pl_device_is_gone(int errno_value);

/* Packets dropped by the kernel before they were read, since the device was opened. A super-packet counts
 * once. False: the kernel does not report them. */
bool pl_device_dropped(struct pl_device *device, uint64_t *packets);
