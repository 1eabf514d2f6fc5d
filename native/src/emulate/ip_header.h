/* What the emulator reads and writes of IP headers: big-endian fields, the Internet checksum, the ECN field.
 */
#ifndef PL_IP_HEADER_H
#define PL_IP_HEADER_H

#include <stddef.h>
#include <stdint.h>

/* The two bits of RFC 3168. */
enum pl_ecn { PL_ECN_NOT_CAPABLE = 0, PL_ECN_ECT1 = 1, PL_ECN_ECT0 = 2, PL_ECN_CE = 3 };

/* The ECN field of the IPv4 or IPv6 header at `ip`, of which `bytes` may be read. PL_ECN_NOT_CAPABLE where
 * this is no whole IP header. */
enum pl_ecn pl_ip_ecn(const unsigned char *ip, size_t bytes);

/* Set CE in a header of which pl_ip_ecn has told the field; the checksum of IPv4 follows (RFC 1624). */
void pl_ip_mark_ce(unsigned char *ip);

#endif
