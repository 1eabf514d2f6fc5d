#include "emulate/device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/stamp.h"
#include "emulate/superpacket.h"

enum { SOCKET_BUFFER_BYTES = 64 << 20, ANSWER_BYTES = 1024 };
static const pl_ns STAMP_AGE_NS_MAX = PL_NS_PER_S; /* older: the clock was set meanwhile */

static bool fail(struct pl_error *error, const char *stage, const char *what, const char *interface,
                 const char *next_step)
{
    int errno_value = errno;
    bool more = next_step[0] != '\0';
    return pl_error_set(error, PL_SETUP, stage, errno_value, "%s '%s'%s%s%s", what, interface,
                        more ? " (" : "", next_step, more ? ")" : "");
}

/* ---------- network namespaces ---------- */

/* Enter `path`; `*own_fd` then is the previous namespace, -1 where there is none to enter. */
static bool enter_namespace(const char *path, int *own_fd, struct pl_error *error)
{
    *own_fd = -1;
    if (path == NULL || path[0] == '\0')
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(error, "namespace", "cannot open the network namespace", path, "");
    int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    bool entered = own >= 0 && setns(fd, CLONE_NEWNET) == 0;
    if (own < 0)
        (void)fail(error, "namespace", "cannot open", "/proc/thread-self/ns/net", "mount /proc");
    else if (!entered)
        (void)fail(error, "namespace", "cannot enter the network namespace", path,
                   errno == EINVAL ? "this is not a network namespace"
                                   : "run as root or in the user namespace that owns it");
    if (entered)
        *own_fd = own;
    else
        pl_close(own);
    pl_close(fd);
    return entered;
}

static bool leave_namespace(int own_fd, struct pl_error *error)
{
    if (own_fd < 0)
        return true;
    bool left = setns(own_fd, CLONE_NEWNET) == 0 ||
                fail(error, "namespace", "cannot return to", "the own network namespace", "");
    pl_close(own_fd);
    return left;
}

/* ---------- interfaces ---------- */

static void name_interface(struct ifreq *request, const struct pl_device *device)
{
    memset(request, 0, sizeof *request);
    memcpy(request->ifr_name, device->name, sizeof request->ifr_name);
}

static bool find_interface(struct pl_device *device, struct pl_error *error)
{
    device->interface_index = if_nametoindex(device->name);
    if (device->interface_index == 0)
        return fail(error, "interface", "cannot find the interface", device->name,
                    "see `ip link` in its namespace");
    return true;
}

static bool check_interface_up(const struct pl_device *device, struct pl_error *error)
{
    struct ifreq request;
    name_interface(&request, device);
    if (ioctl(device->fd, SIOCGIFFLAGS, &request) != 0)
        return fail(error, "interface", "cannot read the flags of", device->name, "");
    return (request.ifr_flags & IFF_UP) != 0 ||
           pl_error_set(error, PL_SETUP, "interface", ENETDOWN,
                        "the interface '%s' is down (`ip link set %s up`)", device->name, device->name);
}

static bool set_mtu(const struct pl_device *device, uint32_t mtu_bytes, struct pl_error *error)
{
    struct ifreq request;
    name_interface(&request, device);
    request.ifr_mtu = (int)mtu_bytes;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool set = (fd >= 0 && ioctl(fd, SIOCSIFMTU, &request) == 0) ||
               fail(error, "interface", "cannot set the MTU of", device->name, "");
    pl_close(fd);
    return set;
}

/* ---------- TUN ---------- */

/* TUN_F_USO4 and TUN_F_USO6, which headers before Linux 6.2 do not have. */
static const unsigned long UDP_OFFLOADS = 0x20UL | 0x40UL;

/* Accept super-packets that the kernel need not segment. Before Linux 6.2 it still segments UDP. */
static bool set_offloads(int fd)
{
    const unsigned long offloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    return ioctl(fd, TUNSETOFFLOAD, offloads | UDP_OFFLOADS) == 0 || ioctl(fd, TUNSETOFFLOAD, offloads) == 0;
}

static bool open_tun(struct pl_device *device, const struct pl_device_settings *settings,
                     struct pl_error *error)
{
    static const char node[] = "/dev/net/tun";
    device->fd = open(node, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (device->fd < 0)
        return fail(error, "tun", "cannot open", node, "use --backend packet, which needs no such device");
    struct ifreq request;
    name_interface(&request, device);
    request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    if (ioctl(device->fd, TUNSETIFF, &request) != 0)
        return fail(error, "tun", "cannot create the TUN interface", device->name,
                    errno == EPERM    ? "this needs CAP_NET_ADMIN in its namespace"
                    : errno == EINVAL ? "an interface of another kind may have this name"
                                      : "");
    int header_bytes = PL_VIRTIO_HEADER_BYTES;
    if (ioctl(device->fd, TUNSETVNETHDRSZ, &header_bytes) != 0 || !set_offloads(device->fd))
        return fail(error, "tun", "the kernel refuses segmentation offload on", device->name, "");
    bool set = find_interface(device, error) &&
               (settings->mtu_bytes == 0 || set_mtu(device, settings->mtu_bytes, error));
    /* The socket stays in the namespace of its creation; without it the drops are unknown. */
    device->netlink_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    return set;
}

/* Packets that a TUN device dropped because they were not read in time: tx_dropped of the interface. The
 * kernel answers a request for one interface before send() returns. */
static bool tun_dropped(const struct pl_device *device, uint64_t *packets)
{
    struct {
        struct nlmsghdr header;
        struct if_stats_msg stats;
    } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETSTATS, .nlmsg_flags = NLM_F_REQUEST},
        .stats = {.ifindex = device->interface_index,
                  .filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64)},
    };
    if (device->netlink_fd < 0 || send(device->netlink_fd, &request, sizeof request, 0) < 0)
        return false;
    unsigned char answer[ANSWER_BYTES];
    ssize_t got = recv(device->netlink_fd, answer, sizeof answer, 0);
    struct nlmsghdr header;
    struct rtattr attribute;
    struct rtnl_link_stats64 counters;
    const size_t attribute_at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct if_stats_msg));
    if (got < (ssize_t)(attribute_at + RTA_LENGTH(0)))
        return false;
    memcpy(&header, answer, sizeof header);
    memcpy(&attribute, answer + attribute_at, sizeof attribute);
    const size_t needed = offsetof(struct rtnl_link_stats64, tx_dropped) + sizeof counters.tx_dropped;
    if (header.nlmsg_type != RTM_NEWSTATS || attribute.rta_type != IFLA_STATS_LINK_64 ||
        attribute.rta_len < RTA_LENGTH(0) + needed || (size_t)got < attribute_at + RTA_LENGTH(0) + needed)
        return false;
    memset(&counters, 0, sizeof counters);
    memcpy(&counters, answer + attribute_at + RTA_LENGTH(0), needed);
    *packets = counters.tx_dropped;
    return true;
}

/* ---------- packet sockets ---------- */

/* Set the largest possible buffers: the forced size needs a privilege in the initial namespace. */
static void enlarge_buffers(int fd)
{
    if (!pl_set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BUFFER_BYTES))
        (void)pl_set_option(fd, SOL_SOCKET, SO_RCVBUF, SOCKET_BUFFER_BYTES);
    if (!pl_set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, SOCKET_BUFFER_BYTES))
        (void)pl_set_option(fd, SOL_SOCKET, SO_SNDBUF, SOCKET_BUFFER_BYTES);
}

static bool open_packet(struct pl_device *device, struct pl_error *error)
{
    /* Protocol 0: nothing is received before bind names the interface. */
    device->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (device->fd < 0)
        return fail(error, "packet", "cannot open a packet socket for", device->name,
                    "this needs CAP_NET_RAW in its namespace");
    device->link_header_bytes = ETH_HLEN;
    if (!find_interface(device, error) || !check_interface_up(device, error))
        return false;
    if (!pl_set_option(device->fd, SOL_PACKET, PACKET_VNET_HDR, 1) ||
        !pl_set_option(device->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1))
        return fail(error, "packet", "the kernel is too old for the emulator on", device->name,
                    "Linux 4.20 or later is needed");
    /* Only saves time; without it the packets pass the interface's queueing discipline. */
    (void)pl_set_option(device->fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
    device->stamped = pl_set_option(device->fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    enlarge_buffers(device->fd);
    struct packet_mreq promiscuous = {.mr_ifindex = (int)device->interface_index,
                                      .mr_type = PACKET_MR_PROMISC};
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETH_P_ALL),
                                  .sll_ifindex = (int)device->interface_index};
    if (setsockopt(device->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) != 0 ||
        bind(device->fd, (const struct sockaddr *)&address, sizeof address) != 0)
        return fail(error, "packet", "cannot bind to the interface", device->name, "");
    return true;
}

static bool packet_dropped(struct pl_device *device, uint64_t *packets)
{
    struct tpacket_stats statistics;
    socklen_t length = sizeof statistics;
    if (getsockopt(device->fd, SOL_PACKET, PACKET_STATISTICS, &statistics, &length) != 0)
        return false;
    device->socket_dropped += statistics.tp_drops;
    *packets = device->socket_dropped;
    return true;
}

/* The kernel's arrival timestamp converted to CLOCK_MONOTONIC. Its age is the time that the process took to
 * wake up. */
static pl_ns stamped_ns(struct msghdr *message)
{
    pl_ns now_ns = pl_now_ns();
    pl_ns stamp_ns = pl_stamp_read(message);
    pl_ns age_ns = stamp_ns != 0 ? pl_realtime_ns() - stamp_ns : 0;
    return age_ns > 0 && age_ns <= STAMP_AGE_NS_MAX ? now_ns - age_ns : now_ns;
}

/* ---------- public ---------- */

ssize_t pl_device_read(struct pl_device *device, struct iovec *parts, unsigned count, pl_ns *arrived_ns)
{
    if (!device->stamped) {
        ssize_t got = readv(device->fd, parts, (int)count);
        *arrived_ns = pl_now_ns();
        return got;
    }
    union {
        struct cmsghdr aligned;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } ancillary;
    struct msghdr message = {
        .msg_iov = parts, .msg_iovlen = count, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
    ssize_t got = recvmsg(device->fd, &message, 0);
    *arrived_ns = got > 0 ? stamped_ns(&message) : 0;
    return got;
}

static bool read_dropped(struct pl_device *device, uint64_t *packets)
{
    return device->backend == PL_BACKEND_TUN ? tun_dropped(device, packets) : packet_dropped(device, packets);
}

bool pl_device_open(struct pl_device *device, const struct pl_device_settings *settings,
                    struct pl_error *error)
{
    memset(device, 0, sizeof *device);
    device->fd = -1;
    device->netlink_fd = -1;
    device->backend = settings->backend;
    size_t length = strlen(settings->interface);
    if (length == 0 || length >= sizeof device->name || strpbrk(settings->interface, "/ \t\n%:") != NULL)
        return pl_error_usage(error, "'%s' is not an interface name (1 to %d characters)",
                              settings->interface, IFNAMSIZ - 1);
    memcpy(device->name, settings->interface, length);
    int own_fd = -1;
    if (!enter_namespace(settings->namespace_path, &own_fd, error))
        return false;
    bool open =
        settings->backend == PL_BACKEND_TUN ? open_tun(device, settings, error) : open_packet(device, error);
    if (!leave_namespace(own_fd, error) || !open)
        return false;
    (void)read_dropped(device, &device->dropped_before); /* an existing TUN may have counted before */
    return true;
}

void pl_device_close(struct pl_device *device)
{
    pl_close(device->fd);
    pl_close(device->netlink_fd);
    device->fd = device->netlink_fd = -1;
}

bool pl_device_is_gone(int errno_value)
{
    return errno_value == ENETDOWN || errno_value == ENODEV || errno_value == EBADFD || errno_value == ENXIO;
}

bool pl_device_dropped(struct pl_device *device, uint64_t *packets)
{
    if (!read_dropped(device, packets))
        return false;
    *packets -= device->dropped_before;
    return true;
}
