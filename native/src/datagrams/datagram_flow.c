#include "datagrams/datagram_flow.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/descriptor.h"
#include "base/options.h"
#include "datagrams/datagram_header.h"
#include "streams/stream_flow.h"

#define MAX_RATE INT64_C(100000000000000)
/* Buffers of one call that receives. */
#define CALL_BYTES (256 << 10)
#define RECEIVE_MIN 4
#define RECEIVE_MAX 64
#define COALESCED_BYTES INT64_C(65536)
#define COALESCED_MAX 16

static const char *find_misplaced(const struct pl_flow *flow)
{
    const struct pl_datagram_settings *datagrams = &flow->datagrams;
    if (datagrams->bytes > 0)
        return "datagram-bytes";
    if (datagrams->packets_per_s > 0)
        return "packets-per-s";
    if (datagrams->gso)
        return "gso";
    return NULL;
}

static const char *find_contradiction(const struct pl_flow *flow)
{
    const struct pl_datagram_settings *datagrams = &flow->datagrams;
    if (datagrams->bytes > 0 && datagrams->bytes < PL_DATAGRAM_MIN_BYTES)
        return "--datagram-bytes must be at least 32: a datagram has a header of 21 bytes";
    if (flow->bytes > 0)
        return "--bytes is for streams of bytes: datagrams can be lost: use --duration-ns";
    if (flow->zero_copy)
        return "--transfer zero-copy is for streams of bytes: leave it out with --transport udp";
    if (flow->write_bytes > 0 || flow->read_bytes > 0)
        return "--write-bytes and --read-bytes are for streams of bytes: use --datagram-bytes";
    return NULL;
}

bool pl_datagram_flow_check(struct pl_flow *flow, struct pl_error *error)
{
    static const char *const pacings[] = {"auto", "kernel", "user", "txtime", NULL};
    struct pl_datagram_settings *datagrams = &flow->datagrams;
    int pacing = pl_parse_choice("pacing", flow->pacing_text, pacings, error);
    if (pacing < 0)
        return false;
    datagrams->pacing = (enum pl_pacing_request)pacing;
    datagrams->counts_ecn = flow->udp && flow->marking.ecn >= 0;
    if (datagrams->gro && !flow->udp)
        return pl_error_usage(error, "--gro needs --transport udp");
    if (datagrams->pacing == PL_PACE_BY_TXTIME && !flow->udp)
        return pl_error_usage(error, "--pacing txtime needs --transport udp");
    if (flow->accepting)
        return true;
    datagrams->carried = flow->udp && flow->messages.bytes == 0;
    const char *misplaced = datagrams->carried ? NULL : find_misplaced(flow);
    if (misplaced == NULL && !datagrams->carried && datagrams->gro)
        misplaced = "gro";
    if (misplaced != NULL)
        return pl_error_usage(error, "--%s needs --transport udp without --message-bytes", misplaced);
    const char *contradiction = datagrams->carried ? find_contradiction(flow) : NULL;
    return contradiction == NULL || pl_error_usage(error, "%s", contradiction);
}

int64_t pl_datagram_flow_rate(const struct pl_flow *flow)
{
    const struct pl_datagram_settings *datagrams = &flow->datagrams;
    int64_t rate =
        flow->accepting ? datagrams->rate_bits_per_s : datagrams->packets_per_s * 8 * datagrams->bytes;
    if (rate > MAX_RATE)
        rate = MAX_RATE;
    if (flow->rate_bits_per_s > 0 && (rate == 0 || flow->rate_bits_per_s < rate))
        rate = flow->rate_bits_per_s;
    int64_t limit = flow->stream_rate_bits_per_s;
    if (limit > 0 && (rate == 0 || limit <= rate / flow->streams))
        rate = limit < MAX_RATE / flow->streams ? limit * flow->streams : MAX_RATE;
    return rate;
}

void pl_datagram_flow_state(const struct pl_flow *flow, struct pl_hello *hello)
{
    const struct pl_datagram_settings *datagrams = &flow->datagrams;
    if (!datagrams->carried)
        return;
    hello->datagram_bytes = (uint32_t)datagrams->bytes;
    hello->datagram_flags =
        (uint16_t)((datagrams->gso ? PL_HELLO_SEGMENTED : 0) | (datagrams->counts_ecn ? PL_HELLO_ECN : 0));
    hello->pacing = (uint16_t)datagrams->pacing;
    hello->rate_bits_per_s = pl_datagram_flow_rate(flow);
}

bool pl_datagram_flow_agrees(const struct pl_flow *flow, const struct pl_hello *hello)
{
    const struct pl_datagram_settings *datagrams = &flow->datagrams;
    bool same = (int64_t)hello->datagram_bytes == datagrams->bytes &&
                hello->rate_bits_per_s == datagrams->rate_bits_per_s &&
                ((hello->datagram_flags & PL_HELLO_SEGMENTED) != 0) == datagrams->gso;
    if (flow->messages.agreed && !same)
        return false;
    if (hello->datagram_bytes == 0)
        return hello->datagram_flags == 0 && hello->pacing == 0 && hello->rate_bits_per_s == 0;
    return flow->transport == PL_TCP && hello->carrier == PL_CARRIER_UDP && hello->message_bytes == 0 &&
           hello->datagram_bytes >= PL_DATAGRAM_MIN_BYTES &&
           hello->datagram_bytes <= PL_DATAGRAM_MAX_PAYLOAD_BYTES &&
           (hello->datagram_flags & ~(PL_HELLO_SEGMENTED | PL_HELLO_ECN)) == 0 &&
           hello->pacing < PL_PACE_REQUESTS && hello->rate_bits_per_s >= 0 &&
           hello->rate_bits_per_s <= MAX_RATE && hello->bytes == 0 && flow->bytes <= 0;
}

void pl_datagram_flow_adopt(struct pl_flow *flow, const struct pl_hello *hello)
{
    struct pl_datagram_settings *datagrams = &flow->datagrams;
    if (hello->datagram_bytes == 0)
        return;
    datagrams->carried = true;
    datagrams->bytes = hello->datagram_bytes;
    datagrams->gso = (hello->datagram_flags & PL_HELLO_SEGMENTED) != 0;
    datagrams->counts_ecn = datagrams->counts_ecn || (hello->datagram_flags & PL_HELLO_ECN) != 0;
    datagrams->rate_bits_per_s = hello->rate_bits_per_s;
    if (datagrams->pacing == PL_PACE_AUTO) /* this end's own flag has precedence */
        datagrams->pacing = (enum pl_pacing_request)hello->pacing;
}

void pl_datagram_flow_derive(struct pl_flow *flow)
{
    static const enum pl_pacing pacings[PL_PACE_REQUESTS] = {[PL_PACE_AUTO] = PL_PACING_USER,
                                                             [PL_PACE_BY_KERNEL] = PL_PACING_KERNEL,
                                                             [PL_PACE_BY_USER] = PL_PACING_USER,
                                                             [PL_PACE_BY_TXTIME] = PL_PACING_TXTIME};
    struct pl_datagram_settings *datagrams = &flow->datagrams;
    pl_stream_flow_count_workers(flow);
    int64_t rate = pl_datagram_flow_rate(flow);
    uint32_t streams = (uint32_t)((flow->streams + flow->workers - 1) / flow->workers);
    pl_datagram_settings_derive(datagrams, rate / flow->streams, streams);
    flow->pacing = rate > 0 ? pacings[datagrams->pacing] : PL_PACING_OFF;
    datagrams->offered_bits_per_s = rate;
    datagrams->paced_here = flow->pacing != PL_PACING_KERNEL;
    datagrams->hands_over_early = flow->pacing == PL_PACING_TXTIME;
    flow->write_bytes = pl_datagram_call_bytes(datagrams);
    int64_t count = CALL_BYTES / (datagrams->bytes > 0 ? datagrams->bytes : PL_DATAGRAM_MIN_BYTES);
    count = count < RECEIVE_MIN ? RECEIVE_MIN : count > RECEIVE_MAX ? RECEIVE_MAX : count;
    flow->read_bytes = datagrams->gro ? COALESCED_BYTES * COALESCED_MAX : datagrams->bytes * count;
}

bool pl_datagram_flow_fit(struct pl_flow *flow, int stream_fd, struct pl_error *error)
{
    struct pl_datagram_settings *datagrams = &flow->datagrams;
    struct pl_address peer;
    if (!datagrams->carried)
        return true;
    if (!pl_address_of_peer(stream_fd, &peer))
        return pl_error_set(error, PL_SETUP, "connect", errno, "cannot read the address of the peer");
    bool v6 = pl_address_family(&peer) == AF_INET6;
    /* -1 where the kernel does not know it. */
    int64_t mtu = pl_get_option(stream_fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU);
    int64_t most = mtu < 0 ? PL_DATAGRAM_MAX_PAYLOAD_BYTES : pl_datagram_fit(mtu, v6);
    if (datagrams->bytes > most || most < PL_DATAGRAM_MIN_BYTES)
        return pl_error_set(
            error, PL_SETUP, "connect", EMSGSIZE,
            "--datagram-bytes %lld: the path's MTU of %lld bytes carries %lld at most: use no more",
            (long long)datagrams->bytes, (long long)mtu, (long long)most);
    if (datagrams->bytes == 0) {
        datagrams->bytes = mtu < 0 ? pl_datagram_fit(1500, v6) : most;
        pl_datagram_flow_derive(flow);
    }
    return true;
}
