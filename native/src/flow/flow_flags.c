#include "flow/flow_flags.h"

#include "base/clock.h"
#include "base/lower_priority.h"
#include "base/output.h"
#include "datagrams/datagram_header.h"

#define HOUR_NS (INT64_C(3600) * PL_NS_PER_S)
#define MAX_CHUNK_BYTES (16 << 20)
#define MAX_RATE INT64_C(100000000000000)

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The table of a subcommand, made of several groups. */
struct table {
    struct pl_option options[PL_MAX_OPTIONS];
    size_t count;
};

static void add(struct table *table, const struct pl_option *options, size_t count)
{
    for (size_t i = 0; i < count && table->count < PL_MAX_OPTIONS; i++)
        table->options[table->count++] = options[i];
}

/* First: who pipes the output looks for it. */
static void add_output(struct table *table, struct pl_flow *flow)
{
    const struct pl_option output[] = {
        pl_output_option("Output", &flow->output_text),
    };
    add(table, output, LENGTH(output));
}

static void add_peer(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Peer";
    const struct pl_option sending[] = {
        pl_option_positional(group, "address", &flow->address,
                             "the receiver: a name, an IPv4 or IPv6 address, a Unix path, a vsock CID"),
        pl_option_integer(group, "port", &flow->port, 1, 65535, "its port"),
        pl_option_integer(group, "connect-timeout-ns", &flow->admission_timeout_ns, PL_NS_PER_MS, HOUR_NS,
                          "time until every stream must be admitted"),
    };
    const struct pl_option accepting[] = {
        pl_option_text(group, "port", &flow->port_text,
                       "port to listen on, or a range such as 5201-5300: the first free one; 0: any"),
        pl_option_integer(group, "accept-timeout-ns", &flow->admission_timeout_ns, 0, HOUR_NS,
                          "time until every stream must be admitted; 0: no limit"),
        pl_option_integer(group, "idle-timeout-ns", &flow->idle_timeout_ns, 0, HOUR_NS,
                          "end a flow that is incomplete or silent for this time; 0: never (default 30s; "
                          "with --control never)"),
        pl_option_integer(group, "flows", &flow->flows, 0, 1000000,
                          "flows to serve, one after the other; 0: no limit"),
    };
    const struct pl_option common[] = {
        pl_option_text(
            group, "token", &flow->token_text,
            "secret of the flow, 32 hexadecimal digits or stdin: its first line; both ends must give the "
            "same"),
        pl_option_text(group, "bind", &flow->bind, "own address; to listen, any: all of IPv4 and IPv6"),
        pl_option_text(group, "device", &flow->marking.device, "device to use (SO_BINDTODEVICE)"),
        pl_option_text(group, "transport", &flow->transport_text,
                       "tcp, mptcp, unix, sctp, vsock, udp; of messages also unix-datagram, pipe, "
                       "shared-memory, eventfd"),
    };
    add(table, flow->accepting ? accepting : sending, flow->accepting ? LENGTH(accepting) : LENGTH(sending));
    add(table, common, LENGTH(common));
}

static void add_load(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Load";
    const int64_t unset = flow->accepting ? -1 : 0; /* the sender's hello tells a receiver */
    const struct pl_option load[] = {
        pl_option_integer(group, "streams", &flow->streams, flow->accepting ? 0 : 1, PL_MAX_STREAMS,
                          flow->accepting ? "connections of the flow; 0: as the sender states"
                                          : "connections of the flow"),
        pl_option_text(group, "direction", &flow->direction_text,
                       flow->accepting
                           ? "any, forward, reverse or both; other directions are rejected"
                           : "forward: this side sends; reverse: the receiver does; both: at once"),
        pl_option_integer(group, "warmup-ns", &flow->warmup_ns, unset, PL_MAX_WARMUP_NS,
                          flow->accepting ? "time before the steady window; -1: as the sender states"
                                          : "time before the steady window"),
        pl_option_integer(group, "duration-ns", &flow->duration_ns, flow->accepting ? -1 : PL_MIN_DURATION_NS,
                          PL_MAX_DURATION_NS,
                          flow->accepting ? "length of the steady window; -1: as the sender states"
                                          : "length of the steady window"),
        pl_option_integer(group, "bytes", &flow->bytes, unset, INT64_MAX,
                          flow->accepting
                              ? "bytes to carry in each direction instead; -1: as the sender states"
                              : "bytes to carry in each direction instead; 0: by time"),
        pl_option_integer(group, "rate-bits-per-s", &flow->rate_bits_per_s, 0, MAX_RATE,
                          "rate limit of all streams together; 0: no limit"),
        pl_option_integer(group, "stream-rate-bits-per-s", &flow->stream_rate_bits_per_s, 0, MAX_RATE,
                          "rate limit of each stream; 0: no limit"),
        pl_option_text(group, "pacing", &flow->pacing_text,
                       "who paces: kernel, user, txtime (of datagrams: SO_TXTIME), or auto"),
    };
    add(table, load, LENGTH(load));
}

static void add_sockets(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Sockets of this end";
    const struct pl_option sockets[] = {
        pl_option_integer(group, "window-bytes", &flow->window_bytes, 0, INT32_MAX / 2,
                          "SO_SNDBUF and SO_RCVBUF requested per stream; 0: autotuning"),
        pl_option_text(group, "congestion", &flow->congestion,
                       "congestion control; none: the kernel's default"),
        pl_option_integer(group, "mss-bytes", &flow->mss_bytes, 0, 65535,
                          "largest segment (TCP_MAXSEG); 0: the path's"),
        pl_option_switch(group, "no-delay", &flow->no_delay, "send small segments at once (TCP_NODELAY)"),
        pl_option_integer(group, "dscp", &flow->marking.dscp, -1, 63,
                          "differentiated services code point; -1: none set"),
        pl_option_integer(group, "ecn", &flow->marking.ecn, -1, 3,
                          "ECN bits, where the kernel lets them be set; -1: none set"),
        pl_option_integer(group, "fwmark", &flow->marking.fwmark, -1, UINT32_MAX,
                          "mark for routing and firewall; -1: none"),
    };
    add(table, sockets, LENGTH(sockets));
}

static void add_work(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Work";
    const struct pl_option work[] = {
        pl_option_integer(group, "workers", &flow->workers, 0, PL_MAX_WORKERS,
                          "worker threads; 0: as many as cores or streams, whichever is less"),
        pl_option_text(group, "pin", &flow->pin_text, "cores to pin the workers to, such as 0,1"),
        pl_option_text(group, "transfer", &flow->transfer_text,
                       "copy: as an application does; zero-copy: send by splice, discard in the kernel"),
        pl_option_integer(group, "write-bytes", &flow->write_bytes, 0, MAX_CHUNK_BYTES,
                          "bytes of one write; 0: the fast size, at most a quarter of the requested window"),
        pl_option_integer(group, "read-bytes", &flow->read_bytes, 0, MAX_CHUNK_BYTES,
                          "bytes of one read; 0: the fast size"),
        pl_option_integer(group, "nice", &flow->nice, 0, PL_NICE_MAX,
                          "niceness of this end, as of a load in the background; 0: as it is started"),
    };
    add(table, work, LENGTH(work));
}

static void add_messages(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Messages";
    struct pl_message_settings *messages = &flow->messages;
    const struct pl_option sending[] = {
        pl_option_integer(group, "message-bytes", &messages->bytes, 0, PL_MESSAGE_MAX_BYTES,
                          "size of each message, of which the receiver checks order and number; 0: none"),
        pl_option_text(group, "encoding", &flow->message_words.encoding,
                       "fixed: a number and bytes; protobuf: serialised and parsed"),
        pl_option_text(
            group, "placement", &flow->message_words.placement,
            "apart: the receiver is another process; threaded, fused: source and sink in this one"),
        pl_option_switch(group, "reply", &messages->replies,
                         "the receiver returns each message, and its round trip is measured"),
        pl_option_integer(group, "messages-per-s", &messages->rate_per_s, 0, PL_MESSAGE_RATE_MAX,
                          "offered rate of all streams; 0: as fast as possible, with --reply one at a time"),
        pl_option_text(group, "receivers", &flow->receivers_text,
                       "several receivers, ADDRESS:PORT,ADDRESS:PORT, each with its share of the streams"),
        pl_option_integer(group, "batch-bytes", &messages->batch_bytes, 0, PL_BATCH_MAX_BYTES,
                          "messages sent in one call; 0: each on its own"),
        pl_option_integer(group, "batch-min-delay-ns", &messages->batch_min_delay_ns, 0, PL_NS_PER_S,
                          "time that a batch waits for further messages"),
        pl_option_integer(group, "batch-max-delay-ns", &messages->batch_max_delay_ns, 0, PL_NS_PER_S,
                          "age of the first message at which a batch is sent; 0: no limit"),
        pl_option_switch(group, "cork", &messages->cork, "let the kernel fill segments (TCP_CORK)"),
        pl_option_integer(
            group, "queue-bytes", &messages->queue_bytes, 0, INT32_MAX,
            "room of the queue of shared-memory, eventfd and --placement threaded: a power of two"),
    };
    const struct pl_option both[] = {
        pl_option_text(group, "wait", &flow->message_words.wait,
                       "block: sleep for messages; poll: spin for them"),
        pl_option_integer(
            group, "priority", &messages->priority, 0, 98,
            "real-time priority of the threads (SCHED_FIFO), the main one has the next; 0: none"),
    };
    if (!flow->accepting)
        add(table, sending, LENGTH(sending));
    add(table, both, LENGTH(both));
}

static void add_datagrams(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Datagrams (--transport udp without --message-bytes)";
    struct pl_datagram_settings *datagrams = &flow->datagrams;
    const struct pl_option sending[] = {
        pl_option_integer(group, "datagram-bytes", &datagrams->bytes, 0, PL_DATAGRAM_MAX_PAYLOAD_BYTES,
                          "payload of each datagram; 0: the most that the path's MTU carries"),
        pl_option_integer(
            group, "packets-per-s", &datagrams->packets_per_s, 0, PL_PACKET_RATE_MAX,
            "offered datagrams of all streams in each direction, within the limits of rate; 0: by those"),
        pl_option_switch(group, "gso", &datagrams->gso,
                         "hand several datagrams to the kernel as one super-packet (UDP_SEGMENT)"),
    };
    const struct pl_option both[] = {
        pl_option_switch(group, "gro", &datagrams->gro,
                         "let the kernel coalesce received datagrams (UDP_GRO)"),
    };
    if (!flow->accepting)
        add(table, sending, LENGTH(sending));
    add(table, both, LENGTH(both));
}

static void add_records(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Records";
    const struct pl_option records[] = {
        pl_option_integer(group, "interval-ns", &flow->interval_ns, 10 * PL_NS_PER_MS, 10 * PL_NS_PER_S,
                          "time between two records"),
        pl_option_text(group, "tcp-info", &flow->tcp_info_text,
                       "none, fields, or raw: the kernel's whole struct as well"),
        pl_option_text(group, "control", &flow->control, "stdin: read the commands go and stop from there"),
    };
    add(table, records, LENGTH(records));
}

static void add_limits(struct table *table, struct pl_flow *flow)
{
    static const char group[] = "Limits";
    const struct pl_option limits[] = {
        pl_option_integer(group, "drain-timeout-ns", &flow->drain_timeout_ns, 0, HOUR_NS,
                          "time-out of the drain after the steady window"),
        pl_option_integer(
            group, "volume-limit-bytes", &flow->volume_limit_bytes, 0, INT64_MAX,
            "end at this many bytes, exceeded by at most one read or write per worker; 0: no limit"),
        pl_option_integer(group, "time-limit-ns", &flow->time_limit_ns, 0, 7 * (24 * HOUR_NS),
                          "end after this time in any case; 0: no limit"),
        pl_option_integer(group, "memory-limit-bytes", &flow->memory_limit_bytes, 16 << 20, INT64_MAX,
                          "memory that this process may use for data"),
    };
    add(table, limits, LENGTH(limits));
}

enum pl_options_outcome pl_flow_read_flags(struct pl_flow *flow, int argc, char **argv,
                                           struct pl_error *error)
{
    struct table table = {.count = 0};
    add_output(&table, flow);
    add_peer(&table, flow);
    add_load(&table, flow);
    add_sockets(&table, flow);
    add_work(&table, flow);
    add_messages(&table, flow);
    add_datagrams(&table, flow);
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
