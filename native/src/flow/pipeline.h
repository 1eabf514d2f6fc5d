/* Sending without a copy: pages filled once are duplicated from pipe to pipe and moved into sockets. */
#ifndef PL_PIPELINE_H
#define PL_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One worker's pipes. All streams carry the same bytes, so what one could not take goes to the next. */
struct pl_pipeline {
    int source[2]; /* filled once, never read from */
    int transit[2];
    size_t source_bytes;
    size_t waiting_bytes; /* in transit */
};

#define PL_PIPELINE_CLOSED ((struct pl_pipeline){.source = {-1, -1}, .transit = {-1, -1}})

/* Opens both pipes, as large as this user may have them, and fills the source from `data`. False with errno
 * set. Close it in either case. */
bool pl_pipeline_open(struct pl_pipeline *pipeline, const uint8_t *data, size_t size);
void pl_pipeline_close(struct pl_pipeline *pipeline);

/* Moves up to `most` bytes into a non-blocking socket; as send(2), with -1 and errno. `calls` is raised by
 * the system calls made. */
ssize_t pl_pipeline_send(struct pl_pipeline *pipeline, int fd, size_t most, uint64_t *calls);

#endif
