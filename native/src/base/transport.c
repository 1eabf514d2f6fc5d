#include "base/transport.h"

#include <errno.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/options.h"
#include "base/resolve.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif
/* From <linux/mptcp.h>, which older systems lack: the option, the flag in struct mptcp_info and its offset.
 */
#define MPTCP_INFO_OPTION 1
#define MPTCP_INFO_FALLBACK 1U
#define MPTCP_INFO_FLAGS_AT 8
#ifndef IPPROTO_SCTP
#define IPPROTO_SCTP 132
#endif

static const char *const names[PL_TRANSPORTS] = {"tcp", "mptcp", "unix", "sctp", "vsock"};

const char *pl_transport_name(enum pl_transport transport)
{
    return transport < PL_TRANSPORTS ? names[transport] : "?";
}

static bool parse_unix(const char *text, const char *flag, struct pl_address *address, struct pl_error *error)
{
    struct sockaddr_un unix_address = {.sun_family = AF_UNIX};
    size_t length = strlen(text);
    /* One byte is reserved for the end of a path. */
    if (length == 0 || (text[0] == '@' && length == 1) || length >= sizeof unix_address.sun_path)
        return pl_error_usage(error,
                              "--%s: '%.60s' is not a path of a Unix socket (1 to %zu bytes, or @NAME)", flag,
                              text, sizeof unix_address.sun_path - 1);
    memcpy(unix_address.sun_path, text, length);
    if (text[0] == '@')
        unix_address.sun_path[0] = 0;
    memset(address, 0, sizeof *address);
    memcpy(&address->storage, &unix_address, sizeof unix_address);
    address->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (text[0] == '@' ? 0 : 1));
    return true;
}

static bool parse_vsock(const char *text, uint16_t port, const char *flag, struct pl_address *address,
                        struct pl_error *error)
{
    int64_t cid = (int64_t)VMADDR_CID_ANY;
    const bool any = strcmp(text, PL_ANY_ADDRESS) == 0;
    if (!any && !pl_parse_int64(text, 0, UINT32_MAX, &cid))
        return pl_error_usage(error, "--%s: '%.40s' is not a vsock context id", flag, text);
    struct sockaddr_vm vsock = {.svm_family = AF_VSOCK,
                                .svm_cid = (unsigned)cid,
                                .svm_port = port == 0 ? (unsigned)VMADDR_PORT_ANY : port};
    memset(address, 0, sizeof *address);
    memcpy(&address->storage, &vsock, sizeof vsock);
    address->length = sizeof vsock;
    return true;
}

bool pl_transport_address(enum pl_transport transport, const char *text, uint16_t port, const char *flag,
                          struct pl_address *address, struct pl_error *error)
{
    if (transport == PL_UNIX)
        return parse_unix(text, flag, address, error);
    if (transport == PL_VSOCK)
        return parse_vsock(text, port, flag, address, error);
    return pl_resolve(text, port, flag, address, error);
}

static int protocol_of(enum pl_transport transport)
{
    switch (transport) {
    case PL_TCP:
        return IPPROTO_TCP;
    case PL_MPTCP:
        return IPPROTO_MPTCP;
    case PL_SCTP:
        return IPPROTO_SCTP;
    case PL_UNIX:
    case PL_VSOCK:
    case PL_TRANSPORTS:
        break;
    }
    return 0;
}

int pl_transport_socket(enum pl_transport transport, int family, struct pl_error *error)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol_of(transport));
    if (fd >= 0)
        return fd;
    int cause = errno;
    bool lacking = cause == EPROTONOSUPPORT || cause == EAFNOSUPPORT || cause == ESOCKTNOSUPPORT ||
                   cause == ENOPROTOOPT || cause == EINVAL;
    if (lacking && transport != PL_TCP)
        pl_error_set(error, PL_SETUP, "socket", cause,
                     "this kernel has no %s (or its module is not loaded): choose another --transport",
                     pl_transport_name(transport));
    else
        pl_error_set(error, pl_errno_is_exhaustion(cause) ? PL_RESOURCES : PL_SETUP, "socket", cause,
                     "cannot open a %s socket", pl_transport_name(transport));
    return -1;
}

/* False with errno set where the socket does not use MPTCP. */
static bool read_mptcp_flags(int fd, uint32_t *flags)
{
    unsigned char info[128] = {0};
    socklen_t length = sizeof info;
    if (getsockopt(fd, SOL_MPTCP, MPTCP_INFO_OPTION, info, &length) != 0)
        return false;
    memcpy(flags, info + MPTCP_INFO_FLAGS_AT, sizeof *flags);
    return true;
}

/* Whether this kernel reports if a socket uses MPTCP. */
static bool kernel_reports_mptcp(void)
{
    uint32_t flags = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
    if (fd < 0)
        return false;
    bool reports = read_mptcp_flags(fd, &flags);
    (void)close(fd);
    return reports;
}

enum pl_transport pl_transport_in_use(enum pl_transport requested, int fd)
{
    uint32_t flags = 0;
    if (requested != PL_MPTCP)
        return requested;
    if (read_mptcp_flags(fd, &flags))
        return (flags & MPTCP_INFO_FALLBACK) != 0 ? PL_TCP : PL_MPTCP;
    return kernel_reports_mptcp() ? PL_TCP : PL_MPTCP;
}

bool pl_transport_is_tcp(enum pl_transport transport)
{
    return transport == PL_TCP || transport == PL_MPTCP;
}
