/* Packet buffers in three sizes, shared by reference count, under one bound on memory. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PL_PACKET_SMALL_BYTES = 2048, PL_PACKET_MEDIUM_BYTES = 16384, PL_PACKET_BIG_BYTES = 66560 };
enum { PL_PACKET_SIZES = 3 };

struct pl_packet {
    struct pl_packet *next; /* in a free list */
    uint32_t references;    /* waiting deliveries of it */
    uint32_t length_bytes;  /* headers of the device included */
    unsigned size;          /* index of the size class */
    unsigned char data[];
};

struct pl_packet_pool {
    struct pl_packet *free[PL_PACKET_SIZES];
    uint64_t allocated_bytes, maximum_bytes;
};

void pl_packet_pool_init(struct pl_packet_pool *pool, uint64_t maximum_bytes);

/* Free every buffer in the pool; acquired buffers belong to their users. */
void pl_packet_pool_free(struct pl_packet_pool *pool);

/* Add `count` buffers for `bytes` to the pool and touch each page, since a first touch later may take
 * milliseconds in a virtual machine. Stops silently at the bound. */
void pl_packet_pool_prefault(struct pl_packet_pool *pool, size_t bytes, size_t count);

/* Acquire a buffer for at least `bytes`, with no references and length 0. NULL: at the bound, out of memory,
 * or `bytes` above PL_PACKET_BIG_BYTES. */
struct pl_packet *pl_packet_acquire(struct pl_packet_pool *pool, size_t bytes);

/* Return a buffer to its pool. */
void pl_packet_release(struct pl_packet_pool *pool, struct pl_packet *packet);

size_t pl_packet_capacity(const struct pl_packet *packet);
