#include "probe/icmp.h"

#include "base/bytes.h"

enum { V4_REQUEST = 8, V4_REPLY = 0, V6_REQUEST = 128, V6_REPLY = 129, V4_HEADER_BYTES = 20 };

void pl_icmp_write_request(uint8_t *message, size_t payload_bytes, bool v6, uint16_t identifier,
                           uint16_t sequence)
{
    message[0] = v6 ? V6_REQUEST : V4_REQUEST;
    message[1] = 0;
    pl_put16(message + 2, 0);
    pl_put16(message + 4, identifier);
    pl_put16(message + 6, sequence);
    if (!v6)
        pl_put16(message + 2, ~pl_internet_sum(message, PL_ICMP_HEADER_BYTES + payload_bytes, 0));
}

const uint8_t *pl_icmp_reply_payload(const uint8_t *message, size_t bytes, bool v6, bool with_ip_header,
                                     size_t *payload_bytes)
{
    size_t skip = 0;
    if (with_ip_header) {
        if (bytes < V4_HEADER_BYTES || message[0] >> 4 != 4)
            return NULL;
        skip = (size_t)(message[0] & 15) * 4;
        if (skip < V4_HEADER_BYTES)
            return NULL;
    }
    if (bytes < skip + PL_ICMP_HEADER_BYTES || message[skip] != (v6 ? V6_REPLY : V4_REPLY) ||
        message[skip + 1] != 0)
        return NULL;
    *payload_bytes = bytes - skip - PL_ICMP_HEADER_BYTES;
    return message + skip + PL_ICMP_HEADER_BYTES;
}
