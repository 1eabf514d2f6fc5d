/* A thread that writes to a disk and reads back what it wrote: each block is written and synced, then read
 * past the page cache. The file has no name, so nothing of it can stay. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/histogram.h"

/* Blocks are aligned to this, as O_DIRECT needs it. */
#define PL_DISK_ALIGNMENT 4096
/* The file may take this share of the free space at most: one in so many. */
#define PL_DISK_FREE_FACTOR 4

struct pl_disk_settings {
    const char *folder;
    int64_t file_bytes; /* the file is written from its start again when it is so long */
    int64_t write_bytes;
};

/* What was done in a time. */
struct pl_disk_work {
    uint64_t written_bytes;
    uint64_t read_bytes;
    struct pl_histogram sync_ns; /* of each fdatasync */
};

struct pl_disk_load;

/* Opens the file and starts the thread. NULL with `error` set: sizes that do not fit, a folder in memory, too
 * little free space, a file system without O_TMPFILE. */
struct pl_disk_load *pl_disk_load_start(const struct pl_disk_settings *settings, struct pl_error *error);
/* Whether blocks are read; false where the file system has no O_DIRECT. */
bool pl_disk_load_reads(const struct pl_disk_load *load);
/* The device that holds the file; 0: not known. */
dev_t pl_disk_load_device(const struct pl_disk_load *load);
/* A descriptor that becomes readable when the thread has failed; then pl_disk_load_failure() says why. */
int pl_disk_load_fd(const struct pl_disk_load *load);
void pl_disk_load_failure(struct pl_disk_load *load, struct pl_error *error);
/* Adds the work since the last call to `total`, and writes it to `latest`. */
void pl_disk_load_take(struct pl_disk_load *load, struct pl_disk_work *latest, struct pl_disk_work *total);
/* Ends the thread and closes the file. False where the disk does not answer in time: the thread then ends
 * with the process, and `load` must not be used any more. */
bool pl_disk_load_stop(struct pl_disk_load *load);
