#include "capture/packet_filter.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>

#include "base/bytes.h"

enum {
    IPV4_FRAGMENT_AT = 6,
    IPV4_PROTOCOL_AT = 9,
    IPV4_SOURCE_AT = 12,
    IPV4_DESTINATION_AT = 16,
    IPV6_PROTOCOL_AT = 6,
    IPV6_SOURCE_AT = 8,
    IPV6_DESTINATION_AT = 24,
    IPV6_BYTES = 40,
    PORT_BYTES = 2,
    TCP_LENGTH_AT = 12,
    UDP_BYTES = 8,
    SCTP_BYTES = 12,
    FRAGMENT_OFFSET = 0x1fff,
    VLAN_ID = 0xfff,
    WORDS_MAX = 4, /* of an address */
};

/* The program so far. Jumps of a condition reach 255 instructions, so that they stay within one check; longer
 * ways are unconditional. */
struct program {
    struct sock_filter *list;
    size_t count;
};

static size_t add(struct program *program, uint32_t code, uint32_t k)
{
    program->list[program->count] = (struct sock_filter){.code = (uint16_t)code, .k = k};
    return program->count++;
}

static void load(struct program *program, uint32_t size, uint32_t at)
{
    (void)add(program, BPF_LD | size | BPF_ABS, at);
}

static void load_ancillary(struct program *program, int what)
{
    load(program, BPF_W, (uint32_t)(SKF_AD_OFF + what));
}

/* Skips `skip_equal` or `skip_other` instructions, whether the accumulator is `value` or not. */
static void compare(struct program *program, uint32_t value, size_t skip_equal, size_t skip_other)
{
    struct sock_filter *at = &program->list[add(program, BPF_JMP | BPF_JEQ | BPF_K, value)];
    at->jt = (uint8_t)skip_equal;
    at->jf = (uint8_t)skip_other;
}

static void finish(struct program *program, uint32_t bytes)
{
    (void)add(program, BPF_RET | BPF_K, bytes);
}

/* The unconditional jump at `from` leads behind the last instruction. */
static void land(struct program *program, size_t from)
{
    program->list[from].k = (uint32_t)(program->count - from - 1);
}

static size_t jump(struct program *program)
{
    return add(program, BPF_JMP | BPF_JA, 0);
}

static void check_interface(struct program *program, const struct pl_interfaces *interfaces)
{
    if (!interfaces->named) {
        load_ancillary(program, SKF_AD_VLAN_TAG_PRESENT);
        compare(program, 0, 3, 0);
        load_ancillary(program, SKF_AD_VLAN_TAG);
        struct sock_filter *tagged = &program->list[add(program, BPF_JMP | BPF_JSET | BPF_K, VLAN_ID)];
        tagged->jf = 1;
        finish(program, 0);
    }
    load_ancillary(program, SKF_AD_IFINDEX);
    for (size_t i = 0; i < interfaces->count; i++)
        compare(program, interfaces->list[i].index, interfaces->count - i, 0);
    finish(program, 0);
    for (size_t i = 0; i < interfaces->count; i++) {
        if (!interfaces->list[i].loopback)
            continue;
        compare(program, interfaces->list[i].index, 0, 3);
        load_ancillary(program, SKF_AD_PKTTYPE);
        compare(program, PACKET_OUTGOING, 0, 1);
        finish(program, 0);
        break; /* a network namespace has one */
    }
}

static size_t address_words(const struct pl_address *address, int family, uint32_t words[WORDS_MAX])
{
    const struct sockaddr_storage *storage = &address->storage;
    if (pl_address_family(address) != family)
        return 0;
    const uint8_t *bytes = family == AF_INET
                               ? (const uint8_t *)&((const struct sockaddr_in *)storage)->sin_addr
                               : (const uint8_t *)&((const struct sockaddr_in6 *)storage)->sin6_addr;
    size_t count = family == AF_INET ? 1 : WORDS_MAX;
    for (size_t i = 0; i < count; i++)
        words[i] = pl_get32(bytes + 4 * i);
    return count;
}

/* Ends the program unless one of the two addresses of the packet is in the list. */
static void check_addresses(struct program *program, const struct pl_filter_addresses *addresses, int family)
{
    const uint32_t ends[2] = {family == AF_INET ? IPV4_SOURCE_AT : IPV6_SOURCE_AT,
                              family == AF_INET ? IPV4_DESTINATION_AT : IPV6_DESTINATION_AT};
    size_t matches[2 * PL_FILTER_ADDRESSES_MAX];
    size_t match_count = 0;
    if (addresses->count == 0)
        return;
    for (size_t i = 0; i < 2 * addresses->count; i++) {
        uint32_t words[WORDS_MAX];
        size_t count = address_words(&addresses->list[i / 2], family, words);
        if (count == 0)
            continue;
        for (size_t word = 0; word < count; word++) {
            load(program, BPF_W, ends[i % 2] + (uint32_t)(4 * word));
            compare(program, words[word], 0, 2 * (count - word - 1) + 1);
        }
        matches[match_count++] = jump(program);
    }
    finish(program, 0);
    for (size_t i = 0; i < match_count; i++)
        land(program, matches[i]);
}

/* Ends the program unless one of the ports, at X and behind it, is in the list. */
static void check_ports(struct program *program, const struct pl_packet_filter *filter)
{
    if (filter->port_count == 0)
        return;
    for (uint32_t end = 0; end < 2; end++) {
        (void)add(program, BPF_LD | BPF_H | BPF_IND, end * PORT_BYTES);
        for (size_t i = 0; i < filter->port_count; i++) {
            size_t behind = filter->port_count - i - 1;
            size_t others = end == 0 ? filter->port_count + 1 : 0; /* the second load and its comparisons */
            compare(program, filter->ports[i], behind + others + 1, 0);
        }
    }
    finish(program, 0);
}

/* Records X + A bytes, at most the snap length. */
static void record(struct program *program, uint32_t snap_bytes)
{
    (void)add(program, BPF_ALU | BPF_ADD | BPF_X, 0);
    struct sock_filter *longer = &program->list[add(program, BPF_JMP | BPF_JGT | BPF_K, snap_bytes)];
    longer->jf = 1;
    finish(program, snap_bytes);
    (void)add(program, BPF_RET | BPF_A, 0);
}

/* For one transport protocol, whose number is in A and whose header begins at X. */
static void accept_transport(struct program *program, const struct pl_packet_filter *filter,
                             uint32_t protocol)
{
    compare(program, protocol, 1, 0);
    size_t other = jump(program);
    check_ports(program, filter);
    if (protocol == IPPROTO_TCP) {
        (void)add(program, BPF_LD | BPF_B | BPF_IND, TCP_LENGTH_AT);
        (void)add(program, BPF_ALU | BPF_AND | BPF_K, 0xf0);
        (void)add(program, BPF_ALU | BPF_RSH | BPF_K, 2);
    } else {
        (void)add(program, BPF_LD | BPF_IMM,
                  protocol == IPPROTO_UDP ? UDP_BYTES + filter->udp_payload_bytes : SCTP_BYTES);
    }
    record(program, filter->snap_bytes);
    land(program, other);
}

static void accept_transports(struct program *program, const struct pl_packet_filter *filter)
{
    if (filter->tcp)
        accept_transport(program, filter, IPPROTO_TCP);
    if (filter->udp)
        accept_transport(program, filter, IPPROTO_UDP);
    if (filter->sctp)
        accept_transport(program, filter, IPPROTO_SCTP);
    finish(program, 0);
}

static void check_ipv4(struct program *program, const struct pl_packet_filter *filter)
{
    load(program, BPF_H, IPV4_FRAGMENT_AT);
    struct sock_filter *fragment = &program->list[add(program, BPF_JMP | BPF_JSET | BPF_K, FRAGMENT_OFFSET)];
    fragment->jf = 1;
    finish(program, 0);
    check_addresses(program, &filter->addresses, AF_INET);
    check_addresses(program, &filter->peers, AF_INET);
    (void)add(program, BPF_LDX | BPF_B | BPF_MSH, 0);
    load(program, BPF_B, IPV4_PROTOCOL_AT);
}

static void check_ipv6(struct program *program, const struct pl_packet_filter *filter)
{
    check_addresses(program, &filter->addresses, AF_INET6);
    check_addresses(program, &filter->peers, AF_INET6);
    (void)add(program, BPF_LDX | BPF_IMM, IPV6_BYTES);
    load(program, BPF_B, IPV6_PROTOCOL_AT);
}

size_t pl_packet_filter_build(const struct pl_packet_filter *filter, struct sock_filter *instructions)
{
    struct program program = {.list = instructions};
    check_interface(&program, filter->interfaces);
    load_ancillary(&program, SKF_AD_PROTOCOL);
    compare(&program, ETH_P_IP, 2, 0);
    compare(&program, ETH_P_IPV6, 2, 0);
    finish(&program, 0);
    size_t to_ipv4 = jump(&program);
    check_ipv6(&program, filter);
    size_t to_transports = jump(&program);
    land(&program, to_ipv4);
    check_ipv4(&program, filter);
    land(&program, to_transports);
    accept_transports(&program, filter);
    return program.count;
}
