#include "emulate/packet.h"

#include <stdlib.h>
#include <string.h>

static const size_t SIZES[PL_PACKET_SIZES] = {PL_PACKET_SMALL_BYTES, PL_PACKET_MEDIUM_BYTES,
                                              PL_PACKET_BIG_BYTES};

static size_t footprint(unsigned size)
{
    return sizeof(struct pl_packet) + SIZES[size];
}

void pl_packet_pool_init(struct pl_packet_pool *pool, uint64_t maximum_bytes)
{
    memset(pool, 0, sizeof *pool);
    pool->maximum_bytes = maximum_bytes;
}

static void free_one(struct pl_packet_pool *pool, unsigned size)
{
    struct pl_packet *packet = pool->free[size];
    pool->free[size] = packet->next;
    pool->allocated_bytes -= footprint(size);
    free(packet);
}

void pl_packet_pool_free(struct pl_packet_pool *pool)
{
    for (unsigned size = 0; size < PL_PACKET_SIZES; size++)
        while (pool->free[size] != NULL)
            free_one(pool, size);
}

/* Free idle buffers of other sizes until one of `size` fits below the bound. */
static bool make_room(struct pl_packet_pool *pool, unsigned size)
{
    for (unsigned other = 0; other < PL_PACKET_SIZES; other++)
        while (pool->allocated_bytes + footprint(size) > pool->maximum_bytes && pool->free[other] != NULL)
            free_one(pool, other);
    return pool->allocated_bytes + footprint(size) <= pool->maximum_bytes;
}

static struct pl_packet *allocate(struct pl_packet_pool *pool, unsigned size)
{
    struct pl_packet *packet = make_room(pool, size) ? malloc(footprint(size)) : NULL;
    if (packet != NULL) {
        packet->size = size;
        pool->allocated_bytes += footprint(size);
    }
    return packet;
}

static unsigned size_for(size_t bytes)
{
    unsigned size = 0;
    while (size < PL_PACKET_SIZES && SIZES[size] < bytes)
        size++;
    return size;
}

void pl_packet_pool_prefault(struct pl_packet_pool *pool, size_t bytes, size_t count)
{
    unsigned size = size_for(bytes);
    for (size_t i = 0; i < count && size < PL_PACKET_SIZES; i++) {
        if (pool->allocated_bytes + footprint(size) > pool->maximum_bytes)
            return;
        struct pl_packet *packet = allocate(pool, size);
        if (packet == NULL)
            return;
        memset(packet->data, 0, SIZES[size]);
        pl_packet_release(pool, packet);
    }
}

struct pl_packet *pl_packet_acquire(struct pl_packet_pool *pool, size_t bytes)
{
    unsigned size = size_for(bytes);
    if (size == PL_PACKET_SIZES)
        return NULL;
    struct pl_packet *packet = pool->free[size];
    if (packet != NULL) {
        pool->free[size] = packet->next;
    } else {
        packet = allocate(pool, size);
        if (packet == NULL)
            return NULL;
    }
    packet->next = NULL;
    packet->references = 0;
    packet->length_bytes = 0;
    return packet;
}

void pl_packet_release(struct pl_packet_pool *pool, struct pl_packet *packet)
{
    packet->next = pool->free[packet->size];
    pool->free[packet->size] = packet;
}

size_t pl_packet_capacity(const struct pl_packet *packet)
{
    return SIZES[packet->size];
}
