#include "flow/flow_flags.h"

#include "base/clock.h"

#define HOUR_NS (INT64_C(3600) * PL_NS_PER_S)
#define MAX_CHUNK_BYTES (16 << 20)
#define MAX_RATE INT64_C(100000000000000)

/* One line each, since a table of forty flags is read as a table. */
#define INTEGER(flag, field, low_, high_, text)                                                              \
    {                                                                                                        \
        .name = (flag), .kind = PL_OPTION_INT64, .target = &flow->field, .minimum = (low_),                  \
        .maximum = (high_), .help = (text), .group = group                                                   \
    }
#define TEXT(flag, field, text)                                                                              \
    {                                                                                                        \
        .name = (flag), .kind = PL_OPTION_STRING, .target = &flow->field, .help = (text), .group = group     \
    }
#define POSITIONAL(flag, field, text)                                                                        \
    {                                                                                                        \
        .name = (flag), .kind = PL_OPTION_STRING, .target = &flow->field, .help = (text), .group = group,    \
        .positional = true                                                                                   \
    }
#define SWITCH(flag, field, text)                                                                            \
    {                                                                                                        \
        .name = (flag), .kind = PL_OPTION_SWITCH, .target = &flow->field, .help = (text), .group = group     \
    }
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Collects the groups of a subcommand. */
struct table {
    struct pl_option options[PL_MAX_OPTIONS];
    size_t count;
};

static void add(struct table *table, const struct pl_option *options, size_t count)
{
    for (size_t i = 0; i < count && table->count < PL_MAX_OPTIONS; i++)
        table->options[table->count++] = options[i];
}

static void add_peer(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Peer";
    const struct pl_option sending[] = {
        POSITIONAL("address", address,
                   "the receiver: a name, an IPv4 or IPv6 address, a Unix path, a vsock CID"),
        INTEGER("port", port, 1, 65535, "its port"),
        INTEGER("connect-timeout-ns", admission_timeout_ns, PL_NS_PER_MS, HOUR_NS,
                "time until every stream must be admitted"),
    };
    const struct pl_option accepting[] = {
        TEXT("port", port_text,
             "port to listen on, or a range such as 5201-5300: the first free one; 0: any"),
        INTEGER("accept-timeout-ns", admission_timeout_ns, 0, HOUR_NS,
                "time until every stream must be admitted; 0: no limit"),
        INTEGER("flows", flows, 0, 1000000, "flows to serve, one after the other; 0: until it is ended"),
    };
    const struct pl_option common[] = {
        TEXT("token", token_text,
             "secret of the flow, 32 hexadecimal digits or stdin: its first line; both ends must give the "
             "same"),
        TEXT("bind", bind, "own address"),
        TEXT("device", marking.device, "device to use (SO_BINDTODEVICE)"),
        TEXT("transport", transport_text, "tcp, mptcp, unix, sctp or vsock"),
    };
    add(table, flow->accepting ? accepting : sending, flow->accepting ? LENGTH(accepting) : LENGTH(sending));
    add(table, common, LENGTH(common));
}

static void add_load(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Load";
    const int64_t unset = flow->accepting ? -1 : 0; /* a receiver is told by the sender */
    const struct pl_option load[] = {
        INTEGER("streams", streams, flow->accepting ? 0 : 1, PL_MAX_STREAMS,
                flow->accepting ? "connections of the flow; 0: as the sender says"
                                : "connections of the flow"),
        TEXT("direction", direction_text,
             flow->accepting ? "any, forward, reverse or both; what is not allowed is turned away"
                             : "forward: this side sends; reverse: the receiver does; both: at once"),
        INTEGER("warmup-ns", warmup_ns, unset, PL_MAX_WARMUP_NS,
                flow->accepting ? "time before the steady window; -1: as the sender says"
                                : "time before the steady window"),
        INTEGER("duration-ns", duration_ns, flow->accepting ? -1 : PL_MIN_DURATION_NS, PL_MAX_DURATION_NS,
                flow->accepting ? "length of the steady window; -1: as the sender says"
                                : "length of the steady window"),
        INTEGER("bytes", bytes, unset, INT64_MAX,
                flow->accepting ? "bytes to carry in each direction instead; -1: as the sender says"
                                : "end after so many bytes in each direction instead; 0: by time"),
        INTEGER("rate-bits-per-s", rate_bits_per_s, 0, MAX_RATE,
                "send no faster, all streams together; 0: no limit"),
        INTEGER("stream-rate-bits-per-s", stream_rate_bits_per_s, 0, MAX_RATE,
                "send no faster on each stream; 0: no limit"),
        TEXT("pacing", pacing_text, "who keeps to the rate: kernel, user, or auto"),
    };
    add(table, load, LENGTH(load));
}

static void add_sockets(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Sockets of this end";
    const struct pl_option sockets[] = {
        INTEGER("window-bytes", window_bytes, 0, INT32_MAX / 2,
                "SO_SNDBUF and SO_RCVBUF asked for per stream; 0: autotuning"),
        TEXT("congestion", congestion, "congestion control; none: the kernel's default"),
        INTEGER("mss-bytes", mss_bytes, 0, 65535, "largest segment (TCP_MAXSEG); 0: the path's"),
        SWITCH("no-delay", no_delay, "send small segments at once (TCP_NODELAY)"),
        INTEGER("dscp", marking.dscp, -1, 63, "differentiated services code point; -1: none set"),
        INTEGER("ecn", marking.ecn, -1, 3, "ECN bits, where the kernel lets them be set; -1: none set"),
        INTEGER("fwmark", marking.fwmark, -1, UINT32_MAX, "mark for routing and firewall; -1: none"),
    };
    add(table, sockets, LENGTH(sockets));
}

static void add_work(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Work";
    const struct pl_option work[] = {
        INTEGER("workers", workers, 0, PL_MAX_WORKERS,
                "worker threads; 0: as many as cores or streams, whichever is less"),
        TEXT("pin", pin_text, "cores to pin the workers to, such as 0,1"),
        TEXT("transfer", transfer_text, "copy: what an application pays; zero-copy: splice out, discard in"),
        INTEGER("write-bytes", write_bytes, 0, MAX_CHUNK_BYTES,
                "bytes of one write; 0: the fast size, at most a quarter of the window asked"),
        INTEGER("read-bytes", read_bytes, 0, MAX_CHUNK_BYTES, "bytes of one read; 0: the fast size"),
    };
    add(table, work, LENGTH(work));
}

static void add_records(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Records";
    const struct pl_option records[] = {
        INTEGER("interval-ns", interval_ns, 10 * PL_NS_PER_MS, 10 * PL_NS_PER_S, "time between two records"),
        TEXT("tcp-info", tcp_info_text, "none, fields, or raw: the kernel's whole struct as well"),
        TEXT("output", output_text, "human, json, or auto: human at a terminal"),
        TEXT("control", control, "stdin: read the commands go and stop from there"),
    };
    add(table, records, LENGTH(records));
}

static void add_limits(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Limits";
    const struct pl_option limits[] = {
        INTEGER("drain-timeout-ns", drain_timeout_ns, 0, HOUR_NS,
                "time that the end of the streams may take after the steady window"),
        INTEGER("volume-limit-bytes", volume_limit_bytes, 0, INT64_MAX,
                "end at this many bytes, exceeded by at most one read or write per worker; 0: no limit"),
        INTEGER("time-limit-ns", time_limit_ns, 0, 7 * (24 * HOUR_NS),
                "end after this time, whatever happens; 0: no limit"),
        INTEGER("memory-limit-bytes", memory_limit_bytes, 16 << 20, INT64_MAX,
                "memory that this process may use for data"),
    };
    add(table, limits, LENGTH(limits));
}

enum pl_options_outcome pl_flow_read_flags(struct pl_flow *flow, int argc, char **argv,
                                           struct pl_error *error)
{
    struct table table = {.count = 0};
    add_peer(&table, flow);
    add_load(&table, flow);
    add_sockets(&table, flow);
    add_work(&table, flow);
    add_records(&table, flow);
    add_limits(&table, flow);
    const struct pl_options options = {
        .subcommand = flow->accepting ? "receive" : "send",
        .about = flow->accepting ? "Admits the streams of one flow, carries their bytes and counts them."
                                 : "Carries bytes over many streams to or from `pathlab-engine receive`.",
        .table = table.options,
        .count = table.count,
    };
    return pl_options_parse(&options, argc, argv, error);
}
