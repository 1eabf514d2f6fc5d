/* The ECN field of IPv4 and IPv6: reading and marking. */
#include "check.h"
#include "emulate/ip_header.h"
#include "emulate/packets.h"

/* Every octet: CE is set, nothing else changes, the checksum stays valid. */
static void check_marks(void)
{
    for (unsigned octet = 0; octet < 256; octet++) {
        unsigned char ip[20];
        memset(ip, 0, sizeof ip);
        ip[0] = 0x45;
        ip[1] = (unsigned char)octet;
        put(ip + 2, 1500 + octet, 2);
        ip[8] = 64;
        ip[9] = 6;
        put(ip + 12, 0x0a000001 * (octet + 1), 4);
        put(ip + 10, 0xffffU - ones_sum(ip, sizeof ip), 2);
        CHECK_EQUAL(pl_ip_ecn(ip, sizeof ip), octet & 3);
        pl_ip_mark_ce(ip);
        CHECK_EQUAL(ip[1], octet | 3);
        CHECK_EQUAL(ones_sum(ip, sizeof ip) % 0xffff, 0);

        unsigned char ip6[40];
        memset(ip6, 0xa5, sizeof ip6);
        put(ip6, 0x60000000U | octet << 20 | 0xbeef5U, 4);
        CHECK_EQUAL(pl_ip_ecn(ip6, sizeof ip6), octet & 3);
        pl_ip_mark_ce(ip6);
        CHECK_EQUAL(get(ip6, 4), 0x60000000U | (octet | 3U) << 20 | 0xbeef5U);
        CHECK_EQUAL(pl_ip_ecn(ip6, 39), PL_ECN_NOT_CAPABLE);
        CHECK_EQUAL(pl_ip_ecn(ip, 19), PL_ECN_NOT_CAPABLE);
    }
    static const unsigned char arp[28] = {0, 1, 8, 0, 6, 4, 0, 1};
    CHECK_EQUAL(pl_ip_ecn(arp, sizeof arp), PL_ECN_NOT_CAPABLE);
}

int main(void)
{
    check_marks();
    CHECK_RETURN();
}
