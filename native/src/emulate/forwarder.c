#include "emulate/forwarder.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

enum { BATCH_PACKETS = 64, CLOCK_EVERY_PACKETS = 8, OTHERS_MAX = 2, BYTES_PER_DELIVERY = 256 };
enum { PREFAULT_SMALL = 2048, PREFAULT_BIG = 64, PREFAULT_SHARE = 4 };
static const pl_ns SLEEP_NS_MAX = 100 * PL_NS_PER_MS;
static const pl_ns SPIN_BUDGET_NS_MAX = 5 * PL_NS_PER_MS;
static const pl_ns SPIN_SHARE = 10;   /* a tenth of the time */
static const pl_ns BATCH_NS = 100000; /* packets that arrive in this time are read together */

bool pl_forwarder_init(struct pl_forwarder *forwarder, const struct pl_forwarder_plan *plan,
                       struct pl_error *error)
{
    memset(forwarder, 0, sizeof *forwarder);
    struct pl_packet_pool *pool = &forwarder->pool;
    pl_packet_pool_init(pool, plan->buffer_bytes);
    for (unsigned i = 0; i < 2; i++) {
        struct pl_direction *direction = &forwarder->directions[i];
        direction->index = (uint8_t)i;
        direction->from = &plan->devices[i];
        direction->to = &plan->devices[1 - i];
        direction->trace = plan->trace;
        pl_link_init(&direction->link, &plan->settings[i], plan->seed, i);
        pl_delay_line_init(&direction->line, (size_t)(plan->buffer_bytes / BYTES_PER_DELIVERY));
    }
    size_t affordable = (size_t)(plan->buffer_bytes / PREFAULT_SHARE);
    size_t small = affordable / PL_PACKET_SMALL_BYTES;
    size_t big = affordable / PL_PACKET_BIG_BYTES;
    pl_packet_pool_prefault(pool, PL_PACKET_SMALL_BYTES, small < PREFAULT_SMALL ? small : PREFAULT_SMALL);
    pl_packet_pool_prefault(pool, PL_PACKET_BIG_BYTES, big < PREFAULT_BIG ? big : PREFAULT_BIG);
    forwarder->read_small = pl_packet_acquire(pool, PL_PACKET_SMALL_BYTES);
    forwarder->read_big = pl_packet_acquire(pool, PL_PACKET_BIG_BYTES);
    forwarder->spin_ns = plan->spin_ns;
    forwarder->budget_at_ns = pl_now_ns();
    forwarder->written_ns = forwarder->budget_at_ns;
    return (forwarder->read_small != NULL && forwarder->read_big != NULL) ||
           pl_error_set(error, PL_RESOURCES, "buffers", ENOMEM, "no memory for packet buffers");
}

static void release(struct pl_forwarder *forwarder, struct pl_packet *packet)
{
    if (packet->references > 0)
        packet->references--;
    if (packet->references == 0)
        pl_packet_release(&forwarder->pool, packet);
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
    if (forwarder->read_small != NULL)
        pl_packet_release(&forwarder->pool, forwarder->read_small);
    if (forwarder->read_big != NULL)
        pl_packet_release(&forwarder->pool, forwarder->read_big);
    forwarder->read_small = forwarder->read_big = NULL;
    pl_packet_pool_free(&forwarder->pool);
}

/* ---------- arrival ---------- */

/* Give the packet in the read buffers a buffer of its own; NULL at the bound on memory. */
static struct pl_packet *claim(struct pl_forwarder *forwarder, size_t length_bytes)
{
    struct pl_packet *small = forwarder->read_small;
    struct pl_packet *big = forwarder->read_big;
    struct pl_packet *taken = pl_packet_acquire(&forwarder->pool, length_bytes);
    if (taken == NULL)
        return NULL;
    struct pl_packet *packet = taken;
    if (length_bytes <= PL_PACKET_SMALL_BYTES) {
        forwarder->read_small = taken;
        packet = small;
    } else if (pl_packet_capacity(taken) == PL_PACKET_BIG_BYTES) {
        memcpy(big->data, small->data, PL_PACKET_SMALL_BYTES);
        forwarder->read_big = taken;
        packet = big;
    } else { /* copied, so that packets of a few kilobytes do not hold big buffers */
        memcpy(taken->data, small->data, PL_PACKET_SMALL_BYTES);
        memcpy(taken->data + PL_PACKET_SMALL_BYTES, big->data + PL_PACKET_SMALL_BYTES,
               length_bytes - PL_PACKET_SMALL_BYTES);
    }
    packet->length_bytes = (uint32_t)length_bytes;
    return packet;
}

static void arrive(struct pl_forwarder *forwarder, struct pl_direction *direction, size_t length_bytes,
                   pl_ns arrived_ns)
{
    struct pl_packet *packet = claim(forwarder, length_bytes);
    if (packet == NULL) {
        pl_direction_drop(direction, forwarder->read_small->data, length_bytes);
        return;
    }
    pl_direction_admit(direction, packet, arrived_ns);
    if (packet->references == 0)
        pl_packet_release(&forwarder->pool, packet);
}

static bool fail_device(const struct pl_device *device, const char *doing, struct pl_error *error)
{
    int errno_value = errno;
    return pl_error_set(error, PL_ENDED, "device", errno_value, "%s the interface '%s' failed%s", doing,
                        device->name, pl_device_is_gone(errno_value) ? ", it is down or gone" : "");
}

static bool receive(struct pl_forwarder *forwarder, struct pl_direction *direction, bool *busy,
                    struct pl_error *error)
{
    for (unsigned i = 0; i < BATCH_PACKETS; i++) {
        struct iovec parts[2] = {
            {.iov_base = forwarder->read_small->data, .iov_len = PL_PACKET_SMALL_BYTES},
            {.iov_base = forwarder->read_big->data + PL_PACKET_SMALL_BYTES,
             .iov_len = PL_PACKET_BIG_BYTES - PL_PACKET_SMALL_BYTES},
        };
        pl_ns arrived_ns;
        ssize_t got = pl_device_read(direction->from, parts, 2, &arrived_ns);
        if (got > 0)
            arrive(forwarder, direction, (size_t)got, arrived_ns);
        else if (got == 0 || errno == EAGAIN || errno == EINTR)
            return true;
        else if (errno == EINVAL && direction->from->backend == PL_BACKEND_PACKET)
            direction->counters.unreadable_packets++;
        else
            return fail_device(direction->from, "reading from", error);
        *busy = true;
    }
    return true;
}

/* ---------- delivery ---------- */

/* After a pause the clock is read again after the write, to learn its duration. */
static bool write_delivery(struct pl_forwarder *forwarder, struct pl_direction *direction,
                           const struct pl_delivery *delivery, pl_ns *now_ns)
{
    pl_ns began_ns = *now_ns;
    bool written = pl_direction_write(direction, delivery);
    if (began_ns - forwarder->written_ns >= PL_DELIVERY_LATENCY_PAUSE_NS) {
        int errno_value = errno;
        *now_ns = pl_now_ns();
        pl_delivery_latency_learn(&direction->delivery_latency, forwarder->written_ns, began_ns, *now_ns,
                                  delivery->packet->length_bytes);
        errno = errno_value;
    }
    forwarder->written_ns = *now_ns;
    return written;
}

static bool deliver(struct pl_forwarder *forwarder, struct pl_direction *direction, bool *busy,
                    struct pl_error *error)
{
    pl_ns now_ns = pl_now_ns();
    for (unsigned i = 1; i <= 2 * BATCH_PACKETS; i++) {
        const struct pl_delivery *delivery = pl_delay_line_peek(&direction->line);
        pl_ns lead_ns =
            pl_delivery_latency_lead_ns(&direction->delivery_latency, forwarder->written_ns, now_ns);
        if (delivery == NULL || delivery->due_ns - lead_ns > now_ns)
            return true;
        *busy = true;
        pl_histogram_add(&direction->lateness, now_ns + lead_ns - delivery->due_ns);
        bool written = write_delivery(forwarder, direction, delivery, &now_ns);
        int errno_value = errno;
        release(forwarder, delivery->packet);
        pl_delay_line_pop(&direction->line);
        if (!written && pl_device_is_gone(errno_value)) {
            errno = errno_value;
            return fail_device(direction->to, "writing to", error);
        }
        if (i % CLOCK_EVERY_PACKETS == 0)
            now_ns = pl_now_ns();
    }
    return true;
}

bool pl_forwarder_step(struct pl_forwarder *forwarder, bool *busy, struct pl_error *error)
{
    struct pl_direction *directions = forwarder->directions;
    *busy = false;
    return deliver(forwarder, &directions[0], busy, error) &&
           deliver(forwarder, &directions[1], busy, error) &&
           receive(forwarder, &directions[0], busy, error) && receive(forwarder, &directions[1], busy, error);
}

/* ---------- waiting ---------- */

/* The start of the next write; after a pause it has a lead. */
static pl_ns next_due_ns(const struct pl_forwarder *forwarder)
{
    pl_ns due_ns = INT64_MAX;
    for (unsigned i = 0; i < 2; i++) {
        const struct pl_direction *direction = &forwarder->directions[i];
        const struct pl_delivery *next = pl_delay_line_peek(&direction->line);
        if (next == NULL)
            continue;
        pl_ns begin_ns = next->due_ns - pl_delivery_latency_lead_ns(&direction->delivery_latency,
                                                                    forwarder->written_ns, next->due_ns);
        due_ns = begin_ns < due_ns ? begin_ns : due_ns;
    }
    return due_ns;
}

/* Add to the spin budget: a tenth of the time that has passed, up to a few milliseconds. */
static void accrue_spin_budget(struct pl_forwarder *forwarder, pl_ns now_ns)
{
    forwarder->spin_budget_ns += (now_ns - forwarder->budget_at_ns) / SPIN_SHARE;
    if (forwarder->spin_budget_ns > SPIN_BUDGET_NS_MAX)
        forwarder->spin_budget_ns = SPIN_BUDGET_NS_MAX;
    forwarder->budget_at_ns = now_ns;
}

static void spin(struct pl_forwarder *forwarder, struct pollfd *descriptors, unsigned count, pl_ns from_ns,
                 pl_ns until_ns)
{
    pl_ns now_ns = from_ns;
    while (now_ns < until_ns && poll(descriptors, count, 0) <= 0)
        now_ns = pl_now_ns();
    forwarder->spin_budget_ns -= now_ns - from_ns;
}

/* Whether packets that arrive now may be read later: the kernel timestamps them, and none is due earlier. */
static bool may_batch(const struct pl_forwarder *forwarder, pl_ns now_ns)
{
    if (now_ns - forwarder->written_ns >= PL_DELIVERY_LATENCY_PAUSE_NS)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const struct pl_direction *direction = &forwarder->directions[i];
        const struct pl_link_settings *settings = &direction->link.settings;
        if (!direction->from->stamped || settings->delay_ns < settings->jitter_ns + 2 * (uint64_t)BATCH_NS)
            return false;
    }
    return true;
}

static void sleep_for(struct pollfd *descriptors, unsigned count, pl_ns length_ns)
{
    struct timespec timeout = {.tv_sec = length_ns / PL_NS_PER_S, .tv_nsec = length_ns % PL_NS_PER_S};
    (void)ppoll(descriptors, count, &timeout, NULL);
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
    accrue_spin_budget(forwarder, now_ns);
    pl_ns left_ns = due_ns == INT64_MAX ? SLEEP_NS_MAX : due_ns - now_ns;
    bool may_spin = forwarder->spin_ns > 0 && forwarder->spin_budget_ns > 0;
    if (left_ns > 0 && may_batch(forwarder, now_ns)) {
        sleep_for(descriptors + 2, count, left_ns < BATCH_NS ? left_ns : BATCH_NS);
    } else if (may_spin && left_ns <= forwarder->spin_ns) {
        spin(forwarder, descriptors, 2 + count, now_ns, due_ns);
    } else {
        left_ns -= may_spin ? forwarder->spin_ns : 0;
        left_ns = left_ns > SLEEP_NS_MAX ? SLEEP_NS_MAX : left_ns;
        sleep_for(descriptors, 2 + count, left_ns < 0 ? 0 : left_ns);
    }
    memcpy(others, descriptors + 2, count * sizeof *others);
}
