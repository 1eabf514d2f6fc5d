#include "flow/subflows.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif

/* From <linux/mptcp.h>, which older systems lack. The kernel packs elements: where its struct is smaller than
 * the room for one, it lowers size_..._user to its own size. */
enum { OPTION_TCPINFO = 2, OPTION_SUBFLOW_ADDRS = 3, OPTION_FULL_INFO = 4 };

struct addresses {
    struct sockaddr_storage local;
    struct sockaddr_storage remote;
};

/* struct mptcp_subflow_info */
struct numbered {
    uint32_t id;
    struct addresses addresses;
};

/* struct mptcp_full_info, as far as it is needed. */
struct full_info {
    uint32_t size_tcpinfo_kernel; /* ..._kernel and num_subflows: 0 to the kernel */
    uint32_t size_tcpinfo_user;
    uint32_t size_sfinfo_kernel;
    uint32_t size_sfinfo_user;
    uint32_t num_subflows;
    uint32_t size_arrays_user;
    uint64_t subflow_info; /* addresses of the arrays */
    uint64_t tcp_info;
};

/* struct mptcp_subflow_data, in front of the array. */
struct data_head {
    uint32_t size_subflow_data;
    uint32_t num_subflows;
    uint32_t size_kernel;
    uint32_t size_user;
};

struct tcp_infos {
    struct data_head head;
    uint8_t bytes[PL_SUBFLOWS_MAX * PL_TCP_INFO_RAW_BYTES];
};

struct all_addresses {
    struct data_head head;
    uint8_t bytes[PL_SUBFLOWS_MAX * sizeof(struct addresses)];
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void copy_address(struct pl_address *address, const struct sockaddr_storage *storage)
{
    address->storage = *storage;
    address->length =
        storage->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* Element `i` of an array of the kernel's into `room` bytes, those behind it 0; false beyond the array. */
static bool copy_element(const uint8_t *array, size_t bytes, uint32_t element_bytes, uint32_t i,
                         void *element, size_t room)
{
    memset(element, 0, room);
    if (element_bytes > room || (size_t)(i + 1) * element_bytes > bytes)
        return false;
    memcpy(element, array + (size_t)i * element_bytes, element_bytes);
    return true;
}

static void fill(struct pl_subflow *subflow, int64_t id, const struct addresses *addresses,
                 const uint8_t *tcp_info, uint32_t tcp_info_bytes)
{
    subflow->id = id;
    copy_address(&subflow->local, &addresses->local);
    copy_address(&subflow->remote, &addresses->remote);
    pl_tcp_info_parse(tcp_info, tcp_info_bytes, &subflow->info);
}

static bool read_full(int fd, struct pl_subflows *subflows)
{
    uint8_t numbered[PL_SUBFLOWS_MAX * sizeof(struct numbered)];
    uint8_t infos[PL_SUBFLOWS_MAX * PL_TCP_INFO_RAW_BYTES];
    struct full_info full = {.size_tcpinfo_user = PL_TCP_INFO_RAW_BYTES,
                             .size_sfinfo_user = sizeof(struct numbered),
                             .size_arrays_user = PL_SUBFLOWS_MAX,
                             .subflow_info = (uint64_t)(uintptr_t)numbered,
                             .tcp_info = (uint64_t)(uintptr_t)infos};
    socklen_t length = sizeof full;
    if (getsockopt(fd, SOL_MPTCP, OPTION_FULL_INFO, &full, &length) != 0)
        return false;
    uint32_t count = smaller(full.num_subflows, PL_SUBFLOWS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct numbered one;
        uint8_t info[PL_TCP_INFO_RAW_BYTES];
        if (!copy_element(numbered, sizeof numbered, full.size_sfinfo_user, i, &one, sizeof one) ||
            !copy_element(infos, sizeof infos, full.size_tcpinfo_user, i, info, sizeof info))
            return false;
        fill(&subflows->list[i], one.id, &one.addresses, info, full.size_tcpinfo_user);
    }
    subflows->count = count;
    subflows->known = true;
    return true;
}

static bool read_array(int fd, int option, struct data_head *head, size_t bytes, uint32_t element_bytes)
{
    *head = (struct data_head){.size_subflow_data = sizeof *head, .size_user = element_bytes};
    socklen_t length = (socklen_t)bytes;
    return getsockopt(fd, SOL_MPTCP, option, head, &length) == 0;
}

void pl_subflows_read_parts(int fd, struct pl_subflows *subflows)
{
    struct tcp_infos infos;
    struct all_addresses addresses;
    subflows->known = false;
    subflows->count = 0;
    if (!read_array(fd, OPTION_TCPINFO, &infos.head, sizeof infos, PL_TCP_INFO_RAW_BYTES) ||
        !read_array(fd, OPTION_SUBFLOW_ADDRS, &addresses.head, sizeof addresses, sizeof(struct addresses)) ||
        infos.head.num_subflows != addresses.head.num_subflows)
        return;
    uint32_t count = smaller(infos.head.num_subflows, PL_SUBFLOWS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct addresses one;
        uint8_t info[PL_TCP_INFO_RAW_BYTES];
        if (!copy_element(addresses.bytes, sizeof addresses.bytes, addresses.head.size_user, i, &one,
                          sizeof one) ||
            !copy_element(infos.bytes, sizeof infos.bytes, infos.head.size_user, i, info, sizeof info))
            return;
        fill(&subflows->list[i], -1, &one, info, infos.head.size_user);
    }
    subflows->count = count;
    subflows->known = true;
}

void pl_subflows_read(int fd, struct pl_subflows *subflows)
{
    subflows->known = false;
    subflows->count = 0;
    if (!read_full(fd, subflows))
        pl_subflows_read_parts(fd, subflows);
}

static void write_address(struct pl_json *j, const char *key, const char *port_key,
                          const struct pl_address *address)
{
    char text[PL_ADDRESS_TEXT_BYTES];
    pl_json_string(j, key, pl_address_text(address, text));
    pl_json_known_i64(j, port_key, pl_address_port(address));
}

static void write_subflow(struct pl_json *j, uint32_t stream, const struct pl_subflow *subflow)
{
    static const char *const fields[] = {
        "bytes_sent",    "bytes_acked",       "bytes_received",      "bytes_retrans",
        "rtt_us",        "min_rtt_us",        "snd_cwnd_segments",   "total_retrans_segments",
        "lost_segments", "reord_seen_events", "dsack_dups_segments", "rcv_ooopack_segments",
        "snd_mss_bytes",
    };
    pl_json_begin_object(j, NULL);
    pl_json_u64(j, "stream", stream);
    pl_json_known_i64(j, "id", subflow->id);
    write_address(j, "local", "local_port", &subflow->local);
    write_address(j, "remote", "remote_port", &subflow->remote);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        uint64_t value = 0;
        if (pl_tcp_info_find(&subflow->info, fields[i], &value))
            pl_json_u64(j, fields[i], value);
        else
            pl_json_null(j, fields[i]);
    }
    pl_json_end_object(j);
}

void pl_subflows_write(struct pl_json *j, const char *key, const struct pl_subflows *streams, uint32_t count)
{
    bool known = false;
    for (uint32_t s = 0; s < count; s++)
        known = known || streams[s].known;
    if (!known) {
        pl_json_null(j, key);
        return;
    }
    pl_json_begin_array(j, key);
    for (uint32_t s = 0; s < count; s++)
        for (uint32_t i = 0; i < streams[s].count; i++)
            write_subflow(j, s, &streams[s].list[i]);
    pl_json_end_array(j);
}
