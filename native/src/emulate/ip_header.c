#include "emulate/ip_header.h"

#include "base/bytes.h"

enum {
    IPV4_HEADER_BYTES_MIN = 20,
    IPV4_CHECKSUM_AT = 10,
    IPV6_HEADER_BYTES = 40,
    CLASS_AT = 1, /* IPv4: the octet of DSCP and ECN; IPv6: the octet whose high half is the traffic class's
                   * low half */
    IPV6_CLASS_SHIFT = 4,
    ECN_MASK = 3
};

enum pl_ecn pl_ip_ecn(const unsigned char *ip, size_t bytes)
{
    if (bytes >= IPV4_HEADER_BYTES_MIN && ip[0] >> 4 == 4)
        return (enum pl_ecn)(ip[CLASS_AT] & ECN_MASK);
    if (bytes >= IPV6_HEADER_BYTES && ip[0] >> 4 == 6)
        return (enum pl_ecn)(ip[CLASS_AT] >> IPV6_CLASS_SHIFT & ECN_MASK);
    return PL_ECN_NOT_CAPABLE;
}

void pl_ip_mark_ce(unsigned char *ip)
{
    if (ip[0] >> 4 == 6) {
        ip[CLASS_AT] |= (unsigned char)(PL_ECN_CE << IPV6_CLASS_SHIFT);
        return;
    }
    uint32_t before = pl_get16(ip);
    ip[CLASS_AT] |= PL_ECN_CE;
    uint32_t sum = (~pl_get16(ip + IPV4_CHECKSUM_AT) & 0xffffU) + (~before & 0xffffU) + pl_get16(ip);
    pl_put16(ip + IPV4_CHECKSUM_AT, ~pl_internet_fold(sum));
}
