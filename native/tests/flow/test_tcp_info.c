/* TCP_INFO under the record's names: against the kernel's own header, shorter and longer structs, absence. */
#include <linux/tcp.h> /* the kernel's struct; libc's may be older, and the two headers conflict */
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "flow/tcp_info.h"

struct expected {
    const char *name;
    uint64_t value;
    size_t end; /* of the field in the kernel's struct */
};

#define END_OF(field) (offsetof(struct tcp_info, field) + sizeof((struct tcp_info *)0)->field)
#define EXPECT(name, field)                                                                                  \
    {                                                                                                        \
        name, kernel.field, END_OF(field)                                                                    \
    }

static struct tcp_info make_kernel_struct(void)
{
    return (struct tcp_info){
        .tcpi_delivery_rate_app_limited = 1,
        .tcpi_fastopen_client_fail = 2,
        .tcpi_snd_mss = 1001,
        .tcpi_unacked = 1002,
        .tcpi_lost = 1003,
        .tcpi_pmtu = 1004,
        .tcpi_rtt = 1005,
        .tcpi_rttvar = 1006,
        .tcpi_snd_ssthresh = 1007,
        .tcpi_snd_cwnd = 1008,
        .tcpi_reordering = 1009,
        .tcpi_rcv_space = 1010,
        .tcpi_total_retrans = 1011,
        .tcpi_bytes_acked = UINT64_C(0x1122334455667788),
        .tcpi_bytes_received = UINT64_C(0x2122334455667788),
        .tcpi_min_rtt = 1012,
        .tcpi_delivery_rate = UINT64_C(0x3122334455667788),
        .tcpi_busy_time = 1013,
        .tcpi_rwnd_limited = 1014,
        .tcpi_sndbuf_limited = 1015,
        .tcpi_delivered = 1016,
        .tcpi_bytes_sent = UINT64_C(0x4122334455667788),
        .tcpi_bytes_retrans = 1017,
        .tcpi_snd_wnd = 1018,
        .tcpi_data_segs_in = 1019,
        .tcpi_max_pacing_rate = UINT64_C(0x5122334455667788),
        .tcpi_dsack_dups = 1020,
        .tcpi_reord_seen = 1021,
        .tcpi_rcv_ooopack = 1022,
    };
}

static size_t find_field(const char *name)
{
    for (size_t i = 0; i < PL_TCP_INFO_FIELDS; i++)
        if (strcmp(pl_tcp_info_name(i), name) == 0)
            return i;
    CHECK_TEXT(name, "a field of the record");
    return 0;
}

static bool is_present(const struct pl_tcp_info *info, size_t field)
{
    return (info->present & UINT32_C(1) << field) != 0;
}

/* Every field at every length that a kernel may return: present with its bytes, absent without. */
static void check_lengths(void)
{
    struct tcp_info kernel = make_kernel_struct();
    const struct expected all[] = {
        EXPECT("rtt_us", tcpi_rtt),
        EXPECT("rttvar_us", tcpi_rttvar),
        EXPECT("min_rtt_us", tcpi_min_rtt),
        EXPECT("snd_cwnd_segments", tcpi_snd_cwnd),
        EXPECT("snd_ssthresh_segments", tcpi_snd_ssthresh),
        EXPECT("snd_mss_bytes", tcpi_snd_mss),
        EXPECT("unacked_segments", tcpi_unacked),
        EXPECT("lost_segments", tcpi_lost),
        EXPECT("total_retrans_segments", tcpi_total_retrans),
        EXPECT("reordering_segments", tcpi_reordering),
        EXPECT("delivery_rate_bytes_per_s", tcpi_delivery_rate),
        {"delivery_rate_app_limited", 1, offsetof(struct tcp_info, tcpi_rto)}, /* the byte before it */
        EXPECT("busy_time_us", tcpi_busy_time),
        EXPECT("rwnd_limited_us", tcpi_rwnd_limited),
        EXPECT("sndbuf_limited_us", tcpi_sndbuf_limited),
        EXPECT("bytes_sent", tcpi_bytes_sent),
        EXPECT("bytes_acked", tcpi_bytes_acked),
        EXPECT("bytes_retrans", tcpi_bytes_retrans),
        EXPECT("bytes_received", tcpi_bytes_received),
        EXPECT("delivered_segments", tcpi_delivered),
        EXPECT("rcv_space_bytes", tcpi_rcv_space),
        EXPECT("snd_wnd_bytes", tcpi_snd_wnd),
        EXPECT("pmtu_bytes", tcpi_pmtu),
        EXPECT("max_pacing_bytes_per_s", tcpi_max_pacing_rate),
        EXPECT("reord_seen_events", tcpi_reord_seen),
        EXPECT("dsack_dups_segments", tcpi_dsack_dups),
        EXPECT("rcv_ooopack_segments", tcpi_rcv_ooopack),
    };
    CHECK_EQUAL(sizeof all / sizeof all[0], PL_TCP_INFO_FIELDS);
    uint8_t bytes[sizeof kernel + 64];
    memset(bytes, 0xEE, sizeof bytes); /* bytes of a later kernel */
    memcpy(bytes, &kernel, sizeof kernel);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        struct pl_tcp_info info;
        memset(&info, 0xA5, sizeof info);
        pl_tcp_info_parse(bytes, length, &info);
        CHECK_EQUAL(info.data_segments_in, END_OF(tcpi_data_segs_in) <= length ? 1019 : 0);
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            size_t field = find_field(all[i].name);
            CHECK_EQUAL(is_present(&info, field), all[i].end <= length);
            CHECK(!is_present(&info, field) || info.values[field] == all[i].value);
        }
        CHECK_EQUAL(info.present >> PL_TCP_INFO_FIELDS, 0);
    }
}

/* A short struct must not be read beyond its end: the sanitizers watch this one. */
static void check_short_allocation(void)
{
    struct tcp_info kernel = make_kernel_struct();
    const size_t linux_2_6_bytes = END_OF(tcpi_total_retrans);
    uint8_t *bytes = malloc(linux_2_6_bytes);
    CHECK(bytes != NULL);
    memcpy(bytes, &kernel, linux_2_6_bytes);
    struct pl_tcp_info info;
    pl_tcp_info_parse(bytes, linux_2_6_bytes, &info);
    free(bytes);
    CHECK(is_present(&info, find_field("total_retrans_segments")));
    CHECK(!is_present(&info, find_field("min_rtt_us")));
    CHECK(!is_present(&info, find_field("bytes_acked")));
}

static void check_absence(void)
{
    struct tcp_info kernel = make_kernel_struct();
    kernel.tcpi_rtt = 0;
    kernel.tcpi_min_rtt = UINT32_MAX;
    kernel.tcpi_snd_ssthresh = INT32_MAX;
    kernel.tcpi_delivery_rate = 0;
    kernel.tcpi_max_pacing_rate = UINT64_MAX;
    kernel.tcpi_delivery_rate_app_limited = 0;
    kernel.tcpi_lost = 0;
    struct pl_tcp_info info;
    pl_tcp_info_parse((const uint8_t *)&kernel, sizeof kernel, &info);
    CHECK(!is_present(&info, find_field("rtt_us")));
    CHECK(!is_present(&info, find_field("min_rtt_us")));
    CHECK(!is_present(&info, find_field("snd_ssthresh_segments")));
    CHECK(!is_present(&info, find_field("delivery_rate_bytes_per_s")));
    CHECK(!is_present(&info, find_field("max_pacing_bytes_per_s")));
    /* A count of 0 is present. */
    CHECK(is_present(&info, find_field("lost_segments")));
    CHECK(is_present(&info, find_field("delivery_rate_app_limited")));
    CHECK_EQUAL(info.values[find_field("delivery_rate_app_limited")], 0);
}

static void check_record(void)
{
    struct tcp_info kernel = make_kernel_struct();
    kernel.tcpi_max_pacing_rate = 1000000;
    struct pl_tcp_info infos[3];
    pl_tcp_info_parse((const uint8_t *)&kernel, sizeof kernel, &infos[0]);
    pl_tcp_info_parse((const uint8_t *)&kernel, 0, &infos[1]);
    kernel.tcpi_rtt = 77;
    kernel.tcpi_max_pacing_rate = UINT64_MAX;
    pl_tcp_info_parse((const uint8_t *)&kernel, sizeof kernel, &infos[2]);
    struct pl_json j = {0};
    pl_json_begin_object(&j, NULL);
    pl_tcp_info_write(&j, "tcp_info", infos, 3);
    pl_json_end_object(&j);
    static const char begin[] = "{\"tcp_info\":{\"rtt_us\":[1005,null,77],\"rttvar_us\":[1006,null,1006],";
    static const char end[] =
        ",\"pmtu_bytes\":[1004,null,1004],\"max_pacing_bytes_per_s\":[1000000,null,null],"
        "\"reord_seen_events\":[1021,null,1021],\"dsack_dups_segments\":[1020,null,1020],"
        "\"rcv_ooopack_segments\":[1022,null,1022]}}";
    CHECK(j.length > sizeof begin + sizeof end);
    CHECK_EQUAL(strncmp(j.data, begin, sizeof begin - 1), 0);
    CHECK_EQUAL(strncmp(j.data + j.length - (sizeof end - 1), end, sizeof end - 1), 0);
    pl_json_release(&j);
}

/* A real connection over loopback: this kernel's values are plausible. */
static void check_connection(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int caller = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQUAL(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQUAL(listen(listener, 1), 0);
    CHECK_EQUAL(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    CHECK_EQUAL(connect(caller, (const struct sockaddr *)&address, length), 0);
    int accepted = accept(listener, NULL, NULL);
    char scratch[100] = {0};
    CHECK_EQUAL(send(caller, scratch, sizeof scratch, 0), sizeof scratch);
    CHECK_EQUAL(recv(accepted, scratch, sizeof scratch, MSG_WAITALL), sizeof scratch);

    struct pl_tcp_info info;
    struct pl_tcp_info_raw raw;
    CHECK(pl_tcp_info_read(accepted, &info, &raw));
    /* The fields are those of the raw struct. */
    struct pl_tcp_info parsed;
    CHECK(raw.length >= 104 && raw.length <= sizeof raw.bytes);
    pl_tcp_info_parse(raw.bytes, raw.length, &parsed);
    CHECK(memcmp(&parsed, &info, sizeof info) == 0);
    uint64_t received;
    CHECK(pl_tcp_info_find(&info, "bytes_received", &received) && received == sizeof scratch);
    CHECK(!pl_tcp_info_find(&info, "no_such_field", &received));
    CHECK(is_present(&info, find_field("bytes_received")));
    CHECK_EQUAL(info.values[find_field("bytes_received")], sizeof scratch);
    CHECK(pl_tcp_info_read(caller, &info, NULL));
    CHECK(is_present(&info, find_field("rtt_us")));
    CHECK(info.values[find_field("rtt_us")] < 1000000);
    size_t mss = find_field("snd_mss_bytes");
    CHECK(is_present(&info, mss) && info.values[mss] > 500 && info.values[mss] <= 65536);

    /* A disconnected socket has lost its figures; the last reading stays, parsed and raw. */
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    CHECK(pl_tcp_info_read(caller, &info, &raw));
    struct pl_tcp_info last = info;
    size_t last_length = raw.length;
    CHECK_EQUAL(connect(caller, &nobody, sizeof nobody), 0);
    CHECK(!pl_tcp_info_read(caller, &info, &raw));
    CHECK(memcmp(&last, &info, sizeof info) == 0);
    CHECK_EQUAL(raw.length, last_length);
    (void)close(accepted);
    (void)close(caller);
    (void)close(listener);

    CHECK(pl_tcp_info_read(-1, &info, &raw)); /* absent rather than old */
    CHECK_EQUAL(info.present, 0);
    CHECK_EQUAL(raw.length, 0);
}

/* One length for all: the longest; a shorter struct is padded with zeros. */
static void check_raw_record(void)
{
    struct pl_json j = {0};
    const struct pl_tcp_info_raw raws[] = {{.length = 3, .bytes = {'a', 'b', 'c'}},
                                           {.length = 2, .bytes = {'d', 'e'}}};
    pl_json_begin_object(&j, NULL);
    pl_tcp_info_write_raw(&j, "raw", raws, 2);
    pl_json_end_object(&j);
    CHECK_EQUAL(j.length, strlen("{\"raw\":{\"bytes\":3,\"base64\":\"YWJjZGUA\"}}"));
    CHECK_EQUAL(strncmp(j.data, "{\"raw\":{\"bytes\":3,\"base64\":\"YWJjZGUA\"}}", j.length), 0);
    pl_json_release(&j);
}

int main(void)
{
    check_lengths();
    check_short_allocation();
    check_absence();
    check_record();
    check_connection();
    check_raw_record();
    CHECK_RETURN();
}
