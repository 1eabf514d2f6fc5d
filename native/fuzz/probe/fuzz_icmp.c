/* Messages that a probe socket receives. Bit 0 of the first byte selects ICMPv6, bit 1 a leading IPv4 header.
 */
#include <string.h>

#include "probe/icmp.h"
#include "property.h"

enum { V4_HEADER_BYTES = 20, MAX_BYTES = 2048 };

/* A request turned into a host's reply is accepted. */
static void check_echo(const uint8_t *payload, size_t bytes, bool v6)
{
    uint8_t message[PL_ICMP_HEADER_BYTES + MAX_BYTES];
    size_t payload_bytes = 0;
    memcpy(message + PL_ICMP_HEADER_BYTES, payload, bytes);
    pl_icmp_write_request(message, bytes, v6, 0x1234, 0xffff);
    REQUIRE(pl_icmp_reply_payload(message, PL_ICMP_HEADER_BYTES + bytes, v6, false, &payload_bytes) == NULL);
    message[0] = v6 ? 129 : 0;
    REQUIRE(pl_icmp_reply_payload(message, PL_ICMP_HEADER_BYTES + bytes, v6, false, &payload_bytes) ==
            message + PL_ICMP_HEADER_BYTES);
    REQUIRE(payload_bytes == bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > MAX_BYTES)
        return 0;
    bool v6 = (data[0] & 1) != 0;
    bool with_ip_header = (data[0] & 2) != 0;
    const uint8_t *message = data + 1;
    size_t bytes = size - 1;
    size_t payload_bytes = 0;
    const uint8_t *payload = pl_icmp_reply_payload(message, bytes, v6, with_ip_header, &payload_bytes);
    if (payload != NULL) {
        size_t headers = PL_ICMP_HEADER_BYTES + (with_ip_header ? (size_t)V4_HEADER_BYTES : 0);
        REQUIRE(payload >= message + headers && payload + payload_bytes == message + bytes);
    }
    check_echo(message, bytes, v6);
    return 0;
}
