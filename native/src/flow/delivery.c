#include "flow/delivery.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sctp.h> /* needs the headers above */

#include "base/bytes.h"
#include "base/relaxed.h"
#include "flow/tcp_info.h"

/* Pending and unacknowledged chunks of an SCTP association; 0 when it is gone. */
static uint64_t count_sctp_chunks(int fd)
{
    struct sctp_status status = {0};
    socklen_t length = sizeof status;
    if (getsockopt(fd, IPPROTO_SCTP, SCTP_STATUS, &status, &length) != 0)
        return 0;
    return (uint64_t)status.sstat_unackdata + status.sstat_penddata;
}

/* SIOCOUTQ: bytes taken and not acknowledged, plus one while the FIN is not acknowledged. */
static uint64_t count_queued(int fd)
{
    int queued = 0;
    return ioctl(fd, SIOCOUTQ, &queued) == 0 && queued > 0 ? (uint64_t)queued : 0;
}

uint64_t pl_delivery_progress(const struct pl_stream *stream, enum pl_transport transport)
{
    uint64_t progress = pl_load_relaxed(&stream->received_bytes);
    if (transport == PL_SCTP)
        return progress - count_sctp_chunks(stream->fd);
    struct pl_tcp_info info = {0};
    uint64_t count;
    if (pl_transport_is_tcp(transport)) {
        (void)pl_tcp_info_read(stream->fd, &info, NULL);
        progress += pl_tcp_info_find(&info, "delivered_segments", &count) ? count : 0;
        progress += info.data_segments_in;
    }
    if (transport == PL_TCP && pl_tcp_info_find(&info, "bytes_acked", &count))
        return progress + count;
    /* Leaves out sent bytes, since a worker may be in the middle of a write: this can only hide progress. */
    return progress - count_queued(stream->fd);
}

int64_t pl_delivery_missing_bytes(const struct pl_stream *stream, enum pl_transport transport)
{
    uint64_t sent = pl_load_relaxed(&stream->sent_bytes);
    if (stream->confirmed == PL_CONFIRMATION_BYTES) {
        uint64_t received = pl_get64(stream->confirmation);
        return received < sent ? (int64_t)(sent - received) : 0;
    }
    if (!pl_transport_is_tcp(transport))
        return -1;
    uint64_t queued = count_queued(stream->fd);
    return (int64_t)(queued > 0 && stream->shut ? queued - 1 : queued);
}

void pl_delivery_reset(struct pl_stream *stream)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    if (stream->fd < 0)
        return;
    (void)setsockopt(stream->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    /* MPTCP resets its subflows only when it is disconnected. */
    (void)connect(stream->fd, &nobody, sizeof nobody);
    (void)close(stream->fd);
    stream->fd = -1;
}
