#include "capture/capture_flags.h"

#include <limits.h>
#include <string.h>

#include "base/output.h"
#include "base/resolve.h"
#include "capture/packet_ring.h"

enum { ENTRY_BYTES = 256, SNAP_BYTES_MIN = 60, SNAP_BYTES_MAX = 256, PAYLOAD_BYTES_MAX = 64 };
#define MIB (INT64_C(1) << 20)
#define RING_BYTES_MIN (INT64_C(2) * PL_RING_BLOCK_BYTES)
#define RING_BYTES_MAX (INT64_C(1) << 30)
#define FILE_BYTES_MAX (INT64_C(1) << 40)
#define WEEK_NS (INT64_C(7) * 24 * 3600 * PL_NS_PER_S)

static bool wrong(struct pl_error *error, const char *flag, const char *text, const char *expected)
{
    return pl_error_usage(error, "--%s: '%.60s' %s", flag, text, expected);
}

static bool parse_addresses(const char *flag, const char *text, struct pl_filter_addresses *addresses,
                            struct pl_error *error)
{
    char entry[ENTRY_BYTES];
    for (const char *at = text[0] == 0 ? NULL : text; at != NULL;) {
        if (addresses->count == PL_FILTER_ADDRESSES_MAX || !pl_next_entry(&at, entry, sizeof entry))
            return wrong(error, flag, text, "is not a list of at most 8 addresses");
        if (!pl_resolve(entry, 0, flag, &addresses->list[addresses->count], error))
            return false;
        addresses->count++;
    }
    return true;
}

static bool parse_ports(const char *text, struct pl_packet_filter *filter, struct pl_error *error)
{
    char entry[ENTRY_BYTES];
    for (const char *at = text[0] == 0 ? NULL : text; at != NULL;) {
        int64_t port = 0;
        if (filter->port_count == PL_FILTER_PORTS_MAX || !pl_next_entry(&at, entry, sizeof entry) ||
            !pl_parse_int64(entry, 1, UINT16_MAX, &port))
            return wrong(error, "port", text, "is not a list of at most 8 ports from 1 to 65535");
        filter->ports[filter->port_count++] = (uint16_t)port;
    }
    return true;
}

static bool parse_protocols(const char *text, struct pl_packet_filter *filter, struct pl_error *error)
{
    char entry[ENTRY_BYTES];
    for (const char *at = text; at != NULL;) {
        bool fits = pl_next_entry(&at, entry, sizeof entry);
        if (fits && strcmp(entry, "tcp") == 0)
            filter->tcp = true;
        else if (fits && strcmp(entry, "udp") == 0)
            filter->udp = true;
        else if (fits && strcmp(entry, "sctp") == 0)
            filter->sctp = true;
        else
            return wrong(error, "protocol", text, "is not a list of tcp, udp and sctp");
    }
    return true;
}

static bool check(struct pl_capture_plan *plan, struct pl_error *error)
{
    struct pl_packet_filter *filter = &plan->filter;
    filter->snap_bytes = (uint32_t)plan->snap_bytes;
    filter->udp_payload_bytes = (uint32_t)plan->udp_payload_bytes;
    if ((plan->path[0] != 0) == (plan->descriptor >= 0))
        return pl_error_usage(error, "either --file or --descriptor is needed");
    if (!pl_output_parse(plan->output, &plan->human, error) ||
        !parse_addresses("address", plan->addresses, &filter->addresses, error) ||
        !parse_addresses("peer", plan->peers, &filter->peers, error) ||
        !parse_ports(plan->ports, filter, error) || !parse_protocols(plan->protocols, filter, error))
        return false;
    if (filter->addresses.count == 0 && filter->port_count == 0)
        return pl_error_usage(error, "an --address or a --port is needed");
    if (plan->ring_bytes % PL_RING_BLOCK_BYTES != 0)
        return pl_error_usage(error, "--ring-bytes is not a multiple of %d", PL_RING_BLOCK_BYTES);
    return true;
}

enum pl_options_outcome pl_capture_plan_parse(struct pl_capture_plan *plan, int argc, char **argv,
                                              struct pl_error *error)
{
    *plan = (struct pl_capture_plan){.path = "",
                                     .interfaces = "",
                                     .addresses = "",
                                     .peers = "",
                                     .ports = "",
                                     .protocols = "tcp",
                                     .control = "",
                                     .output = "auto",
                                     .descriptor = -1,
                                     .snap_bytes = 128,
                                     .udp_payload_bytes = 16,
                                     .ring_bytes = 16 * MIB,
                                     .limit_bytes = 256 * MIB,
                                     .keep_free_bytes = 64 * MIB};
    const struct pl_option table[] = {
        pl_option_positional("File", "file", &plan->path, "pcapng file; it must not exist"),
        pl_option_integer("File", "descriptor", &plan->descriptor, -1, INT_MAX,
                          "an inherited descriptor of an empty file instead"),
        pl_option_integer("File", "limit-bytes", &plan->limit_bytes, 4096, FILE_BYTES_MAX,
                          "the capture ends when the file is this long"),
        pl_option_integer("File", "keep-free-bytes", &plan->keep_free_bytes, 0, FILE_BYTES_MAX,
                          "the capture ends when the disk has less room than this"),
        pl_option_text("Packets", "address", &plan->addresses,
                       "source or destination of all packets; up to 8, separated by commas"),
        pl_option_text("Packets", "peer", &plan->peers, "the other end of all packets, in the same way"),
        pl_option_text("Packets", "port", &plan->ports,
                       "source or destination port; up to 8, separated by commas"),
        pl_option_text("Packets", "protocol", &plan->protocols, "tcp, udp, sctp, separated by commas"),
        pl_option_text("Packets", "interface", &plan->interfaces,
                       "names separated by commas; without: all that have an IP address"),
        pl_option_integer("Packets", "snap-bytes", &plan->snap_bytes, SNAP_BYTES_MIN, SNAP_BYTES_MAX,
                          "most bytes of headers that are recorded"),
        pl_option_integer("Packets", "udp-payload-bytes", &plan->udp_payload_bytes, 0, PAYLOAD_BYTES_MAX,
                          "recorded behind a UDP header"),
        pl_output_option("Records", &plan->output),
        pl_option_text("Records", "control", &plan->control, "stdin: read the command stop from there"),
        pl_option_integer("Limits", "ring-bytes", &plan->ring_bytes, RING_BYTES_MIN, RING_BYTES_MAX,
                          "memory for packets that are not in the file yet, a multiple of 131072"),
        pl_option_integer("Limits", "time-limit-ns", &plan->time_limit_ns, 0, WEEK_NS,
                          "end after this time; 0: no limit"),
    };
    enum pl_options_outcome outcome = pl_options_parse(
        PL_OPTIONS("capture",
                   "Records the headers of one flow's packets, without their payload (needs CAP_NET_RAW).",
                   table),
        argc, argv, error);
    if (outcome != PL_OPTIONS_OK)
        return outcome;
    return check(plan, error) ? PL_OPTIONS_OK : PL_OPTIONS_WRONG;
}
