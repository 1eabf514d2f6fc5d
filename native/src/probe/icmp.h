/* ICMP and ICMPv6 echo messages as bytes. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PL_ICMP_HEADER_BYTES 8

/* Writes the header of an echo request before the `payload_bytes` bytes at message + PL_ICMP_HEADER_BYTES.
 * Computes the checksum for IPv4; for IPv6 the kernel does it. */
void pl_icmp_write_request(uint8_t *message, size_t payload_bytes, bool v6, uint16_t identifier,
                           uint16_t sequence);

/* The payload of an echo reply; NULL for another or a too short message. `with_ip_header`: the message begins
 * with an IPv4 header, as raw sockets deliver it. */
const uint8_t *pl_icmp_reply_payload(const uint8_t *message, size_t bytes, bool v6, bool with_ip_header,
                                     size_t *payload_bytes);
