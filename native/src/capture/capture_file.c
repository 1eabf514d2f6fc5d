#include "capture/capture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/program.h"
#include "capture/pcapng.h"

enum { BUFFER_BYTES = 256 << 10, UNSEEN = -1 };
static const char STAGE[] = "file";

struct pl_capture_file {
    struct pl_capture_file_settings settings;
    const struct pl_interfaces *interfaces;
    int fd;
    int number[PL_INTERFACES_MAX];        /* of an interface's block in the file; UNSEEN: none yet */
    uint64_t recorded[PL_INTERFACES_MAX]; /* packets */
    int numbers;                          /* interface blocks so far */
    uint64_t written_bytes;
    uint64_t written_packets;
    uint64_t packets; /* with those in the buffer */
    bool failed;
    char reason[200]; /* "": none */
    size_t used;
    uint8_t buffer[BUFFER_BYTES];
};

static void end_early(struct pl_capture_file *file, bool failed, const char *reason, int cause)
{
    if (file->reason[0] != 0)
        return;
    file->failed = failed;
    (void)snprintf(file->reason, sizeof file->reason, "%s%s%s", reason, cause != 0 ? ": " : "",
                   cause != 0 ? strerror(cause) : "");
}

static bool disk_has_room(const struct pl_capture_file *file, size_t bytes)
{
    struct statvfs disk; /* without blocks: a file system without a size */
    return fstatvfs(file->fd, &disk) != 0 || disk.f_blocks == 0 ||
           (uint64_t)disk.f_bavail * disk.f_frsize >= file->settings.keep_free_bytes + bytes;
}

/* Writes the buffer whole or, when the disk refuses, nothing of it. */
static bool flush(struct pl_capture_file *file)
{
    size_t done = 0;
    int cause = 0;
    if (!disk_has_room(file, file->used)) {
        end_early(file, true, "the disk of the capture's file is almost full (--keep-free-bytes)", 0);
        file->used = 0;
        return false;
    }
    while (done < file->used && cause == 0) {
        ssize_t wrote = write(file->fd, file->buffer + done, file->used - done);
        if (wrote > 0)
            done += (size_t)wrote;
        else if (wrote == 0 || errno != EINTR)
            cause = wrote == 0 ? EIO : errno;
    }
    file->used = 0;
    if (cause == 0) {
        file->written_bytes += done;
        file->written_packets = file->packets;
        return true;
    }
    end_early(file, true, "the capture's file cannot be written", cause);
    if (ftruncate(file->fd, (off_t)file->written_bytes) == 0)
        (void)lseek(file->fd, (off_t)file->written_bytes, SEEK_SET);
    return false;
}

/* Room for `bytes` in the buffer, and in the file for those and the statistics; NULL: none. */
static uint8_t *reserve(struct pl_capture_file *file, size_t bytes)
{
    uint64_t end = (uint64_t)(file->numbers + 1) * PL_PCAPNG_BLOCK_BYTES_MAX;
    if (file->reason[0] != 0)
        return NULL;
    if (file->written_bytes + file->used + bytes + end > file->settings.limit_bytes) {
        end_early(file, false, "the capture's file has reached its limit (--limit-bytes)", 0);
        return NULL;
    }
    if (file->used + bytes > BUFFER_BYTES && !flush(file))
        return NULL;
    return file->buffer + file->used;
}

static bool add_interface(struct pl_capture_file *file, size_t index)
{
    uint8_t *at = reserve(file, PL_PCAPNG_BLOCK_BYTES_MAX);
    if (at == NULL)
        return false;
    file->used += pl_pcapng_interface(at, file->interfaces->list[index].name, file->settings.snap_bytes);
    file->number[index] = file->numbers++;
    return true;
}

static bool open_descriptor(struct pl_capture_file *file, struct pl_error *error)
{
    const struct pl_capture_file_settings *settings = &file->settings;
    struct stat status;
    if (settings->path[0] != 0)
        file->fd = open(settings->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    else
        file->fd = fcntl(settings->descriptor, F_DUPFD_CLOEXEC, 0);
    if (file->fd < 0 && settings->path[0] != 0)
        pl_error_set(error, PL_SETUP, STAGE, errno, "cannot create the file '%.150s'", settings->path);
    else if (file->fd < 0)
        pl_error_set(error, PL_USAGE, "options", errno, "--descriptor %d is not open", settings->descriptor);
    else if (fstat(file->fd, &status) != 0 || !S_ISREG(status.st_mode))
        pl_error_set(error, PL_SETUP, STAGE, 0, "the capture's file is not a regular file");
    else if (!disk_has_room(file, BUFFER_BYTES))
        pl_error_set(error, PL_SETUP, STAGE, ENOSPC,
                     "the disk of the capture's file has less than --keep-free-bytes %llu free",
                     (unsigned long long)settings->keep_free_bytes);
    else
        return true;
    if (file->fd >= 0 && settings->path[0] != 0)
        (void)unlink(settings->path); /* created just now */
    return false;
}

struct pl_capture_file *pl_capture_file_open(const struct pl_capture_file_settings *settings,
                                             const struct pl_interfaces *interfaces, struct pl_error *error)
{
    struct pl_capture_file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        pl_error_set(error, PL_RESOURCES, STAGE, ENOMEM, "no memory for the capture");
        return NULL;
    }
    file->settings = *settings;
    file->interfaces = interfaces;
    for (size_t i = 0; i < PL_INTERFACES_MAX; i++)
        file->number[i] = UNSEEN;
    if (open_descriptor(file, error)) {
        file->used = pl_pcapng_section(file->buffer, "pathlab-engine " PL_VERSION);
        return file;
    }
    pl_capture_file_close(file);
    return NULL;
}

bool pl_capture_file_add(struct pl_capture_file *file, const struct pl_packet *packet)
{
    int index = pl_interfaces_index(file->interfaces, packet->interface_index);
    if (index < 0 || (file->number[index] == UNSEEN && !add_interface(file, (size_t)index)))
        return false;
    uint8_t *at = reserve(file, packet->captured_bytes + PL_PCAPNG_PACKET_EXTRA_BYTES);
    if (at == NULL)
        return false;
    const struct pl_pcapng_packet block = {
        .interface = (uint32_t)file->number[index],
        .time_ns = packet->time_ns,
        .captured_bytes = packet->captured_bytes,
        .original_bytes = packet->original_bytes,
        .data = packet->data,
    };
    file->used += pl_pcapng_packet(at, &block);
    file->recorded[index]++;
    file->packets++;
    return true;
}

/* The statistics fit: reserve() left room for them in the file. */
static bool add_statistics(struct pl_capture_file *file, size_t index, const struct pl_ring_counts *counts,
                           pl_ns start_ns, pl_ns end_ns)
{
    bool first = file->number[index] == 0;
    const struct pl_pcapng_statistics statistics = {
        .interface = (uint32_t)file->number[index],
        .start_ns = start_ns,
        .end_ns = end_ns,
        .accepted = file->recorded[index] + (first ? counts->accepted - file->packets : 0),
        .dropped = first ? counts->dropped : 0,
        .recorded = file->recorded[index],
    };
    if (file->used + PL_PCAPNG_BLOCK_BYTES_MAX > BUFFER_BYTES && !flush(file))
        return false;
    file->used += pl_pcapng_statistics(file->buffer + file->used, &statistics);
    return true;
}

bool pl_capture_file_finish(struct pl_capture_file *file, const struct pl_ring_counts *counts, pl_ns start_ns,
                            pl_ns end_ns)
{
    if (file->numbers == 0)
        (void)add_interface(file, 0);
    /* After a failure of the disk there are packets in these counts that the file does not have. */
    for (size_t i = 0; i < file->interfaces->count && !file->failed; i++)
        if (file->number[i] != UNSEEN)
            (void)add_statistics(file, i, counts, start_ns, end_ns);
    return !file->failed && flush(file);
}

struct pl_capture_file_state pl_capture_file_state(const struct pl_capture_file *file)
{
    return (struct pl_capture_file_state){
        .reason = file->reason[0] != 0 ? file->reason : NULL,
        .failed = file->failed,
        .packets = file->written_packets,
        .bytes = file->written_bytes,
    };
}

void pl_capture_file_close(struct pl_capture_file *file)
{
    if (file == NULL)
        return;
    pl_close(file->fd);
    free(file);
}
