#include "adapter/tcp_socket.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/descriptor.h"
#include "base/relaxed.h"

/* The ends of a connection as settings have them; `local` has family AF_UNSPEC where any will do. */
struct ends {
    struct pl_address server;
    struct pl_address local;
};

void pl_adapter_format_endpoint(const char *address, unsigned port, char text[PL_ADAPTER_ENDPOINT_BYTES])
{
    (void)snprintf(text, PL_ADAPTER_ENDPOINT_BYTES, strchr(address, ':') != NULL ? "[%s]:%u" : "%s:%u",
                   address, port);
}

static int parse_ends(const struct pl_adapter_settings *settings, struct ends *ends,
                      struct pl_adapter_error *error)
{
    *ends = (struct ends){.local = {.length = 0}};
    if (!pl_address_parse(settings->address, (uint16_t)settings->port, "", &ends->server, NULL))
        return pl_adapter_fail(error, "connect", "'%s' is not a numeric address", settings->address);
    if (settings->local_address[0] != 0 &&
        !pl_address_parse(settings->local_address, 0, "", &ends->local, NULL))
        return pl_adapter_fail(error, "connect", "'%s' is not a numeric address", settings->local_address);
    return 0;
}

static int connect_socket(int fd, const struct ends *ends, const struct pl_adapter_settings *settings,
                          struct pl_adapter_error *error)
{
    const struct pl_address *local = &ends->local, *server = &ends->server;
    if (local->length != 0 && pl_address_bind(fd, local) != 0)
        return pl_adapter_fail(error, "connect", "cannot send from %s: %s", settings->local_address,
                               strerror(errno));
    if (!pl_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1) || pl_address_connect(fd, server) != 0)
        return pl_adapter_fail(error, "connect", "%s port %u: %s", settings->address, settings->port,
                               strerror(errno));
    return 0;
}

int pl_adapter_connect_tcp(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    struct ends ends;
    if (parse_ends(settings, &ends, error) != 0)
        return -1;
    int fd = socket(pl_address_family(&ends.server), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return pl_adapter_fail(error, "connect", "socket: %s", strerror(errno));
    if (connect_socket(fd, &ends, settings, error) == 0)
        return fd;
    close(fd);
    return -1;
}

bool pl_adapter_has_no_delay(int fd)
{
    return pl_get_option(fd, IPPROTO_TCP, TCP_NODELAY) > 0;
}

/* Libraries connect IPv6 sockets to IPv4 addresses, which the kernel then states as mapped ones. */
static void unmap(struct pl_address *address)
{
    struct sockaddr_in6 ipv6;
    memcpy(&ipv6, &address->storage, sizeof ipv6);
    if (ipv6.sin6_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr))
        return;
    struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = ipv6.sin6_port};
    memcpy(&ipv4.sin_addr, &ipv6.sin6_addr.s6_addr[12], sizeof ipv4.sin_addr);
    memset(address, 0, sizeof *address);
    memcpy(&address->storage, &ipv4, sizeof ipv4);
    address->length = sizeof ipv4;
}

static bool is_connected_to(int fd, const struct pl_address *server)
{
    struct pl_address peer;
    if (!pl_address_of_peer(fd, &peer))
        return false;
    unmap(&peer);
    return pl_address_equal(&peer, server);
}

static bool sends_from(int fd, const struct pl_address *local)
{
    struct pl_address here;
    if (local->length == 0)
        return true;
    if (!pl_address_of_socket(fd, &here))
        return false;
    unmap(&here);
    pl_address_set_port(&here, 0);
    return pl_address_equal(&here, local);
}

/* The next descriptor that `folder`, /proc/self/fd, lists; -1: none is left. */
static int next_descriptor(DIR *folder)
{
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.')
            return (int)strtol(entry->d_name, NULL, 10);
    return -1;
}

int pl_adapter_inspect_sockets(const struct pl_adapter_settings *settings, bool *no_delay,
                               struct pl_adapter_error *error)
{
    struct ends ends;
    unsigned found = 0, elsewhere = 0;
    DIR *folder = parse_ends(settings, &ends, error) == 0 ? opendir("/proc/self/fd") : NULL;
    *no_delay = true;
    for (int fd; folder != NULL && (fd = next_descriptor(folder)) >= 0;) {
        if (!is_connected_to(fd, &ends.server))
            continue;
        found++;
        elsewhere += !sends_from(fd, &ends.local);
        *no_delay = *no_delay && pl_adapter_has_no_delay(fd);
    }
    if (folder != NULL)
        closedir(folder);
    if (found == 0)
        return pl_adapter_fail(error, "connect", "no TCP connection to %s port %u was found",
                               settings->address, settings->port);
    if (elsewhere != 0)
        return pl_adapter_fail(error, "connect", "the library does not send from %s, and cannot be told to",
                               settings->local_address);
    return 0;
}

int pl_adapter_require_no_delay(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    bool no_delay = false;
    if (pl_adapter_inspect_sockets(settings, &no_delay, error) != 0)
        return -1;
    return no_delay ? 0 : pl_adapter_fail(error, "connect", "TCP_NODELAY is off at the responder");
}

/* Whether `fd` is a connection whose own port is `port`. */
static bool was_accepted_at(int fd, unsigned port)
{
    struct pl_address here, peer;
    return pl_address_of_socket(fd, &here) && pl_address_port(&here) == (int64_t)port &&
           pl_address_of_peer(fd, &peer);
}

bool pl_adapter_accepts_no_delay(unsigned port)
{
    static atomic_bool known;
    if (pl_load_relaxed(&known))
        return true;
    DIR *folder = opendir("/proc/self/fd");
    bool no_delay = false;
    for (int fd; !no_delay && folder != NULL && (fd = next_descriptor(folder)) >= 0;)
        no_delay = was_accepted_at(fd, port) && pl_adapter_has_no_delay(fd);
    if (folder != NULL)
        closedir(folder);
    pl_store_relaxed(&known, no_delay);
    return no_delay;
}
