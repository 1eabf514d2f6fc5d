#include "load/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/lower_priority.h"

#define STOP_S 5

struct pl_disk_load {
    struct pl_disk_settings settings;
    int file;
    int direct; /* the same file, past the page cache; -1: not possible */
    int failed_fd;
    unsigned char *block;
    pthread_t thread;
    atomic_bool stopping;
    pthread_mutex_t lock; /* of what follows */
    struct pl_disk_work work;
    struct pl_error failure;
};

static bool check_settings(const struct pl_disk_settings *settings, struct pl_error *error)
{
    if (settings->write_bytes % PL_DISK_ALIGNMENT != 0 || settings->file_bytes % settings->write_bytes != 0)
        return pl_error_usage(
            error, "--write-bytes must be a multiple of %d, and --file-bytes a multiple of --write-bytes",
            PL_DISK_ALIGNMENT);
    return true;
}

static bool check_folder(const struct pl_disk_settings *settings, struct pl_error *error)
{
    struct statfs kind;
    struct statvfs space;
    if (statfs(settings->folder, &kind) != 0 || statvfs(settings->folder, &space) != 0)
        return pl_error_set(error, PL_SETUP, "disk", errno, "cannot use the folder '%.100s'",
                            settings->folder);
    if ((unsigned long)kind.f_type == TMPFS_MAGIC || (unsigned long)kind.f_type == RAMFS_MAGIC)
        return pl_error_set(error, PL_SETUP, "disk", 0, "'%.100s' is in memory: name a folder on a disk",
                            settings->folder);
    double free_bytes = (double)space.f_bavail * (double)space.f_frsize;
    if (free_bytes < (double)settings->file_bytes * PL_DISK_FREE_FACTOR)
        return pl_error_set(error, PL_SETUP, "disk", 0,
                            "'%.100s' has %.0f MiB free, and %.0f MiB are needed (%d times the file)",
                            settings->folder, free_bytes / 1048576.0,
                            (double)settings->file_bytes * PL_DISK_FREE_FACTOR / 1048576.0,
                            PL_DISK_FREE_FACTOR);
    return true;
}

static bool open_file(struct pl_disk_load *load, struct pl_error *error)
{
    const char *folder = load->settings.folder;
    load->file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (load->file < 0) {
        bool unsupported = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
        return pl_error_set(error, PL_SETUP, "disk", errno,
                            unsupported
                                ? "the file system of '%.100s' has no files without a name (O_TMPFILE)"
                                : "cannot make a file in '%.100s'",
                            folder);
    }
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", load->file);
    load->direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    return true;
}

static bool fail(struct pl_disk_load *load, int errno_value, const char *what)
{
    (void)pthread_mutex_lock(&load->lock);
    pl_error_set(&load->failure, PL_ENDED, "disk", errno_value, "cannot %s the file in '%.100s'", what,
                 load->settings.folder);
    (void)pthread_mutex_unlock(&load->lock);
    pl_wake(load->failed_fd);
    return false;
}

/* Writes or reads the whole block; false when the file ends, or an error: then with `errno`. */
static bool move_block(struct pl_disk_load *load, int64_t at, bool writes)
{
    size_t done = 0;
    size_t bytes = (size_t)load->settings.write_bytes;
    while (done < bytes) {
        ssize_t count = writes ? pwrite(load->file, load->block + done, bytes - done, (off_t)at + (off_t)done)
                               : pread(load->direct, load->block, bytes, (off_t)at);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        done = writes ? done + (size_t)count
                      : bytes; /* a short read counts as one: O_DIRECT needs aligned ends */
    }
    return true;
}

/* One block: written, synced, read again. */
static bool turn(struct pl_disk_load *load, int64_t at)
{
    errno = ENOSPC; /* what a write of no byte means */
    if (!move_block(load, at, true))
        return fail(load, errno, "write");
    pl_ns begin_ns = pl_now_ns();
    if (fdatasync(load->file) != 0)
        return fail(load, errno, "sync");
    pl_ns sync_ns = pl_now_ns() - begin_ns;
    errno = EIO;
    bool reads = load->direct >= 0;
    if (reads && !move_block(load, at, false))
        return fail(load, errno, "read");
    (void)pthread_mutex_lock(&load->lock);
    load->work.written_bytes += (uint64_t)load->settings.write_bytes;
    load->work.read_bytes += reads ? (uint64_t)load->settings.write_bytes : 0;
    pl_histogram_add(&load->work.sync_ns, sync_ns);
    (void)pthread_mutex_unlock(&load->lock);
    return true;
}

static void *move(void *context)
{
    struct pl_disk_load *load = context;
    (void)pl_lower_io_priority(); /* the niceness still holds without it */
    int64_t at = 0;
    for (uint64_t number = 1; !atomic_load(&load->stopping); number++) {
        memcpy(load->block, &number, sizeof number); /* no two blocks are alike */
        if (!turn(load, at))
            break;
        at = (at + load->settings.write_bytes) % load->settings.file_bytes;
    }
    return NULL;
}

static void release(struct pl_disk_load *load)
{
    const int fds[] = {load->file, load->direct, load->failed_fd};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        pl_close(fds[i]);
    free(load->block);
    (void)pthread_mutex_destroy(&load->lock);
    free(load);
}

static bool start_thread(struct pl_disk_load *load, struct pl_error *error)
{
    size_t bytes = (size_t)load->settings.write_bytes;
    load->block = aligned_alloc(PL_DISK_ALIGNMENT, bytes);
    load->failed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (load->block == NULL || load->failed_fd < 0)
        return pl_error_set(error, PL_RESOURCES, "disk", errno, "no memory for a block, or no descriptor");
    for (size_t i = 0; i < bytes; i++) /* content that does not compress */
        load->block[i] = (unsigned char)((i * UINT64_C(2654435761)) >> 13);
    int failure = pthread_create(&load->thread, NULL, move, load);
    if (failure != 0)
        pl_error_set(error, PL_RESOURCES, "disk", failure, "cannot start the thread");
    return failure == 0;
}

struct pl_disk_load *pl_disk_load_start(const struct pl_disk_settings *settings, struct pl_error *error)
{
    if (!check_settings(settings, error) || !check_folder(settings, error))
        return NULL;
    struct pl_disk_load *load = calloc(1, sizeof *load);
    if (load == NULL) {
        pl_error_set(error, PL_RESOURCES, "disk", ENOMEM, "no memory for the load");
        return NULL;
    }
    load->settings = *settings;
    load->file = load->direct = load->failed_fd = -1;
    (void)pthread_mutex_init(&load->lock, NULL);
    if (open_file(load, error) && start_thread(load, error))
        return load;
    release(load);
    return NULL;
}

bool pl_disk_load_reads(const struct pl_disk_load *load)
{
    return load->direct >= 0;
}

dev_t pl_disk_load_device(const struct pl_disk_load *load)
{
    struct stat file;
    return fstat(load->file, &file) == 0 ? file.st_dev : 0;
}

int pl_disk_load_fd(const struct pl_disk_load *load)
{
    return load->failed_fd;
}

void pl_disk_load_failure(struct pl_disk_load *load, struct pl_error *error)
{
    (void)pthread_mutex_lock(&load->lock);
    *error = load->failure;
    (void)pthread_mutex_unlock(&load->lock);
}

void pl_disk_load_take(struct pl_disk_load *load, struct pl_disk_work *latest, struct pl_disk_work *total)
{
    (void)pthread_mutex_lock(&load->lock);
    *latest = load->work;
    memset(&load->work, 0, sizeof load->work);
    (void)pthread_mutex_unlock(&load->lock);
    total->written_bytes += latest->written_bytes;
    total->read_bytes += latest->read_bytes;
    pl_histogram_merge(&total->sync_ns, &latest->sync_ns);
}

bool pl_disk_load_stop(struct pl_disk_load *load)
{
    atomic_store(&load->stopping, true);
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_S;
    if (pthread_timedjoin_np(load->thread, NULL, &until) != 0)
        return false;
    release(load);
    return true;
}
