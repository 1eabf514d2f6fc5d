#include "base/address.h"

#include <arpa/inet.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

static bool parse_v6(const char *text, uint16_t port, struct pl_address *address)
{
    char bare[INET6_ADDRSTRLEN];
    const char *zone = strchr(text, '%');
    size_t length = zone != NULL ? (size_t)(zone - text) : strlen(text);
    if (length >= sizeof bare)
        return false;
    memcpy(bare, text, length);
    bare[length] = 0;
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (inet_pton(AF_INET6, bare, &v6.sin6_addr) != 1)
        return false;
    if (zone != NULL) {
        v6.sin6_scope_id = if_nametoindex(zone + 1);
        if (v6.sin6_scope_id == 0)
            return false;
    }
    memcpy(&address->storage, &v6, sizeof v6);
    address->length = sizeof v6;
    return true;
}

bool pl_address_parse(const char *text, uint16_t port, const char *flag, struct pl_address *address,
                      struct pl_error *error)
{
    memset(address, 0, sizeof *address);
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        memcpy(&address->storage, &v4, sizeof v4);
        address->length = sizeof v4;
        return true;
    }
    if (parse_v6(text, port, address))
        return true;
    const char *zone = strchr(text, '%');
    if (zone != NULL && strchr(text, ':') != NULL && if_nametoindex(zone + 1) == 0) {
        pl_error_set(error, PL_USAGE, "options", 0, "--%s: '%.60s' names an unknown interface: see ip link",
                     flag, text);
        return false;
    }
    pl_error_set(error, PL_USAGE, "options", 0, "--%s: '%.60s' is not a numeric IPv4 or IPv6 address", flag,
                 text);
    return false;
}

int pl_address_family(const struct pl_address *address)
{
    return address->storage.ss_family;
}

int64_t pl_address_port(const struct pl_address *address)
{
    switch (address->storage.ss_family) {
    case AF_INET:
        return ntohs(((const struct sockaddr_in *)&address->storage)->sin_port);
    case AF_INET6:
        return ntohs(((const struct sockaddr_in6 *)&address->storage)->sin6_port);
    case AF_VSOCK:
        return ((const struct sockaddr_vm *)&address->storage)->svm_port;
    default:
        return -1;
    }
}

void pl_address_clear_port(struct pl_address *address)
{
    if (address->storage.ss_family == AF_INET)
        ((struct sockaddr_in *)&address->storage)->sin_port = 0;
    else if (address->storage.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&address->storage)->sin6_port = 0;
}

static void format_unix(const struct pl_address *address, char text[PL_ADDRESS_TEXT_BYTES])
{
    const struct sockaddr_un *unix_address = (const struct sockaddr_un *)&address->storage;
    size_t length = address->length - offsetof(struct sockaddr_un, sun_path);
    bool abstract = length > 0 && unix_address->sun_path[0] == 0;
    (void)snprintf(text, PL_ADDRESS_TEXT_BYTES, "%s%.*s", abstract ? "@" : "",
                   (int)(abstract ? length - 1 : length), unix_address->sun_path + (abstract ? 1 : 0));
}

/* A link-local address is useless without its zone. */
static void append_zone(const struct sockaddr_in6 *v6, char text[PL_ADDRESS_TEXT_BYTES])
{
    char name[IF_NAMESIZE];
    if (v6->sin6_scope_id == 0)
        return;
    size_t length = strlen(text);
    if (if_indextoname(v6->sin6_scope_id, name) != NULL)
        (void)snprintf(text + length, PL_ADDRESS_TEXT_BYTES - length, "%%%s", name);
    else
        (void)snprintf(text + length, PL_ADDRESS_TEXT_BYTES - length, "%%%u", v6->sin6_scope_id);
}

void pl_address_text(const struct pl_address *address, char text[PL_ADDRESS_TEXT_BYTES])
{
    const void *bytes = &((const struct sockaddr_in *)&address->storage)->sin_addr;
    switch (address->storage.ss_family) {
    case AF_UNIX:
        format_unix(address, text);
        return;
    case AF_VSOCK:
        if (((const struct sockaddr_vm *)&address->storage)->svm_cid == VMADDR_CID_ANY)
            (void)snprintf(text, PL_ADDRESS_TEXT_BYTES, "any");
        else
            (void)snprintf(text, PL_ADDRESS_TEXT_BYTES, "%u",
                           ((const struct sockaddr_vm *)&address->storage)->svm_cid);
        return;
    case AF_INET6:
        bytes = &((const struct sockaddr_in6 *)&address->storage)->sin6_addr;
        break;
    default:
        break;
    }
    if (inet_ntop(address->storage.ss_family, bytes, text, PL_ADDRESS_TEXT_BYTES) == NULL)
        (void)snprintf(text, PL_ADDRESS_TEXT_BYTES, "?");
    else if (address->storage.ss_family == AF_INET6)
        append_zone((const struct sockaddr_in6 *)&address->storage, text);
}

bool pl_address_of_socket(int fd, struct pl_address *address)
{
    memset(address, 0, sizeof *address);
    address->length = sizeof address->storage;
    return getsockname(fd, (struct sockaddr *)&address->storage, &address->length) == 0;
}

bool pl_address_of_peer(int fd, struct pl_address *address)
{
    memset(address, 0, sizeof *address);
    address->length = sizeof address->storage;
    return getpeername(fd, (struct sockaddr *)&address->storage, &address->length) == 0;
}

bool pl_address_equal(const struct pl_address *a, const struct pl_address *b)
{
    char text_a[PL_ADDRESS_TEXT_BYTES];
    char text_b[PL_ADDRESS_TEXT_BYTES];
    pl_address_text(a, text_a);
    pl_address_text(b, text_b);
    return pl_address_family(a) == pl_address_family(b) && pl_address_port(a) == pl_address_port(b) &&
           strcmp(text_a, text_b) == 0;
}
