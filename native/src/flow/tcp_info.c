#include "flow/tcp_info.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

/* Values that mean "none yet". */
enum absence {
    ALWAYS_THERE,
    ABSENT_AT_ZERO,
    ABSENT_AT_UINT32_MAX,
    ABSENT_AT_INT32_MAX,
    ABSENT_AT_UINT64_MAX
};

struct field {
    const char *name;
    size_t offset;
    size_t size;
    enum absence absence;
};

/* Offsets of the kernel's struct tcp_info. The ABI only grows at the end, so they hold everywhere, also where
 * the installed headers are older than the kernel (tests/flow/test_tcp_info.c compares them). */
static const struct field fields[PL_TCP_INFO_FIELDS] = {
    {"rtt_us", 68, 4, ABSENT_AT_ZERO},
    {"rttvar_us", 72, 4, ALWAYS_THERE},
    {"min_rtt_us", 148, 4, ABSENT_AT_UINT32_MAX},
    {"snd_cwnd_segments", 80, 4, ALWAYS_THERE},
    {"snd_ssthresh_segments", 76, 4, ABSENT_AT_INT32_MAX},
    {"snd_mss_bytes", 16, 4, ALWAYS_THERE},
    {"unacked_segments", 24, 4, ALWAYS_THERE},
    {"lost_segments", 32, 4, ALWAYS_THERE},
    {"total_retrans_segments", 100, 4, ALWAYS_THERE},
    {"reordering_segments", 88, 4, ALWAYS_THERE},
    {"delivery_rate_bytes_per_s", 160, 8, ABSENT_AT_ZERO},
    {"delivery_rate_app_limited", 7, 1, ALWAYS_THERE},
    {"busy_time_us", 168, 8, ALWAYS_THERE},
    {"rwnd_limited_us", 176, 8, ALWAYS_THERE},
    {"sndbuf_limited_us", 184, 8, ALWAYS_THERE},
    {"bytes_sent", 200, 8, ALWAYS_THERE},
    {"bytes_acked", 120, 8, ALWAYS_THERE},
    {"bytes_retrans", 208, 8, ALWAYS_THERE},
    {"bytes_received", 128, 8, ALWAYS_THERE},
    {"delivered_segments", 192, 4, ALWAYS_THERE},
    {"rcv_space_bytes", 96, 4, ALWAYS_THERE},
    {"snd_wnd_bytes", 228, 4, ALWAYS_THERE},
    {"pmtu_bytes", 60, 4, ALWAYS_THERE},
    {"max_pacing_bytes_per_s", 112, 8, ABSENT_AT_UINT64_MAX},
    {"reord_seen_events", 220, 4, ALWAYS_THERE},
    {"dsack_dups_segments", 216, 4, ALWAYS_THERE},
    {"rcv_ooopack_segments", 224, 4, ALWAYS_THERE},
};

#define STATE_OFFSET 0

/* Not in the records: it only shows whether data arrives. */
static const struct field data_segments_in = {"data_segments_in", 152, 4, ALWAYS_THERE};

const char *pl_tcp_info_name(size_t field)
{
    return fields[field].name;
}

/* delivery_rate_app_limited is the first one-bit field of its byte: the lowest bit, except on big-endian
 * ABIs. */
static uint64_t first_bit(uint8_t byte)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return byte >> 7;
#else
    return byte & 1;
#endif
}

static uint64_t read_value(const uint8_t *bytes, const struct field *field)
{
    if (field->size == 1)
        return first_bit(bytes[field->offset]);
    if (field->size == 4) {
        uint32_t value;
        memcpy(&value, bytes + field->offset, sizeof value);
        return value;
    }
    uint64_t value;
    memcpy(&value, bytes + field->offset, sizeof value);
    return value;
}

static bool is_absent(uint64_t value, enum absence absence)
{
    switch (absence) {
    case ABSENT_AT_ZERO:
        return value == 0;
    case ABSENT_AT_UINT32_MAX:
        return value == UINT32_MAX;
    case ABSENT_AT_INT32_MAX:
        return value == INT32_MAX;
    case ABSENT_AT_UINT64_MAX:
        return value == UINT64_MAX;
    case ALWAYS_THERE:
        break;
    }
    return false;
}

void pl_tcp_info_parse(const uint8_t *bytes, size_t length, struct pl_tcp_info *info)
{
    *info = (struct pl_tcp_info){0};
    for (size_t i = 0; i < PL_TCP_INFO_FIELDS; i++) {
        if (fields[i].offset + fields[i].size > length)
            continue;
        info->values[i] = read_value(bytes, &fields[i]);
        if (!is_absent(info->values[i], fields[i].absence))
            info->present |= UINT32_C(1) << i;
    }
    if (data_segments_in.offset + data_segments_in.size <= length)
        info->data_segments_in = read_value(bytes, &data_segments_in);
}

bool pl_tcp_info_find(const struct pl_tcp_info *info, const char *name, uint64_t *value)
{
    for (size_t i = 0; i < PL_TCP_INFO_FIELDS; i++) {
        if (strcmp(fields[i].name, name) == 0 && (info->present & UINT32_C(1) << i) != 0) {
            *value = info->values[i];
            return true;
        }
    }
    return false;
}

/* A TCP connection keeps its figures when it is closed; one that was disconnected has lost even its RTT. */
static bool is_cleared(const struct pl_tcp_info_raw *raw, const struct pl_tcp_info *info)
{
    uint64_t rtt_us;
    return raw->length > 0 && raw->bytes[STATE_OFFSET] == TCP_CLOSE &&
           !pl_tcp_info_find(info, "rtt_us", &rtt_us);
}

bool pl_tcp_info_read(int fd, struct pl_tcp_info *info, struct pl_tcp_info_raw *raw)
{
    struct pl_tcp_info_raw own = {.length = 0};
    socklen_t length = sizeof own.bytes;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, own.bytes, &length) != 0)
        length = 0;
    own.length = length;
    struct pl_tcp_info parsed;
    pl_tcp_info_parse(own.bytes, length, &parsed);
    if (is_cleared(&own, &parsed))
        return false;
    *info = parsed;
    if (raw != NULL)
        *raw = own;
    return true;
}

void pl_tcp_info_write(struct pl_json *j, const char *key, const struct pl_tcp_info *infos, size_t count)
{
    pl_json_begin_object(j, key);
    for (size_t i = 0; i < PL_TCP_INFO_FIELDS; i++) {
        pl_json_begin_array(j, fields[i].name);
        for (size_t s = 0; s < count; s++)
            if ((infos[s].present & UINT32_C(1) << i) != 0)
                pl_json_u64(j, NULL, infos[s].values[i]);
            else
                pl_json_null(j, NULL);
        pl_json_end_array(j);
    }
    pl_json_end_object(j);
}

void pl_tcp_info_write_raw(struct pl_json *j, const char *key, const struct pl_tcp_info_raw *raws,
                           size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length = raws[i].length > length ? raws[i].length : length;
    pl_json_begin_object(j, key);
    pl_json_u64(j, "bytes", length);
    pl_json_begin_base64(j, "base64");
    for (size_t i = 0; i < count; i++)
        pl_json_base64(j, raws[i].bytes, length);
    pl_json_end_base64(j);
    pl_json_end_object(j);
}
