/* A queue of bytes in memory that two processes or two threads share: one writes, one reads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* How a reader sleeps. A writer that waits for room always sleeps by futex. */
enum pl_ring_wait { PL_RING_FUTEX, PL_RING_EVENT };

struct pl_ring_head;

/* This end's view of one ring. Zero-initialise. */
struct pl_ring {
    struct pl_ring_head *head; /* in the shared memory */
    uint8_t *data;
    size_t bytes; /* room of the queue: a power of two; this end's own, the shared memory is not trusted */
    size_t mapped_bytes;
    enum pl_ring_wait wait;
    int event_fd;  /* borrowed; of PL_RING_EVENT */
    uint64_t tail; /* written so far: this end's own, where it is the writer */
    uint64_t seen; /* read so far: this end's own, where it is the reader */
};

/* Sealed anonymous memory for a ring with room for `bytes`, a power of two. All of it is reserved, so that no
 * later access can fail. -1 with `error` set. */
int pl_ring_create(size_t bytes, struct pl_error *error);
/* Maps a ring of `bytes` that pl_ring_create() made, here or in the peer. False with `error` set when the
 * memory has another size or can still be shrunk. */
bool pl_ring_map(struct pl_ring *ring, int fd, size_t bytes, struct pl_error *error);
void pl_ring_unmap(struct pl_ring *ring);

/* Bytes that can be read now, or be written; -1 (PL_BREACH_QUEUE) when the other side's count is impossible.
 */
ssize_t pl_ring_readable(struct pl_ring *ring);
ssize_t pl_ring_writable(struct pl_ring *ring);

/* Copies `bytes`, for which there must be room, and wakes a reader that sleeps. */
void pl_ring_write(struct pl_ring *ring, const uint8_t *data, size_t bytes);
/* Copies `bytes`, which must be readable, and wakes a writer that sleeps. */
void pl_ring_read(struct pl_ring *ring, uint8_t *data, size_t bytes);

/* Sleep until something can be read or written, the other side has closed, a signal has come, or 100 ms are
 * over, whichever is first. The caller checks again. */
void pl_ring_await_bytes(struct pl_ring *ring);
void pl_ring_await_room(struct pl_ring *ring);

/* The writer's end of the data: what is in the ring can still be read. */
void pl_ring_close_writer(struct pl_ring *ring);
bool pl_ring_is_closed(const struct pl_ring *ring);
