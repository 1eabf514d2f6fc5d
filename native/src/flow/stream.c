#include "flow/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/record.h"
#include "flow/flow_kind.h"
#include "flow/sockopts.h"

struct pl_stream *pl_streams_create(uint32_t count, struct pl_error *error)
{
    struct pl_stream *streams = aligned_alloc(alignof(struct pl_stream), count * sizeof *streams);
    if (streams == NULL) {
        pl_error_set(error, PL_RESOURCES, "streams", ENOMEM, "no memory for %u streams", count);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        streams[i] = (struct pl_stream){.quota_bytes = UINT64_MAX, .number = i, .fd = -1};
    return streams;
}

void pl_streams_free(struct pl_stream *streams, uint32_t count)
{
    for (uint32_t i = 0; streams != NULL && i < count; i++)
        pl_close(streams[i].fd);
    free(streams);
}

int pl_stream_data_fd(const struct pl_stream *stream, const struct pl_flow_kind *kind)
{
    return kind->find_data_fd != NULL ? kind->find_data_fd(stream) : stream->fd;
}

void pl_stream_confirm(struct pl_stream *stream, uint64_t bytes)
{
    pl_put64(stream->confirmation, bytes);
    stream->confirmed = PL_CONFIRMATION_BYTES;
}

void pl_streams_write_sockets(struct pl_json *j, const struct pl_stream *streams, uint32_t count,
                              const struct pl_flow_kind *kind)
{
    struct pl_socket_facts facts;
    pl_read_socket_facts(pl_stream_data_fd(&streams[0], kind), &facts);
    pl_json_string(j, "congestion", facts.congestion[0] != 0 ? facts.congestion : NULL);
    pl_json_begin_array(j, "sockets");
    for (uint32_t i = 0; i < count; i++) {
        pl_read_socket_facts(pl_stream_data_fd(&streams[i], kind), &facts);
        const struct pl_socket_record record = {
            .stream = i,
            .sndbuf_bytes = facts.sndbuf_bytes,
            .rcvbuf_bytes = facts.rcvbuf_bytes,
            .congestion = facts.congestion[0] != 0 ? facts.congestion : NULL,
            .mss_bytes = facts.mss_bytes,
            .traffic_class = facts.traffic_class,
            .max_pacing_bytes_per_s = facts.pacing_bytes_per_s,
            .local_port = facts.local_port,
            .remote_port = facts.remote_port,
        };
        pl_record_write_object(j, NULL, &pl_socket_type, &record);
    }
    pl_json_end_array(j);
}
