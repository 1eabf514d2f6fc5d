#include "base/address.h"

#include <arpa/inet.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum v6_fault { V6_NONE, V6_OTHER_TEXT, V6_WITHOUT_ZONE, V6_UNKNOWN_ZONE };

/* The zone as a name or as the number of an interface of this host; 0: it has none of that name. */
static uint32_t find_zone(const char *zone)
{
    char name[IF_NAMESIZE];
    char *end;
    uint32_t index = if_nametoindex(zone);
    if (index != 0)
        return index;
    unsigned long number = strtoul(zone, &end, 10);
    return *end == 0 && number <= UINT32_MAX && if_indextoname((uint32_t)number, name) != NULL
               ? (uint32_t)number
               : 0;
}

static enum v6_fault parse_v6(const char *text, uint16_t port, struct pl_address *address)
{
    char bare[INET6_ADDRSTRLEN + 1 + IF_NAMESIZE];
    size_t length = strlen(text);
    if (length > 1 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (length >= sizeof bare)
        return V6_OTHER_TEXT;
    memcpy(bare, text, length);
    bare[length] = 0;
    char *zone = strchr(bare, '%');
    if (zone != NULL)
        *zone++ = 0;
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (inet_pton(AF_INET6, bare, &v6.sin6_addr) != 1)
        return V6_OTHER_TEXT;
    if (zone == NULL && IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr))
        return V6_WITHOUT_ZONE;
    if (zone != NULL) {
        v6.sin6_scope_id = find_zone(zone);
        if (v6.sin6_scope_id == 0)
            return V6_UNKNOWN_ZONE;
    }
    memcpy(&address->storage, &v6, sizeof v6);
    address->length = sizeof v6;
    return V6_NONE;
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
    switch (parse_v6(text, port, address)) {
    case V6_NONE:
        return true;
    case V6_WITHOUT_ZONE:
        return pl_error_usage(
            error, "--%s: '%.60s' is a link-local address: add the interface, such as fe80::1%%eth0", flag,
            text);
    case V6_UNKNOWN_ZONE:
        return pl_error_usage(error,
                              "--%s: '%.60s' names no interface of this host: add one of ip link, such as "
                              "fe80::1%%eth0",
                              flag, text);
    case V6_OTHER_TEXT:
        break;
    }
    return pl_error_usage(error, "--%s: '%.60s' is not a numeric IPv4 or IPv6 address", flag, text);
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

void pl_address_set_port(struct pl_address *address, uint16_t port)
{
    if (address->storage.ss_family == AF_INET)
        ((struct sockaddr_in *)&address->storage)->sin_port = htons(port);
    else if (address->storage.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&address->storage)->sin6_port = htons(port);
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

const char *pl_address_text(const struct pl_address *address, char text[PL_ADDRESS_TEXT_BYTES])
{
    const void *bytes = &((const struct sockaddr_in *)&address->storage)->sin_addr;
    switch (address->storage.ss_family) {
    case AF_UNIX:
        format_unix(address, text);
        return text;
    case AF_VSOCK:
        if (((const struct sockaddr_vm *)&address->storage)->svm_cid == VMADDR_CID_ANY)
            (void)snprintf(text, PL_ADDRESS_TEXT_BYTES, "any");
        else
            (void)snprintf(text, PL_ADDRESS_TEXT_BYTES, "%u",
                           ((const struct sockaddr_vm *)&address->storage)->svm_cid);
        return text;
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
    return text;
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

int pl_address_bind(int fd, const struct pl_address *address)
{
    return bind(fd, (const struct sockaddr *)&address->storage, address->length);
}

int pl_address_connect(int fd, const struct pl_address *address)
{
    return connect(fd, (const struct sockaddr *)&address->storage, address->length);
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
