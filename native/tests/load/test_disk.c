/* What a load of a disk refuses, what it does, and that it leaves nothing. */
#include "check.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/statvfs.h>

#include "load/disk.h"

#define BLOCK 4096
#define FILE_BYTES (64 * BLOCK)

static struct pl_disk_load *start(const char *folder, int64_t file_bytes, int64_t write_bytes,
                                  struct pl_error *error)
{
    const struct pl_disk_settings settings = {
        .folder = folder, .file_bytes = file_bytes, .write_bytes = write_bytes};
    *error = (struct pl_error){0};
    return pl_disk_load_start(&settings, error);
}

static void check_refusals(void)
{
    struct pl_error error;
    CHECK(start(".", FILE_BYTES, BLOCK + 1, &error) == NULL);
    CHECK_EQUAL(error.status, PL_USAGE);
    CHECK(start(".", FILE_BYTES + 1, BLOCK, &error) == NULL);
    CHECK_EQUAL(error.status, PL_USAGE);
    CHECK(start("/nonexistent", FILE_BYTES, BLOCK, &error) == NULL);
    CHECK_EQUAL(error.status, PL_SETUP);
    CHECK_TEXT(error.text, "cannot use the folder '/nonexistent': No such file or directory");
    CHECK(start("/proc", FILE_BYTES, BLOCK, &error) == NULL); /* no space, and no files to be made */
    CHECK_EQUAL(error.status, PL_SETUP);
    if (start("/dev/shm", FILE_BYTES, BLOCK, &error) == NULL && strstr(error.text, "cannot use") == NULL)
        CHECK_TEXT(error.text, "'/dev/shm' is in memory: name a folder on a disk");
    struct statvfs space;
    CHECK_EQUAL(statvfs(".", &space), 0);
    int64_t whole_bytes = (int64_t)((double)space.f_bavail * (double)space.f_frsize);
    CHECK(start(".", whole_bytes / 3 / BLOCK * BLOCK, BLOCK, &error) == NULL);
    CHECK(strstr(error.text, "MiB are needed (4 times the file)") != NULL);
}

static int count_entries(void)
{
    int count = 0;
    DIR *folder = opendir(".");
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count;
}

static void check_work(void)
{
    static struct pl_disk_work latest;
    static struct pl_disk_work total;
    struct pl_error error;
    int before = count_entries();
    struct pl_disk_load *load = start(".", FILE_BYTES, BLOCK, &error);
    if (load == NULL && strstr(error.text, "O_TMPFILE") != NULL) /* an overlay of an old kernel */
        return;
    CHECK(load != NULL);
    CHECK(pl_disk_load_device(load) != 0);
    uint64_t turns = 0;
    while (total.written_bytes < 2 * (uint64_t)FILE_BYTES &&
           error.status == PL_OK) { /* the file begins again */
        pl_disk_load_take(load, &latest, &total);
        pl_disk_load_failure(load, &error);
        turns += latest.sync_ns.count;
    }
    CHECK_TEXT(error.text, "");
    CHECK_EQUAL(count_entries(), before);
    CHECK_EQUAL(total.sync_ns.count, turns);
    CHECK_EQUAL(total.written_bytes, turns * BLOCK);
    CHECK_EQUAL(total.read_bytes, pl_disk_load_reads(load) ? turns * BLOCK : 0);
    CHECK(pl_disk_load_stop(load));
    CHECK_EQUAL(count_entries(), before);
}

int main(void)
{
    check_refusals();
    check_work();
    CHECK_RETURN();
}
