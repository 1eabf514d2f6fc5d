/* Options of a stream's socket, set before connect or listen and read back afterwards. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "flow/flow.h"

#define PL_CONGESTION_BYTES 16

/* The socket's settings as the kernel reports them; -1, and an empty `congestion`, where it reports none. */
struct pl_socket_facts {
    int64_t sndbuf_bytes;
    int64_t rcvbuf_bytes;
    int64_t mss_bytes;
    int64_t traffic_class;
    int64_t pacing_bytes_per_s;
    int64_t local_port;
    int64_t remote_port;
    char congestion[PL_CONGESTION_BYTES];
};

/* Opens a non-blocking socket of the flow's transport with the requested options: window, congestion control,
 * segment size, no-delay, marks and device. -1 with `error` set when the kernel refuses one. */
int pl_open_stream_socket(int family, const struct pl_flow *flow, struct pl_error *error);

/* Sets what every socket of a flow has: window, marks and device. False with `error` set when the kernel
 * refuses one. */
bool pl_set_data_socket(int fd, int family, const struct pl_flow *flow, struct pl_error *error);

/* Lets the kernel pace a connected stream; false with `error` set when it does not support that. */
bool pl_pace_stream(int fd, int64_t rate_bits_per_s, struct pl_error *error);

/* Holds the receive window of a connection (0: leaves it to autotuning). Linux derives the window from
 * SO_RCVBUF by the overhead of the segments it sees, may offer a third more than requested, and derives it
 * again whenever the segments' size changes, so call this from time to time. */
void pl_hold_window(int fd, int64_t window_bytes);

void pl_read_socket_facts(int fd, struct pl_socket_facts *facts);

/* The "window" object: null buffers when autotuning. */
void pl_write_window(struct pl_json *j, int64_t requested_bytes, int64_t sndbuf_bytes, int64_t rcvbuf_bytes);
