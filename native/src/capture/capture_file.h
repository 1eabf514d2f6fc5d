/* The file of a capture: whole blocks of pcapng, up to a limit of bytes, and never the last room of a disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "capture/interfaces.h"
#include "capture/packet_ring.h"

struct pl_capture_file_settings {
    const char *path; /* created, and must not exist; "": `descriptor` */
    int descriptor;   /* a regular, empty file, open for writing */
    uint64_t limit_bytes;
    uint64_t keep_free_bytes; /* of the disk */
    uint32_t snap_bytes;
};

struct pl_capture_file;

/* Creates the file with its section header. NULL with `error` set (PL_SETUP, stage "file"). */
struct pl_capture_file *pl_capture_file_open(const struct pl_capture_file_settings *settings,
                                             const struct pl_interfaces *interfaces, struct pl_error *error);

/* Adds a packet of one of the interfaces. False: it was not recorded; pl_capture_file_state() says why, and
 * no more packet will be. */
bool pl_capture_file_add(struct pl_capture_file *file, const struct pl_packet *packet);

/* Writes what is in memory, and behind it the statistics of each interface that a packet passed (of the first
 * one, if there was no packet). Losses have no interface: the first one has them all. False: not all of it
 * could be written; the file ends with its last whole block that could. */
bool pl_capture_file_finish(struct pl_capture_file *file, const struct pl_ring_counts *counts, pl_ns start_ns,
                            pl_ns end_ns);

struct pl_capture_file_state {
    const char *reason; /* why it takes no more packets; NULL: it does */
    bool failed;        /* that is a failure of the disk, and not the limit */
    uint64_t packets;   /* in the file */
    uint64_t bytes;
};

struct pl_capture_file_state pl_capture_file_state(const struct pl_capture_file *file);

/* Leaves the file where it is. */
void pl_capture_file_close(struct pl_capture_file *file);
