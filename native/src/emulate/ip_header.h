/* The ECN field of IP headers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The two bits of RFC 3168. */
enum pl_ecn { PL_ECN_NOT_CAPABLE = 0, PL_ECN_ECT1 = 1, PL_ECN_ECT0 = 2, PL_ECN_CE = 3 };

/* The ECN field of the IPv4 or IPv6 header at `ip` with `bytes` readable bytes; PL_ECN_NOT_CAPABLE for
 * anything else. */
enum pl_ecn pl_ip_ecn(const unsigned char *ip, size_t bytes);

/* Set CE in a header that pl_ip_ecn accepts; updates the checksum of IPv4 (RFC 1624). */
void pl_ip_mark_ce(unsigned char *ip);
