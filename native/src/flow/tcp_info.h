/* TCP_INFO of a connection, under the names of the records. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

#define PL_TCP_INFO_FIELDS 27

/* Room for the kernel's struct, which grows from release to release. */
#define PL_TCP_INFO_RAW_BYTES 512

/* One reading; `present` has a bit per field, in the order of pl_tcp_info_name(). */
struct pl_tcp_info {
    uint64_t values[PL_TCP_INFO_FIELDS];
    uint32_t present;
    uint64_t data_segments_in; /* received segments with data, in order or not; 0 where the kernel does not
                                * report them */
};

/* The kernel's unparsed struct. */
struct pl_tcp_info_raw {
    size_t length; /* 0: the kernel has none */
    uint8_t bytes[PL_TCP_INFO_RAW_BYTES];
};

const char *pl_tcp_info_name(size_t field);
/* Parses the first `length` bytes of the kernel's struct. A field beyond them, or with the value for "none
 * yet", is absent. */
void pl_tcp_info_parse(const uint8_t *bytes, size_t length, struct pl_tcp_info *info);
/* Reads the socket; every field is absent when the kernel refuses. `raw` may be NULL. Returns false, and
 * changes nothing, for a connection whose figures the kernel has cleared: MPTCP does so when it closes the
 * first subflow. */
bool pl_tcp_info_read(int fd, struct pl_tcp_info *info, struct pl_tcp_info_raw *raw);
/* The field of that name; false when it is absent. */
bool pl_tcp_info_find(const struct pl_tcp_info *info, const char *name, uint64_t *value);
/* One array per field under `key`, one value per stream, null where absent. */
void pl_tcp_info_write(struct pl_json *j, const char *key, const struct pl_tcp_info *infos, size_t count);
/* The structs of all streams one after the other, each of `bytes` bytes, as {"bytes":…,"base64":"…"}. */
void pl_tcp_info_write_raw(struct pl_json *j, const char *key, const struct pl_tcp_info_raw *raws,
                           size_t count);
