/* Which packets the filter records, and how much of them: its program, run by an interpreter of the kernel's
 * classic BPF. */
#include "check.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "capture/packet_filter.h"

enum { ETHERNET = 4, LOOPBACK = 1, WHOLE_BYTES = 1500, TCP = 6, UDP = 17, SCTP = 132, ICMP = 1 };

/* A packet as a socket without a link header sees it, and what the kernel knows of it. */
struct packet {
    uint8_t bytes[WHOLE_BYTES];
    uint32_t length;
    uint32_t ethertype;
    uint32_t interface;
    uint32_t type;
    uint32_t vlan; /* 0: no tag; else its TCI plus 0x10000 */
};

static struct pl_interfaces interfaces = {
    .list = {{.index = LOOPBACK, .name = "lo", .loopback = true}, {.index = ETHERNET, .name = "eth0"}},
    .count = 2,
};

static bool load(const struct packet *packet, uint32_t size, uint32_t at, uint32_t *value)
{
    switch ((int32_t)at) {
    case SKF_AD_OFF + SKF_AD_PROTOCOL:
        *value = packet->ethertype;
        return true;
    case SKF_AD_OFF + SKF_AD_PKTTYPE:
        *value = packet->type;
        return true;
    case SKF_AD_OFF + SKF_AD_IFINDEX:
        *value = packet->interface;
        return true;
    case SKF_AD_OFF + SKF_AD_VLAN_TAG:
        *value = packet->vlan & 0xffff;
        return true;
    case SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT:
        *value = packet->vlan != 0;
        return true;
    default:
        break;
    }
    uint32_t bytes = size == BPF_W ? 4 : size == BPF_H ? 2 : 1;
    if (at > packet->length || bytes > packet->length - at)
        return false;
    *value = bytes == 4   ? pl_get32(packet->bytes + at)
             : bytes == 2 ? pl_get16(packet->bytes + at)
                          : packet->bytes[at];
    return true;
}

static bool holds(const struct sock_filter *at, uint32_t a)
{
    switch (BPF_OP(at->code)) {
    case BPF_JEQ:
        return a == at->k;
    case BPF_JGT:
        return a > at->k;
    default:
        return (a & at->k) != 0; /* BPF_JSET */
    }
}

/* The bytes that are recorded. -1: the program is wrong. */
static int64_t interpret(const struct sock_filter *program, size_t count, const struct packet *packet)
{
    uint32_t a = 0;
    uint32_t x = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sock_filter *at = &program[i];
        switch (at->code) {
        case BPF_LD | BPF_IMM:
            a = at->k;
            break;
        case BPF_LDX | BPF_IMM:
            x = at->k;
            break;
        case BPF_LDX | BPF_B | BPF_MSH:
            if (!load(packet, BPF_B, at->k, &x))
                return 0;
            x = 4 * (x & 15);
            break;
        case BPF_LD | BPF_W | BPF_ABS:
        case BPF_LD | BPF_H | BPF_ABS:
        case BPF_LD | BPF_B | BPF_ABS:
            if (!load(packet, BPF_SIZE(at->code), at->k, &a))
                return 0;
            break;
        case BPF_LD | BPF_H | BPF_IND:
        case BPF_LD | BPF_B | BPF_IND:
            if (!load(packet, BPF_SIZE(at->code), x + at->k, &a))
                return 0;
            break;
        case BPF_ALU | BPF_ADD | BPF_X:
            a += x;
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= at->k;
            break;
        case BPF_ALU | BPF_RSH | BPF_K:
            a >>= at->k;
            break;
        case BPF_JMP | BPF_JA:
            i += at->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
        case BPF_JMP | BPF_JGT | BPF_K:
        case BPF_JMP | BPF_JSET | BPF_K:
            i += holds(at, a) ? at->jt : at->jf;
            break;
        case BPF_RET | BPF_K:
            return at->k < packet->length ? at->k : packet->length;
        case BPF_RET | BPF_A:
            return a < packet->length ? a : packet->length;
        default:
            return -1;
        }
    }
    return -1;
}

static int64_t record(const struct pl_packet_filter *filter, const struct packet *packet)
{
    static struct sock_filter program[PL_FILTER_INSTRUCTIONS_MAX];
    size_t count = pl_packet_filter_build(filter, program);
    CHECK(count <= PL_FILTER_INSTRUCTIONS_MAX);
    return interpret(program, count, packet);
}

static void add_address(struct pl_filter_addresses *addresses, const char *text)
{
    struct pl_error error = {0};
    CHECK(pl_address_parse(text, 0, "address", &addresses->list[addresses->count++], &error));
}

static struct pl_packet_filter make_filter(void)
{
    struct pl_packet_filter filter = {
        .tcp = true, .interfaces = &interfaces, .snap_bytes = 128, .udp_payload_bytes = 16};
    return filter;
}

/* A packet of WHOLE_BYTES with these ports; `header_words` are those of IPv4 and TCP. */
static struct packet make_ipv4(uint32_t protocol, const uint8_t ends[2], unsigned source,
                               unsigned destination, unsigned ip_words, unsigned tcp_words)
{
    struct packet packet = {.length = WHOLE_BYTES, .ethertype = ETH_P_IP, .interface = ETHERNET};
    uint8_t *transport = packet.bytes + (size_t)(4 * ip_words);
    packet.bytes[0] = (uint8_t)(0x40 | ip_words);
    packet.bytes[9] = (uint8_t)protocol;
    pl_put32(packet.bytes + 12, 0x0a090000U + ends[0]);
    pl_put32(packet.bytes + 16, 0x0a090000U + ends[1]);
    pl_put16(transport, source);
    pl_put16(transport + 2, destination);
    transport[12] = (uint8_t)(tcp_words << 4);
    return packet;
}

static struct packet make_tcp(unsigned source, unsigned destination)
{
    return make_ipv4(TCP, (const uint8_t[]){1, 2}, source, destination, 5, 8);
}

static void check_headers_alone_are_recorded(void)
{
    static const uint8_t ends[] = {1, 2};
    struct pl_packet_filter filter = make_filter();
    struct packet packet = make_tcp(5210, 40000);
    CHECK_EQUAL(record(&filter, &packet), 20 + 32);
    packet = make_ipv4(TCP, ends, 1, 2, 15, 15); /* all options of both */
    CHECK_EQUAL(record(&filter, &packet), 60 + 60);
    filter.snap_bytes = 100;
    CHECK_EQUAL(record(&filter, &packet), 100);
    packet.length = 60 + 40; /* a packet that is shorter than its header says */
    CHECK_EQUAL(record(&filter, &packet), 100);
    packet.length = 60 + 8;
    CHECK_EQUAL(record(&filter, &packet), 0);
    filter.udp = filter.sctp = true;
    packet = make_ipv4(UDP, ends, 1, 2, 5, 0);
    CHECK_EQUAL(record(&filter, &packet), 20 + 8 + 16);
    packet = make_ipv4(SCTP, ends, 1, 2, 5, 0);
    CHECK_EQUAL(record(&filter, &packet), 20 + 12);
    packet = make_ipv4(ICMP, ends, 1, 2, 5, 0);
    CHECK_EQUAL(record(&filter, &packet), 0);
    filter.tcp = false;
    packet = make_tcp(5210, 40000);
    CHECK_EQUAL(record(&filter, &packet), 0);
    packet.ethertype = ETH_P_ARP;
    CHECK_EQUAL(record(&filter, &packet), 0);
}

static void check_ports(void)
{
    static const uint8_t ends[] = {1, 2};
    struct pl_packet_filter filter = make_filter();
    filter.udp = true;
    for (unsigned count = 1; count <= PL_FILTER_PORTS_MAX; count++) {
        for (unsigned i = 0; i < count; i++)
            filter.ports[i] = (uint16_t)(5200 + i);
        filter.port_count = count;
        for (unsigned port = 5199; port <= 5200 + PL_FILTER_PORTS_MAX; port++) {
            bool listed = port >= 5200 && port < 5200 + count;
            struct packet to = make_tcp(40000, port);
            struct packet from = make_tcp(port, 40000);
            CHECK_EQUAL(record(&filter, &to), listed ? 52 : 0);
            CHECK_EQUAL(record(&filter, &from), listed ? 52 : 0);
            to = make_ipv4(UDP, ends, 40000, port, 5, 0);
            from = make_ipv4(UDP, ends, port, 40000, 5, 0);
            CHECK_EQUAL(record(&filter, &to), listed ? 44 : 0);
            CHECK_EQUAL(record(&filter, &from), listed ? 44 : 0);
        }
    }
}

static void check_addresses(void)
{
    struct pl_packet_filter filter = make_filter();
    add_address(&filter.addresses, "10.9.0.1");
    add_address(&filter.addresses, "fd00::7");
    add_address(&filter.peers, "10.9.0.2");
    add_address(&filter.peers, "10.9.0.4");
    for (uint8_t a = 0; a < 6; a++) {
        for (uint8_t b = 0; b < 6; b++) {
            struct packet packet = make_ipv4(TCP, (const uint8_t[]){a, b}, 1, 2, 5, 5);
            bool wanted = (a == 1 && (b == 2 || b == 4)) || (b == 1 && (a == 2 || a == 4));
            CHECK_EQUAL(record(&filter, &packet), wanted ? 40 : 0);
        }
    }
}

static struct packet make_ipv6(uint8_t source, uint8_t destination)
{
    struct packet packet = {.length = WHOLE_BYTES, .ethertype = ETH_P_IPV6, .interface = ETHERNET};
    packet.bytes[0] = 0x60;
    packet.bytes[6] = TCP;
    packet.bytes[8] = packet.bytes[24] = 0xfd;
    packet.bytes[23] = source;
    packet.bytes[39] = destination;
    pl_put16(packet.bytes + 42, 5210);
    packet.bytes[52] = 8 << 4;
    return packet;
}

static void check_ipv6(void)
{
    struct pl_packet_filter filter = make_filter();
    filter.ports[filter.port_count++] = 5210;
    struct packet packet = make_ipv6(7, 8);
    CHECK_EQUAL(record(&filter, &packet), 40 + 32);
    packet.bytes[52] = 15 << 4;
    CHECK_EQUAL(record(&filter, &packet), 40 + 60);
    add_address(&filter.addresses, "10.9.0.1");
    CHECK_EQUAL(record(&filter, &packet), 0);
    for (uint8_t i = 1; i < PL_FILTER_ADDRESSES_MAX; i++) {
        char text[] = "fd00::0";
        text[6] = (char)('0' + i);
        add_address(i % 2 == 1 ? &filter.addresses : &filter.peers, text);
    }
    CHECK_EQUAL(record(&filter, &packet), 0); /* 7 is an address, 8 is no peer */
    packet.bytes[39] = 6;
    CHECK_EQUAL(record(&filter, &packet), 100);
    packet.bytes[30] = 1; /* one bit of the other address */
    packet.bytes[15] = 1;
    CHECK_EQUAL(record(&filter, &packet), 0);
    packet.bytes[15] = packet.bytes[30] = 0;
    packet.bytes[6] = 0; /* behind an extension header */
    CHECK_EQUAL(record(&filter, &packet), 0);
}

static void check_interfaces(void)
{
    struct pl_packet_filter filter = make_filter();
    struct packet packet = make_tcp(1, 2);
    packet.interface = 3;
    CHECK_EQUAL(record(&filter, &packet), 0);
    packet.interface = LOOPBACK;
    CHECK_EQUAL(record(&filter, &packet), 52);
    packet.type = PACKET_OUTGOING; /* seen again when it comes in */
    CHECK_EQUAL(record(&filter, &packet), 0);
    packet.interface = ETHERNET;
    CHECK_EQUAL(record(&filter, &packet), 52);
    packet.vlan = 0x10000; /* a tag with a priority alone */
    CHECK_EQUAL(record(&filter, &packet), 52);
    packet.vlan = 0x10064; /* seen at the VLAN's own interface, too */
    CHECK_EQUAL(record(&filter, &packet), 0);
    interfaces.named = true;
    CHECK_EQUAL(record(&filter, &packet), 52);
    interfaces.named = false;
}

static void check_fragments(void)
{
    struct pl_packet_filter filter = make_filter();
    struct packet packet = make_tcp(1, 2);
    packet.bytes[6] = 0x60; /* DF, more fragments */
    CHECK_EQUAL(record(&filter, &packet), 52);
    packet.bytes[7] = 1;
    CHECK_EQUAL(record(&filter, &packet), 0);
}

/* The longest program: all addresses, ports and interfaces. */
static void check_longest(void)
{
    static struct pl_interfaces many = {.count = PL_INTERFACES_MAX};
    struct pl_packet_filter filter = make_filter();
    filter.udp = filter.sctp = true;
    filter.interfaces = &many;
    for (unsigned i = 0; i < PL_INTERFACES_MAX; i++)
        many.list[i] = (struct pl_interface){.index = 100 + i};
    for (uint8_t i = 1; i <= PL_FILTER_ADDRESSES_MAX; i++) {
        char text[] = "fd00::0";
        text[6] = (char)('0' + i);
        add_address(&filter.addresses, text);
        add_address(&filter.peers, text);
        filter.ports[filter.port_count++] = (uint16_t)(5202 + i);
    }
    struct packet packet = make_ipv6(1, PL_FILTER_ADDRESSES_MAX);
    CHECK_EQUAL(record(&filter, &packet), 0);
    packet.interface = 100;
    CHECK_EQUAL(record(&filter, &packet), 72);
    packet.interface = 99 + PL_INTERFACES_MAX;
    CHECK_EQUAL(record(&filter, &packet), 72);
    pl_put16(packet.bytes + 42, 5202);
    CHECK_EQUAL(record(&filter, &packet), 0);
}

int main(void)
{
    check_headers_alone_are_recorded();
    check_ports();
    check_addresses();
    check_ipv6();
    check_interfaces();
    check_fragments();
    check_longest();
    CHECK_RETURN();
}
