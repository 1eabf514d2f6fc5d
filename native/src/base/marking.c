#include "base/marking.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/descriptor.h"

#define ECN_BITS 3

int64_t pl_marking_octet(int fd, int family)
{
    if (family == AF_INET6)
        return pl_get_option(fd, IPPROTO_IPV6, IPV6_TCLASS);
    return family == AF_INET ? pl_get_option(fd, IPPROTO_IP, IP_TOS) : -1;
}

static bool set_octet(int fd, int family, const struct pl_marking *marking, struct pl_error *error)
{
    int64_t before = pl_marking_octet(fd, family);
    if (before < 0)
        before = 0;
    int requested = (int)((marking->dscp >= 0 ? marking->dscp << 2 : before & ~ECN_BITS) |
                          (marking->ecn >= 0 ? marking->ecn : before & ECN_BITS));
    bool v6 = family == AF_INET6;
    if (!pl_set_option(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_TCLASS : IP_TOS, requested))
        return pl_error_set(error, PL_SETUP, "marking", errno, "--dscp or --ecn was refused");
    int64_t kept = pl_marking_octet(fd, family);
    if (marking->ecn >= 0 && (kept & ECN_BITS) != marking->ecn)
        return pl_error_set(
            error, PL_SETUP, "marking", 0,
            "--ecn: the kernel controls the ECN bits of this socket (for TCP see net.ipv4.tcp_ecn)");
    if (marking->dscp >= 0 && kept >> 2 != marking->dscp)
        return pl_error_set(error, PL_SETUP, "marking", 0, "--dscp %lld: the kernel kept %lld instead",
                            (long long)marking->dscp, (long long)(kept >> 2));
    return true;
}

bool pl_marking_apply(int fd, int family, const struct pl_marking *marking, struct pl_error *error)
{
    if (marking->device[0] != 0 &&
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, marking->device, (socklen_t)strlen(marking->device)) != 0)
        return pl_error_set(error, PL_SETUP, "marking", errno, "--device %.20s cannot be used",
                            marking->device);
    if (marking->fwmark >= 0) {
        const uint32_t mark = (uint32_t)marking->fwmark;
        if (setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark) != 0)
            return pl_error_set(error, PL_SETUP, "marking", errno,
                                "--fwmark %lld was refused (it needs CAP_NET_ADMIN)",
                                (long long)marking->fwmark);
    }
    return (marking->dscp < 0 && marking->ecn < 0) || set_octet(fd, family, marking, error);
}
