#include "streams/pipeline.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.h"

/* The default maximum of an unprivileged user's pipe, and smaller sizes where it is lower. */
static const int sizes[] = {1 << 20, 1 << 18, 1 << 16};

static bool open_pipe(int ends[2])
{
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
        return false;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (fcntl(ends[1], F_SETPIPE_SZ, sizes[i]) >= 0)
            break;
    return true;
}

bool pl_pipeline_open(struct pl_pipeline *pipeline, const uint8_t *data, size_t size)
{
    *pipeline = PL_PIPELINE_CLOSED;
    if (!open_pipe(pipeline->source) || !open_pipe(pipeline->transit))
        return false;
    /* Fills the pipe; a partly filled one suffices. */
    for (;;) {
        ssize_t count = write(pipeline->source[1], data, size);
        if (count <= 0)
            return pipeline->source_bytes > 0;
        pipeline->source_bytes += (size_t)count;
    }
}

void pl_pipeline_close(struct pl_pipeline *pipeline)
{
    for (int i = 0; i < 2; i++) {
        pl_close(pipeline->source[i]);
        pl_close(pipeline->transit[i]);
    }
    *pipeline = PL_PIPELINE_CLOSED;
}

ssize_t pl_pipeline_send(struct pl_pipeline *pipeline, int fd, size_t maximum, uint64_t *calls)
{
    if (pipeline->waiting_bytes == 0) {
        ssize_t taken =
            tee(pipeline->source[0], pipeline->transit[1], pipeline->source_bytes, SPLICE_F_NONBLOCK);
        ++*calls;
        if (taken <= 0)
            return -1;
        pipeline->waiting_bytes = (size_t)taken;
    }
    size_t bytes = maximum < pipeline->waiting_bytes ? maximum : pipeline->waiting_bytes;
    ssize_t sent = splice(pipeline->transit[0], NULL, fd, NULL, bytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    ++*calls;
    if (sent > 0)
        pipeline->waiting_bytes -= (size_t)sent;
    return sent;
}
