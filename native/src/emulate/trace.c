#include "emulate/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"

static const uint32_t MAGIC = 0x504c5452; /* "PLTR" */

/* False with errno when not all bytes could be written. */
static bool write_all(int fd, const unsigned char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written > 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

static bool fail(struct pl_error *error, const char *path, const char *what, int errno_value)
{
    return pl_error_set(error, PL_SETUP, "trace", errno_value, "the trace '%.120s' %s", path, what);
}

bool pl_trace_open(struct pl_trace *trace, const char *path, uint64_t maximum_bytes, struct pl_error *error)
{
    memset(trace, 0, sizeof *trace);
    /* Non-blocking: opening a pipe without a reader would block before it could be refused. */
    trace->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (trace->fd < 0)
        return fail(error, path, "cannot be written", errno);
    struct stat status;
    if (fstat(trace->fd, &status) != 0 || !S_ISREG(status.st_mode))
        return fail(error, path, "must be a regular file", 0);
    if (ftruncate(trace->fd, 0) != 0)
        return fail(error, path, "cannot be written", errno);
    unsigned char header[PL_TRACE_HEADER_BYTES];
    trace->origin_ns = pl_now_ns();
    pl_put32(header, MAGIC);
    pl_put16(header + 4, PL_TRACE_VERSION);
    pl_put16(header + 6, PL_TRACE_RECORD_BYTES);
    pl_put64(header + 8, (uint64_t)trace->origin_ns);
    if (!write_all(trace->fd, header, sizeof header))
        return fail(error, path, "cannot be written", errno);
    uint64_t room_bytes = maximum_bytes > sizeof header ? maximum_bytes - sizeof header : 0;
    trace->records_left = room_bytes / PL_TRACE_RECORD_BYTES;
    return true;
}

void pl_trace_add(struct pl_trace *trace, const struct pl_trace_packet *packet,
                  const struct pl_link_verdict *verdict)
{
    if (trace->buffered_records == PL_TRACE_BUFFER_RECORDS)
        pl_trace_flush(trace);
    if (trace->records_left == 0 || trace->errno_value != 0) {
        trace->skipped_records++;
        return;
    }
    bool delivered = verdict->fate == PL_FATE_DELIVERED;
    pl_ns due_ns = delivered ? verdict->due_ns - trace->origin_ns : -1;
    unsigned flags = (verdict->mark ? PL_TRACE_MARKED : 0U) |
                     (verdict->duplicate ? PL_TRACE_DUPLICATED : 0U) |
                     (packet->segment ? PL_TRACE_SEGMENT : 0U);
    unsigned char *record = trace->buffer + trace->buffered_records * PL_TRACE_RECORD_BYTES;
    pl_put64(record, (uint64_t)(packet->arrival_ns - trace->origin_ns));
    pl_put64(record + 8, (uint64_t)due_ns);
    pl_put32(record + 16, packet->ip_bytes);
    record[20] = packet->direction;
    record[21] = (unsigned char)verdict->fate;
    record[22] = (unsigned char)flags;
    record[23] = 0;
    trace->buffered_records++;
    trace->records_left--;
}

void pl_trace_flush(struct pl_trace *trace)
{
    size_t records = trace->buffered_records;
    trace->buffered_records = 0;
    if (records == 0 || write_all(trace->fd, trace->buffer, records * PL_TRACE_RECORD_BYTES)) {
        trace->written_records += records;
        return;
    }
    trace->errno_value = errno != 0 ? errno : EIO;
    trace->skipped_records += records;
    /* Removes a partial record at the end. Where this fails too, readers see an incomplete one. */
    uint64_t whole_bytes = PL_TRACE_HEADER_BYTES + trace->written_records * PL_TRACE_RECORD_BYTES;
    int ignored = ftruncate(trace->fd, (off_t)whole_bytes);
    (void)ignored;
}

void pl_trace_close(struct pl_trace *trace)
{
    if (trace->fd >= 0) {
        pl_trace_flush(trace);
        (void)close(trace->fd);
        trace->fd = -1;
    }
}
