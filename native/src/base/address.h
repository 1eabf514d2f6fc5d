/* Socket addresses: parses numeric IPv4 and IPv6 ones, and formats those of every transport. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

/* All addresses of this host, of IPv4 and IPv6: the default of --bind where an end listens. */
#define PL_ANY_ADDRESS "any"

#define PL_ADDRESS_TEXT_BYTES 112 /* the path of a Unix socket is the longest */

struct pl_address {
    struct sockaddr_storage storage;
    socklen_t length;
};

/* Numeric text ("10.0.0.2", "fe80::1%eth0") and a port. `flag` names the flag in the usage error. */
bool pl_address_parse(const char *text, uint16_t port, const char *flag, struct pl_address *address,
                      struct pl_error *error);
int pl_address_family(const struct pl_address *address);
/* -1 for a family that has no ports. */
int64_t pl_address_port(const struct pl_address *address);
/* Of an address of IP; 0: any. */
void pl_address_set_port(struct pl_address *address, uint16_t port);
/* Returns `text`. */
const char *pl_address_text(const struct pl_address *address, char text[PL_ADDRESS_TEXT_BYTES]);

/* The socket's own address and its peer's; false when there is none. */
bool pl_address_of_socket(int fd, struct pl_address *address);
bool pl_address_of_peer(int fd, struct pl_address *address);
/* bind(2) and connect(2). */
int pl_address_bind(int fd, const struct pl_address *address);
int pl_address_connect(int fd, const struct pl_address *address);
/* Same family, address and port. */
bool pl_address_equal(const struct pl_address *a, const struct pl_address *b);
