/* Zero-copy sending: pages filled once are duplicated from pipe to pipe (tee) and moved into sockets
 * (splice). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One worker's pipes. All streams carry the same bytes, so bytes that one socket did not take go to the next.
 */
struct pl_pipeline {
    int source[2]; /* filled once, never read from */
    int transit[2];
    size_t source_bytes;
    size_t waiting_bytes; /* in transit */
};

#define PL_PIPELINE_CLOSED ((struct pl_pipeline){.source = {-1, -1}, .transit = {-1, -1}})

/* Opens both pipes, as large as the user is allowed, and fills the source from `data`. False with errno set.
 * Close it in either case. */
bool pl_pipeline_open(struct pl_pipeline *pipeline, const uint8_t *data, size_t size);
void pl_pipeline_close(struct pl_pipeline *pipeline);

/* Moves up to `most` bytes into a non-blocking socket; returns as send(2) does. Adds the system calls made to
 * `calls`. */
ssize_t pl_pipeline_send(struct pl_pipeline *pipeline, int fd, size_t maximum, uint64_t *calls);
