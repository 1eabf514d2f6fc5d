#include "capture/interfaces.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/netlink_attribute.h"

enum { ANSWER_BYTES = 32 << 10, TIMEOUT_S = 2 };
static const char STAGE[] = "interface";

int pl_interfaces_index(const struct pl_interfaces *interfaces, unsigned index)
{
    for (size_t i = 0; i < interfaces->count; i++)
        if (interfaces->list[i].index == index)
            return (int)i;
    return -1;
}

/* Adds one that is not in the list yet; `flags` are those of the interface. */
static bool add(struct pl_interfaces *interfaces, const char *name, unsigned flags, struct pl_error *error)
{
    unsigned index = if_nametoindex(name);
    if (index == 0)
        return pl_error_set(error, PL_SETUP, STAGE, errno, "no interface '%.40s' (`ip link` lists them)",
                            name);
    if (pl_interfaces_index(interfaces, index) >= 0)
        return true;
    if (interfaces->count == PL_INTERFACES_MAX)
        return pl_error_set(error, PL_SETUP, STAGE, 0, "more than %d interfaces: name some by --interface",
                            PL_INTERFACES_MAX);
    struct pl_interface *added = &interfaces->list[interfaces->count++];
    *added = (struct pl_interface){.index = index, .loopback = (flags & IFF_LOOPBACK) != 0};
    (void)if_indextoname(index, added->name);
    return true;
}

static bool add_named(struct pl_interfaces *interfaces, const char *names, int fd, struct pl_error *error)
{
    interfaces->named = true;
    for (const char *name = names; name != NULL;) {
        struct ifreq request = {0};
        const char *comma = strchr(name, ',');
        size_t bytes = comma == NULL ? strlen(name) : (size_t)(comma - name);
        if (bytes == 0 || bytes >= sizeof request.ifr_name)
            return pl_error_usage(error,
                                  "--interface '%.60s': names of 1 to %d characters, separated by commas",
                                  names, IFNAMSIZ - 1);
        memcpy(request.ifr_name, name, bytes);
        unsigned flags = ioctl(fd, SIOCGIFFLAGS, &request) == 0 ? (unsigned short)request.ifr_flags : 0;
        memset(&request.ifr_ifru, 0, sizeof request.ifr_ifru);
        if (!add(interfaces, request.ifr_name, flags, error))
            return false;
        name = comma == NULL ? NULL : comma + 1;
    }
    return true;
}

/* Whether the kernel's answer is of a member of a bridge, a bond or the like, which hands its packets on to
 * that. A member of a VRF has its address itself. */
static bool is_member(const uint8_t *answer, size_t count)
{
    const size_t body = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(struct ifinfomsg)));
    const struct nlmsghdr *head = (const struct nlmsghdr *)(const void *)answer;
    size_t size = 0;
    if (count < body || head->nlmsg_type != RTM_NEWLINK || head->nlmsg_len < body || head->nlmsg_len > count)
        return false;
    const void *about = pl_netlink_attribute(answer + body, head->nlmsg_len - body, IFLA_LINKINFO, &size);
    const char *kind = about == NULL ? NULL : pl_netlink_attribute(about, size, IFLA_INFO_SLAVE_KIND, &size);
    return kind != NULL && !(size >= 3 && memcmp(kind, "vrf", 3) == 0);
}

/* Where the kernel does not answer, an interface is taken to be none. */
static bool has_master(const char *name)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg link;
    } request = {
        .head = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
        .link = {.ifi_index = (int)if_nametoindex(name)}};
    alignas(struct nlmsghdr) uint8_t answer[ANSWER_BYTES];
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (netlink < 0)
        return false;
    (void)setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    ssize_t count = -1;
    if (send(netlink, &request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request)
        count = recv(netlink, answer, sizeof answer, 0);
    (void)close(netlink);
    return count > 0 && is_member(answer, (size_t)count);
}

static bool is_link_local(const struct sockaddr *address)
{
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static bool add_addressed(struct pl_interfaces *interfaces, struct pl_error *error)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0)
        return pl_error_set(error, PL_SETUP, STAGE, errno, "cannot list the interfaces");
    bool fits = true;
    for (const struct ifaddrs *at = all; at != NULL && fits; at = at->ifa_next) {
        int family = at->ifa_addr == NULL ? AF_UNSPEC : at->ifa_addr->sa_family;
        /* The kernel gives ports of a bridge such an address too; their packets are seen at the bridge. */
        if ((family == AF_INET || family == AF_INET6) &&
            !(is_link_local(at->ifa_addr) && has_master(at->ifa_name)))
            fits = add(interfaces, at->ifa_name, at->ifa_flags, error);
    }
    freeifaddrs(all);
    if (fits && interfaces->count == 0)
        pl_error_set(error, PL_SETUP, STAGE, 0, "no interface has an address (`ip address` lists them)");
    return fits && interfaces->count > 0;
}

bool pl_interfaces_find(const char *names, struct pl_interfaces *interfaces, struct pl_error *error)
{
    memset(interfaces, 0, sizeof *interfaces);
    if (names[0] == 0)
        return add_addressed(interfaces, error);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return pl_error_set(error, PL_RESOURCES, STAGE, errno, "cannot open a socket to read the interfaces");
    bool found = add_named(interfaces, names, fd, error);
    (void)close(fd);
    return found;
}
