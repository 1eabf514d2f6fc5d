/* Packet buffers in three sizes, shared by reference count, under one bound on memory. One thread. */
#ifndef PL_PACKET_H
#define PL_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PL_PACKET_SMALL_BYTES = 2048, PL_PACKET_MEDIUM_BYTES = 16384, PL_PACKET_BIG_BYTES = 66560 };
enum { PL_PACKET_SIZES = 3 };

struct pl_packet {
    struct pl_packet *next; /* in a free list */
    uint32_t references;    /* deliveries that wait for it */
    uint32_t length_bytes;  /* headers of the device included */
    unsigned size;          /* index of the size class */
    unsigned char data[];
};

struct pl_packet_pool {
    struct pl_packet *free[PL_PACKET_SIZES];
    uint64_t allocated_bytes, maximum_bytes;
};

void pl_packet_pool_init(struct pl_packet_pool *pool, uint64_t maximum_bytes);

/* Free every buffer that lies in the pool; those taken out are the taker's. */
void pl_packet_pool_free(struct pl_packet_pool *pool);

/* Put `count` buffers that hold `bytes` into the pool and touch each page: a first touch later may stall for
 * milliseconds in a virtual machine. Stops quietly at the bound. */
void pl_packet_pool_prefault(struct pl_packet_pool *pool, size_t bytes, size_t count);

/* Take a buffer for at least `bytes`, with no references and length 0. NULL: at the bound, out of memory, or
 * `bytes` above PL_PACKET_BIG_BYTES. */
struct pl_packet *pl_packet_acquire(struct pl_packet_pool *pool, size_t bytes);

/* Give a buffer back to the pool it came from. */
void pl_packet_release(struct pl_packet_pool *pool, struct pl_packet *packet);

size_t pl_packet_capacity(const struct pl_packet *packet);

#endif
