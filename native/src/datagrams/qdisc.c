#include "datagrams/qdisc.h"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/netlink_attribute.h"

#define ANSWER_BYTES (16 << 10)
/* For the kernel's answer. */
#define TIMEOUT_S 2

struct request {
    struct nlmsghdr head;
    union {
        struct rtmsg route;
        struct tcmsg qdisc;
    } body;
    uint8_t attributes[64];
};

/* What the answers have said. */
struct found {
    int device; /* interface index; 0: none */
    bool rooted;
    char root[PL_QDISC_KIND_BYTES];
    uint32_t handle; /* of the root */
    char child[PL_QDISC_KIND_BYTES];
};

static void take_route(const struct nlmsghdr *head, struct found *found)
{
    size_t size = 0;
    size_t body = NLMSG_ALIGN(sizeof(struct rtmsg));
    const uint8_t *at = (const uint8_t *)head + NLMSG_HDRLEN;
    const void *device =
        pl_netlink_attribute(at + body, head->nlmsg_len - NLMSG_HDRLEN - body, RTA_OIF, &size);
    if (device != NULL && size == sizeof found->device)
        memcpy(&found->device, device, sizeof found->device);
}

static void take_qdisc(const struct nlmsghdr *head, struct found *found)
{
    struct tcmsg qdisc;
    size_t size = 0;
    size_t body = NLMSG_ALIGN(sizeof qdisc);
    const uint8_t *at = (const uint8_t *)head + NLMSG_HDRLEN;
    memcpy(&qdisc, at, sizeof qdisc);
    const void *kind =
        pl_netlink_attribute(at + body, head->nlmsg_len - NLMSG_HDRLEN - body, TCA_KIND, &size);
    if (qdisc.tcm_ifindex != found->device || kind == NULL || size == 0)
        return;
    bool root = qdisc.tcm_parent == TC_H_ROOT;
    bool child = found->rooted && TC_H_MAJ(qdisc.tcm_parent) == found->handle && found->child[0] == 0;
    char *into = root ? found->root : child ? found->child : NULL;
    if (into != NULL)
        memcpy(into, kind, size < PL_QDISC_KIND_BYTES ? size : PL_QDISC_KIND_BYTES - 1);
    if (root) {
        found->rooted = true;
        found->handle = TC_H_MAJ(qdisc.tcm_handle);
    }
}

/* Takes the messages of one answer; false at the end of a dump, after a single answer, and after an error. */
static bool take_answer(const uint8_t *bytes, size_t count, struct found *found)
{
    bool more = false;
    while (count >= sizeof(struct nlmsghdr)) {
        const struct nlmsghdr *head = (const struct nlmsghdr *)(const void *)bytes;
        if (head->nlmsg_len < sizeof *head || head->nlmsg_len > count || head->nlmsg_type == NLMSG_DONE ||
            head->nlmsg_type == NLMSG_ERROR)
            return false;
        size_t size = head->nlmsg_len - NLMSG_HDRLEN;
        if (head->nlmsg_type == RTM_NEWROUTE && size >= sizeof(struct rtmsg))
            take_route(head, found);
        else if (head->nlmsg_type == RTM_NEWQDISC && size >= sizeof(struct tcmsg))
            take_qdisc(head, found);
        more = (head->nlmsg_flags & NLM_F_MULTI) != 0;
        size_t step = NLMSG_ALIGN(head->nlmsg_len);
        if (step >= count)
            break;
        bytes += step;
        count -= step;
    }
    return more;
}

static bool ask(int netlink, struct request *request, struct found *found)
{
    alignas(struct nlmsghdr) uint8_t answer[ANSWER_BYTES];
    const ssize_t size = (ssize_t)request->head.nlmsg_len;
    if (send(netlink, request, request->head.nlmsg_len, MSG_NOSIGNAL) != size)
        return false;
    ssize_t count;
    do
        count = recv(netlink, answer, sizeof answer, 0);
    while (count > 0 && take_answer(answer, (size_t)count, found));
    return count > 0;
}

static bool ask_route(int netlink, const struct pl_address *peer, struct found *found)
{
    struct request request = {.head = {.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST}};
    bool v6 = pl_address_family(peer) == AF_INET6;
    const void *address = v6 ? (const void *)&((const struct sockaddr_in6 *)&peer->storage)->sin6_addr
                             : (const void *)&((const struct sockaddr_in *)&peer->storage)->sin_addr;
    unsigned char bytes = v6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);
    request.body.route = (struct rtmsg){.rtm_family = (unsigned char)pl_address_family(peer),
                                        .rtm_dst_len = (unsigned char)(bytes * 8)};
    const struct rtattr head = {.rta_type = RTA_DST, .rta_len = (unsigned short)RTA_LENGTH(bytes)};
    uint8_t *at = (uint8_t *)&request.body + NLMSG_ALIGN(sizeof(struct rtmsg));
    memcpy(at, &head, sizeof head);
    memcpy(at + RTA_LENGTH(0), address, bytes);
    request.head.nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof(struct rtmsg)) + RTA_LENGTH(bytes));
    return ask(netlink, &request, found) && found->device > 0;
}

static bool ask_qdiscs(int netlink, struct found *found)
{
    struct request request = {
        .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
                 .nlmsg_type = RTM_GETQDISC,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .body.qdisc = {.tcm_family = AF_UNSPEC, .tcm_ifindex = found->device},
    };
    return ask(netlink, &request, found) && found->rooted;
}

bool pl_qdisc_find(int fd, struct pl_qdisc *qdisc)
{
    struct pl_address peer;
    struct found found = {.device = 0};
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    char bound[IF_NAMESIZE] = "";
    socklen_t length = sizeof bound;
    if (!pl_address_of_peer(fd, &peer))
        return false;
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (netlink < 0)
        return false;
    (void)setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    if (getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, bound, &length) == 0 && bound[0] != 0)
        found.device = (int)if_nametoindex(bound);
    bool known = (found.device > 0 || ask_route(netlink, &peer, &found)) && ask_qdiscs(netlink, &found);
    (void)close(netlink);
    memset(qdisc, 0, sizeof *qdisc);
    if (!known || if_indextoname((unsigned)found.device, qdisc->device) == NULL)
        return false;
    memcpy(qdisc->kind, found.child[0] != 0 ? found.child : found.root, sizeof qdisc->kind);
    return true;
}
