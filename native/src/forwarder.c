#include "forwarder.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "superpacket.h"

enum { BATCH_PACKETS = 64, CLOCK_EVERY_PACKETS = 8, OTHERS_MAX = 2, BYTES_PER_DELIVERY = 256 };
enum { PREFAULT_SMALL = 2048, PREFAULT_BIG = 64, PREFAULT_SHARE = 4 };
static const pl_ns SLEEP_NS_MAX = 100 * PL_NS_PER_MS;
static const pl_ns SPIN_BUDGET_NS_MAX = 5 * PL_NS_PER_MS;
static const pl_ns SPIN_SHARE = 5; /* a fifth of the time */

enum pl_status pl_forwarder_init(struct pl_forwarder *forwarder, const struct pl_forwarder_plan *plan,
                                 struct pl_error *error)
{
    memset(forwarder, 0, sizeof *forwarder);
    struct pl_packet_pool *pool = &forwarder->pool;
    pl_packet_pool_init(pool, plan->buffer_bytes);
    for (unsigned i = 0; i < 2; i++) {
        struct pl_direction *direction = &forwarder->directions[i];
        direction->from = &plan->devices[i];
        direction->to = &plan->devices[1 - i];
        pl_link_init(&direction->link, &plan->settings[i], plan->seed, i);
        pl_delay_line_init(&direction->line, (size_t)(plan->buffer_bytes / BYTES_PER_DELIVERY));
    }
    size_t affordable = (size_t)(plan->buffer_bytes / PREFAULT_SHARE);
    size_t small = affordable / PL_PACKET_SMALL_BYTES;
    size_t big = affordable / PL_PACKET_BIG_BYTES;
    pl_packet_pool_prefault(pool, PL_PACKET_SMALL_BYTES, small < PREFAULT_SMALL ? small : PREFAULT_SMALL);
    pl_packet_pool_prefault(pool, PL_PACKET_BIG_BYTES, big < PREFAULT_BIG ? big : PREFAULT_BIG);
    forwarder->landing_small = pl_packet_take(pool, PL_PACKET_SMALL_BYTES);
    forwarder->landing_big = pl_packet_take(pool, PL_PACKET_BIG_BYTES);
    forwarder->spin_ns = plan->spin_ns;
    forwarder->budget_at_ns = pl_now_ns();
    if (forwarder->landing_small == NULL || forwarder->landing_big == NULL) {
        pl_error_set(error, PL_RESOURCES, "buffers", ENOMEM, "no memory for packet buffers");
        return PL_RESOURCES;
    }
    return PL_OK;
}

static void release(struct pl_forwarder *forwarder, struct pl_packet *packet)
{
    if (packet->references > 0) {
        packet->references--;
    }
    if (packet->references == 0) {
        pl_packet_give(&forwarder->pool, packet);
    }
}

void pl_forwarder_free(struct pl_forwarder *forwarder)
{
    for (unsigned i = 0; i < 2; i++) {
        struct pl_delay_line *line = &forwarder->directions[i].line;
        for (const struct pl_delivery *next; (next = pl_delay_line_peek(line)) != NULL;) {
            release(forwarder, next->packet);
            pl_delay_line_pop(line);
        }
        pl_delay_line_free(line);
    }
    if (forwarder->landing_small != NULL) {
        pl_packet_give(&forwarder->pool, forwarder->landing_small);
    }
    if (forwarder->landing_big != NULL) {
        pl_packet_give(&forwarder->pool, forwarder->landing_big);
    }
    forwarder->landing_small = forwarder->landing_big = NULL;
    pl_packet_pool_free(&forwarder->pool);
}

/* ---------- arrival ---------- */

/* Let `segments` of `packet` wait; 0 segments: the whole packet as it was read. */
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

static uint32_t plain_ip_bytes(const struct pl_direction *direction, const struct pl_packet *packet)
{
    uint32_t header_bytes = PL_VIRTIO_HEADER_BYTES + direction->from->link_header_bytes;
    return packet->length_bytes > header_bytes ? packet->length_bytes - header_bytes : 0;
}

static void admit_whole(struct pl_direction *direction, struct pl_packet *packet, pl_ns now_ns)
{
    struct pl_link_verdict verdict =
        pl_link_admit(&direction->link, now_ns, plain_ip_bytes(direction, packet));
    if (verdict.fate != PL_FATE_DELIVERED) {
        return;
    }
    struct pl_delivery delivery = {.due_ns = verdict.due_ns, .packet = packet};
    enqueue(direction, &delivery);
    if (verdict.duplicate) {
        enqueue_twice(direction, &delivery);
    }
}

/* Decide the fate of each segment; runs of survivors due within a slice of time wait as one delivery, which
 * is due with its last segment. */
static void admit_segments(struct pl_direction *direction, struct pl_packet *packet,
                           const struct pl_superpacket *layout, pl_ns now_ns)
{
    struct pl_delivery run = {.packet = packet};
    pl_ns run_begin_ns = 0;
    for (uint32_t i = 0; i < layout->segments; i++) {
        struct pl_link_verdict verdict =
            pl_link_admit(&direction->link, now_ns, pl_superpacket_segment_ip_bytes(layout, i));
        bool delivered = verdict.fate == PL_FATE_DELIVERED;
        bool joins = delivered && verdict.due_ns >= run.due_ns &&
                     (uint64_t)(verdict.due_ns - run_begin_ns) <= direction->link.settings.slice_ns;
        if (run.segments > 0 && !joins) {
            enqueue(direction, &run);
            run.segments = 0;
        }
        if (!delivered) {
            continue;
        }
        if (run.segments == 0) {
            run.first_segment = i;
            run_begin_ns = verdict.due_ns;
        }
        run.segments++;
        run.due_ns = verdict.due_ns;
        if (verdict.duplicate) {
            enqueue(direction, &run);
            run.segments = 0;
            struct pl_delivery again = {
                .due_ns = verdict.due_ns, .packet = packet, .first_segment = i, .segments = 1};
            enqueue_twice(direction, &again);
        }
    }
    if (run.segments > 0) {
        enqueue(direction, &run);
    }
}

/* The packet that was read into the landing buffers, in a buffer of its own; NULL at the bound on memory. */
static struct pl_packet *claim(struct pl_forwarder *forwarder, size_t length_bytes)
{
    struct pl_packet *small = forwarder->landing_small;
    struct pl_packet *big = forwarder->landing_big;
    struct pl_packet *taken = pl_packet_take(&forwarder->pool, length_bytes);
    if (taken == NULL) {
        return NULL;
    }
    struct pl_packet *packet = taken;
    if (length_bytes <= PL_PACKET_SMALL_BYTES) {
        forwarder->landing_small = taken;
        packet = small;
    } else if (pl_packet_capacity(taken) == PL_PACKET_BIG_BYTES) {
        memcpy(big->data, small->data, PL_PACKET_SMALL_BYTES);
        forwarder->landing_big = taken;
        packet = big;
    } else { /* copied, so that packets of a few kilobytes do not hold big buffers */
        memcpy(taken->data, small->data, PL_PACKET_SMALL_BYTES);
        memcpy(taken->data + PL_PACKET_SMALL_BYTES, big->data + PL_PACKET_SMALL_BYTES,
               length_bytes - PL_PACKET_SMALL_BYTES);
    }
    packet->length_bytes = (uint32_t)length_bytes;
    return packet;
}

/* No buffer is free: count what is in the landing buffers as dropped, per segment. Its headers are in the
 * small one. */
static void drop_overflow(struct pl_forwarder *forwarder, struct pl_direction *direction, size_t length_bytes)
{
    const struct pl_packet *small = forwarder->landing_small;
    struct pl_superpacket layout;
    uint64_t packets = 1;
    uint64_t ip_bytes = length_bytes;
    uint64_t header_bytes = PL_VIRTIO_HEADER_BYTES + (uint64_t)direction->from->link_header_bytes;
    ip_bytes = ip_bytes > header_bytes ? ip_bytes - header_bytes : 0;
    if (pl_superpacket_parse(small->data, length_bytes, direction->from->link_header_bytes, &layout) ==
        PL_PACKET_TCP4) {
        packets = layout.segments;
        ip_bytes = pl_superpacket_wire_bytes(&layout, 0, layout.segments);
    }
    direction->link.counters.arrived_packets += packets;
    direction->link.counters.arrived_bytes += ip_bytes;
    direction->counters.overflow_dropped_packets += packets;
}

static void arrive(struct pl_forwarder *forwarder, struct pl_direction *direction, size_t length_bytes)
{
    struct pl_packet *packet = claim(forwarder, length_bytes);
    if (packet == NULL) {
        drop_overflow(forwarder, direction, length_bytes);
        return;
    }
    struct pl_superpacket layout;
    enum pl_packet_kind kind =
        pl_superpacket_parse(packet->data, length_bytes, direction->from->link_header_bytes, &layout);
    if (kind == PL_PACKET_TCP4) {
        admit_segments(direction, packet, &layout, pl_now_ns());
    } else {
        direction->counters.unsplit_packets += kind == PL_PACKET_UNSPLIT ? 1 : 0;
        admit_whole(direction, packet, pl_now_ns());
    }
    if (packet->references == 0) {
        pl_packet_give(&forwarder->pool, packet);
    }
}

static enum pl_status fail_device(const struct pl_device *device, const char *doing, struct pl_error *error)
{
    int errno_value = errno;
    pl_error_set(error, PL_ENDED, "device", errno_value, "%s the interface '%s' failed%s", doing,
                 device->name, pl_device_is_gone(errno_value) ? ", it is down or gone" : "");
    return PL_ENDED;
}

static enum pl_status receive(struct pl_forwarder *forwarder, struct pl_direction *direction, bool *busy,
                              struct pl_error *error)
{
    for (unsigned i = 0; i < BATCH_PACKETS; i++) {
        struct iovec parts[2] = {
            {.iov_base = forwarder->landing_small->data, .iov_len = PL_PACKET_SMALL_BYTES},
            {.iov_base = forwarder->landing_big->data + PL_PACKET_SMALL_BYTES,
             .iov_len = PL_PACKET_BIG_BYTES - PL_PACKET_SMALL_BYTES},
        };
        ssize_t got = readv(direction->from->fd, parts, 2);
        if (got > 0) {
            arrive(forwarder, direction, (size_t)got);
        } else if (got == 0 || errno == EAGAIN || errno == EINTR) {
            return PL_OK;
        } else if (errno == EINVAL && direction->from->backend == PL_BACKEND_PACKET) {
            direction->counters.unreadable_packets++;
        } else {
            return fail_device(direction->from, "reading from", error);
        }
        *busy = true;
    }
    return PL_OK;
}

/* ---------- delivery ---------- */

/* Write one delivery; its size in segments and at IP level. False with errno when the kernel did not take it.
 */
static bool write_delivery(const struct pl_direction *direction, const struct pl_delivery *delivery,
                           uint64_t *packets, uint64_t *ip_bytes)
{
    struct pl_packet *packet = delivery->packet;
    struct iovec parts[2] = {{.iov_base = packet->data, .iov_len = packet->length_bytes}};
    struct pl_superpacket layout;
    struct pl_slice slice;
    int count = 1;
    *packets = 1;
    *ip_bytes = plain_ip_bytes(direction, packet);
    if (delivery->segments > 0) {
        (void)pl_superpacket_parse(packet->data, packet->length_bytes, direction->from->link_header_bytes,
                                   &layout);
        *packets = delivery->segments;
        *ip_bytes = pl_superpacket_wire_bytes(&layout, delivery->first_segment, delivery->segments);
        if (delivery->segments < layout.segments) {
            pl_superpacket_cut(packet->data, &layout, delivery->first_segment, delivery->segments, &slice);
            parts[0] = (struct iovec){.iov_base = slice.header, .iov_len = slice.header_bytes};
            parts[1] =
                (struct iovec){.iov_base = packet->data + slice.payload_at, .iov_len = slice.payload_bytes};
            count = 2;
        }
    }
    return writev(direction->to->fd, parts, count) >= 0;
}

static enum pl_status deliver(struct pl_forwarder *forwarder, struct pl_direction *direction, bool *busy,
                              struct pl_error *error)
{
    struct pl_direction_counters *counters = &direction->counters;
    pl_ns now_ns = pl_now_ns();
    for (unsigned i = 1; i <= 2 * BATCH_PACKETS; i++) {
        const struct pl_delivery *delivery = pl_delay_line_peek(&direction->line);
        if (delivery == NULL || delivery->due_ns > now_ns) {
            return PL_OK;
        }
        *busy = true;
        pl_lateness_add(&forwarder->lateness, now_ns - delivery->due_ns);
        uint64_t packets = 0;
        uint64_t ip_bytes = 0;
        bool written = write_delivery(direction, delivery, &packets, &ip_bytes);
        int errno_value = errno;
        release(forwarder, delivery->packet);
        pl_delay_line_pop(&direction->line);
        counters->waiting_packets -= packets;
        if (written) {
            counters->delivered_packets += packets;
            counters->delivered_bytes += ip_bytes;
        } else {
            counters->write_errors += packets;
            if (pl_device_is_gone(errno_value)) {
                errno = errno_value;
                return fail_device(direction->to, "writing to", error);
            }
        }
        if (i % CLOCK_EVERY_PACKETS == 0) {
            now_ns = pl_now_ns();
        }
    }
    return PL_OK;
}

enum pl_status pl_forwarder_step(struct pl_forwarder *forwarder, bool *busy, struct pl_error *error)
{
    enum pl_status status = PL_OK;
    *busy = false;
    for (unsigned i = 0; i < 2 && status == PL_OK; i++) {
        status = deliver(forwarder, &forwarder->directions[i], busy, error);
    }
    for (unsigned i = 0; i < 2 && status == PL_OK; i++) {
        status = receive(forwarder, &forwarder->directions[i], busy, error);
    }
    return status;
}

/* ---------- waiting ---------- */

static pl_ns next_due_ns(const struct pl_forwarder *forwarder)
{
    pl_ns due_ns = INT64_MAX;
    for (unsigned i = 0; i < 2; i++) {
        const struct pl_delivery *next = pl_delay_line_peek(&forwarder->directions[i].line);
        if (next != NULL && next->due_ns < due_ns) {
            due_ns = next->due_ns;
        }
    }
    return due_ns;
}

/* What may be spent on spinning now: a fifth of the time that has passed, and at most a few milliseconds. */
static void earn_budget(struct pl_forwarder *forwarder, pl_ns now_ns)
{
    forwarder->spin_budget_ns += (now_ns - forwarder->budget_at_ns) / SPIN_SHARE;
    if (forwarder->spin_budget_ns > SPIN_BUDGET_NS_MAX) {
        forwarder->spin_budget_ns = SPIN_BUDGET_NS_MAX;
    }
    forwarder->budget_at_ns = now_ns;
}

static void spin(struct pl_forwarder *forwarder, struct pollfd *descriptors, unsigned count, pl_ns from_ns,
                 pl_ns until_ns)
{
    pl_ns now_ns = from_ns;
    while (now_ns < until_ns && poll(descriptors, count, 0) <= 0) {
        now_ns = pl_now_ns();
    }
    forwarder->spin_budget_ns -= now_ns - from_ns;
}

void pl_forwarder_wait(struct pl_forwarder *forwarder, struct pollfd *others, unsigned count)
{
    struct pollfd descriptors[2 + OTHERS_MAX] = {
        {.fd = forwarder->directions[0].from->fd, .events = POLLIN},
        {.fd = forwarder->directions[1].from->fd, .events = POLLIN},
    };
    count = count < OTHERS_MAX ? count : OTHERS_MAX;
    memcpy(descriptors + 2, others, count * sizeof *others);
    pl_ns now_ns = pl_now_ns();
    pl_ns due_ns = next_due_ns(forwarder);
    earn_budget(forwarder, now_ns);
    pl_ns left_ns = due_ns == INT64_MAX ? SLEEP_NS_MAX : due_ns - now_ns;
    bool may_spin = forwarder->spin_ns > 0 && forwarder->spin_budget_ns > 0;
    if (may_spin && left_ns <= forwarder->spin_ns) {
        spin(forwarder, descriptors, 2 + count, now_ns, due_ns);
    } else {
        left_ns -= may_spin ? forwarder->spin_ns : 0;
        left_ns = left_ns > SLEEP_NS_MAX ? SLEEP_NS_MAX : left_ns;
        left_ns = left_ns < 0 ? 0 : left_ns;
        struct timespec timeout = {.tv_sec = left_ns / PL_NS_PER_S, .tv_nsec = left_ns % PL_NS_PER_S};
        (void)ppoll(descriptors, 2 + count, &timeout, NULL);
    }
    memcpy(others, descriptors + 2, count * sizeof *others);
}
