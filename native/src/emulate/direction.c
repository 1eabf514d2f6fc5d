#include "emulate/direction.h"

#include <linux/if_ether.h>
#include <sys/uio.h>

#include "base/bytes.h"
#include "emulate/ip_header.h"
#include "emulate/superpacket.h"

/* ---------- packets ---------- */

static uint32_t ip_at(const struct pl_direction *direction)
{
    return PL_VIRTIO_HEADER_BYTES + direction->from->link_header_bytes;
}

static uint32_t plain_ip_bytes(const struct pl_direction *direction, size_t length_bytes)
{
    uint32_t header_bytes = ip_at(direction);
    return length_bytes > header_bytes ? (uint32_t)length_bytes - header_bytes : 0;
}

/* The ECN field of a packet; not-capable for frames without IP. */
static enum pl_ecn read_ecn(const struct pl_direction *direction, const struct pl_packet *packet)
{
    uint32_t at = ip_at(direction);
    if (packet->length_bytes <= at)
        return PL_ECN_NOT_CAPABLE;
    if (direction->from->link_header_bytes >= ETH_HLEN) {
        uint32_t protocol = pl_get16(packet->data + at - 2);
        if (protocol != ETH_P_IP && protocol != ETH_P_IPV6)
            return PL_ECN_NOT_CAPABLE;
    }
    return pl_ip_ecn(packet->data + at, packet->length_bytes - at);
}

/* ---------- arrival ---------- */

/* The common context of all wire packets of one packet as read. */
struct arrival {
    struct pl_direction *direction;
    struct pl_packet *packet;
    pl_ns now_ns;
    enum pl_ecn ecn;
};

/* The model's decision about one wire packet, traced. */
static struct pl_link_verdict decide(const struct arrival *arrival, uint32_t ip_bytes, bool segment)
{
    struct pl_direction *direction = arrival->direction;
    struct pl_link_verdict verdict = pl_link_admit(&direction->link, arrival->now_ns, ip_bytes, arrival->ecn);
    if (direction->trace != NULL) {
        const struct pl_trace_packet traced = {
            .arrival_ns = arrival->now_ns,
            .ip_bytes = ip_bytes,
            .direction = direction->index,
            .segment = segment,
        };
        pl_trace_add(direction->trace, &traced, &verdict);
    }
    return verdict;
}

static void enqueue(struct pl_direction *direction, const struct pl_delivery *delivery)
{
    uint32_t packets = delivery->segments == 0 ? 1 : delivery->segments;
    if (pl_delay_line_push(&direction->line, delivery)) {
        delivery->packet->references++;
        direction->counters.waiting_packets += packets;
    } else {
        direction->counters.overflow_dropped_packets += packets;
    }
}

static void enqueue_twice(struct pl_direction *direction, const struct pl_delivery *delivery)
{
    direction->counters.duplicated_packets++;
    enqueue(direction, delivery);
}

static void admit_packet(const struct arrival *arrival)
{
    struct pl_direction *direction = arrival->direction;
    struct pl_packet *packet = arrival->packet;
    struct pl_link_verdict verdict = decide(arrival, plain_ip_bytes(direction, packet->length_bytes), false);
    if (verdict.fate != PL_FATE_DELIVERED)
        return;
    if (verdict.mark)
        pl_ip_mark_ce(packet->data + ip_at(direction));
    struct pl_delivery delivery = {.due_ns = verdict.due_ns, .packet = packet};
    enqueue(direction, &delivery);
    if (verdict.duplicate)
        enqueue_twice(direction, &delivery);
}

/* Decide the fate of each segment. Runs of delivered segments with equal marks that are due within a slice of
 * time form one delivery, due with its last segment. */
static void admit_segments(const struct arrival *arrival, const struct pl_superpacket *layout)
{
    struct pl_direction *direction = arrival->direction;
    struct pl_delivery run = {.packet = arrival->packet};
    pl_ns run_begin_ns = 0;
    for (uint32_t i = 0; i < layout->segments; i++) {
        struct pl_link_verdict verdict = decide(arrival, pl_superpacket_segment_ip_bytes(layout, i), true);
        bool delivered = verdict.fate == PL_FATE_DELIVERED;
        bool joins = delivered && verdict.mark == run.mark && verdict.due_ns >= run.due_ns &&
                     (uint64_t)(verdict.due_ns - run_begin_ns) <= direction->link.settings.slice_ns;
        if (run.segments > 0 && !joins) {
            enqueue(direction, &run);
            run.segments = 0;
        }
        if (!delivered)
            continue;
        if (run.segments == 0) {
            run.first_segment = i;
            run.mark = verdict.mark;
            run_begin_ns = verdict.due_ns;
        }
        run.segments++;
        run.due_ns = verdict.due_ns;
        if (verdict.duplicate) {
            enqueue(direction, &run);
            run.segments = 0;
            struct pl_delivery again = {.due_ns = verdict.due_ns,
                                        .packet = arrival->packet,
                                        .first_segment = i,
                                        .segments = 1,
                                        .mark = verdict.mark};
            enqueue_twice(direction, &again);
        }
    }
    if (run.segments > 0)
        enqueue(direction, &run);
}

void pl_direction_admit(struct pl_direction *direction, struct pl_packet *packet, pl_ns now_ns)
{
    const struct arrival arrival = {
        .direction = direction, .packet = packet, .now_ns = now_ns, .ecn = read_ecn(direction, packet)};
    struct pl_superpacket layout;
    enum pl_packet_kind kind =
        pl_superpacket_parse(packet->data, packet->length_bytes, direction->from->link_header_bytes, &layout);
    if (kind == PL_PACKET_SUPER) {
        admit_segments(&arrival, &layout);
    } else {
        direction->counters.unsplit_packets += kind == PL_PACKET_UNSPLIT ? 1 : 0;
        admit_packet(&arrival);
    }
}

void pl_direction_drop(struct pl_direction *direction, const unsigned char *headers, size_t length_bytes)
{
    struct pl_superpacket layout;
    uint64_t packets = 1;
    uint64_t ip_bytes = plain_ip_bytes(direction, length_bytes);
    if (pl_superpacket_parse(headers, length_bytes, direction->from->link_header_bytes, &layout) ==
        PL_PACKET_SUPER) {
        packets = layout.segments;
        ip_bytes = pl_superpacket_wire_bytes(&layout, 0, layout.segments);
    }
    direction->link.counters.arrived_packets += packets;
    direction->link.counters.arrived_bytes += ip_bytes;
    direction->counters.overflow_dropped_packets += packets;
}

/* ---------- delivery ---------- */

bool pl_direction_write(struct pl_direction *direction, const struct pl_delivery *delivery)
{
    struct pl_packet *packet = delivery->packet;
    struct iovec parts[2] = {{.iov_base = packet->data, .iov_len = packet->length_bytes}};
    struct pl_superpacket layout;
    struct pl_slice slice;
    int count = 1;
    uint64_t packets = 1;
    uint64_t ip_bytes = plain_ip_bytes(direction, packet->length_bytes);
    if (delivery->segments > 0) {
        (void)pl_superpacket_parse(packet->data, packet->length_bytes, direction->from->link_header_bytes,
                                   &layout);
        packets = delivery->segments;
        ip_bytes = pl_superpacket_wire_bytes(&layout, delivery->first_segment, delivery->segments);
        if (delivery->segments < layout.segments || delivery->mark) {
            pl_superpacket_cut(packet->data, &layout, delivery->first_segment, delivery->segments, &slice);
            if (delivery->mark)
                pl_ip_mark_ce(slice.header + layout.ip_at);
            parts[0] = (struct iovec){.iov_base = slice.header, .iov_len = slice.header_bytes};
            parts[1] =
                (struct iovec){.iov_base = packet->data + slice.payload_at, .iov_len = slice.payload_bytes};
            count = 2;
        }
    }
    bool written = writev(direction->to->fd, parts, count) >= 0;
    struct pl_direction_counters *counters = &direction->counters;
    counters->waiting_packets -= packets;
    if (written) {
        counters->delivered_packets += packets;
        counters->delivered_bytes += ip_bytes;
    } else {
        counters->write_errors += packets;
    }
    return written;
}
