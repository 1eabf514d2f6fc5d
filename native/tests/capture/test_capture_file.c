/* The file of a capture: its limit, whole blocks, and the statistics at its end. */
#include "check.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/capture_file.h"

enum { PACKET_BYTES = 52, BLOCK_BYTES = 84, BATCH = 1000 };

static struct pl_interfaces interfaces = {.list = {{.index = 1, .name = "lo"}, {.index = 7, .name = "eth0"}},
                                          .count = 2};

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static bool add(struct pl_capture_file *file, unsigned interface)
{
    static const uint8_t data[PACKET_BYTES];
    const struct pl_packet packet = {.time_ns = 5,
                                     .interface_index = interface,
                                     .captured_bytes = PACKET_BYTES,
                                     .original_bytes = 1500,
                                     .data = data};
    return pl_capture_file_add(file, &packet);
}

static struct pl_capture_file *open_file(int fd, uint64_t limit_bytes)
{
    const struct pl_capture_file_settings settings = {
        .path = "", .descriptor = fd, .limit_bytes = limit_bytes, .snap_bytes = 128};
    struct pl_error error = {0};
    struct pl_capture_file *file = pl_capture_file_open(&settings, &interfaces, &error);
    CHECK(file != NULL);
    return file;
}

/* Counts the blocks of each type in the file, which must be whole; the types are those below 10. */
static void count_blocks(int fd, unsigned counts[10], uint64_t *file_bytes)
{
    off_t size = lseek(fd, 0, SEEK_END);
    uint8_t *bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    off_t at = 0;
    memset(counts, 0, 10 * sizeof *counts);
    *file_bytes = (uint64_t)size;
    CHECK(bytes != MAP_FAILED);
    while (at < size) {
        uint32_t length = get32(bytes + at + 4);
        CHECK(length >= 12 && at + length <= size && get32(bytes + at + length - 4) == length);
        counts[get32(bytes + at) % 0x0a0d0d01]++; /* a section counts as 9 */
        at += length;
    }
    CHECK_EQUAL(at, size);
    (void)munmap(bytes, (size_t)size);
}

static void check_whole_file(void)
{
    const struct pl_ring_counts counts = {.accepted = BATCH + 3, .dropped = 2};
    unsigned blocks[10];
    uint64_t bytes;
    int fd = memfd_create("capture", MFD_CLOEXEC);
    struct pl_capture_file *file = open_file(fd, 1 << 20);
    for (unsigned i = 0; i < BATCH; i++)
        CHECK(add(file, 7));
    CHECK(add(file, 1));
    CHECK(!add(file, 2)); /* not one of ours */
    CHECK_EQUAL(pl_capture_file_state(file).packets, 0);
    CHECK(pl_capture_file_finish(file, &counts, 1, 2));
    CHECK(pl_capture_file_state(file).reason == NULL);
    CHECK_EQUAL(pl_capture_file_state(file).packets, BATCH + 1);
    count_blocks(fd, blocks, &bytes);
    CHECK_EQUAL(pl_capture_file_state(file).bytes, bytes);
    CHECK_EQUAL(blocks[9], 1);
    CHECK_EQUAL(blocks[1], 2);
    CHECK_EQUAL(blocks[6], BATCH + 1);
    CHECK_EQUAL(blocks[5], 2);
    pl_capture_file_close(file);
    (void)close(fd);
}

static void check_empty_file(void)
{
    const struct pl_ring_counts counts = {0};
    unsigned blocks[10];
    uint64_t bytes;
    int fd = memfd_create("capture", MFD_CLOEXEC);
    struct pl_capture_file *file = open_file(fd, 4096);
    CHECK(pl_capture_file_finish(file, &counts, 1, 2));
    count_blocks(fd, blocks, &bytes);
    CHECK_EQUAL(blocks[1] + blocks[5] + blocks[9], 3);
    pl_capture_file_close(file);
    (void)close(fd);
}

/* Beyond the limit nothing is added, and the statistics still fit. */
static void check_limit(void)
{
    unsigned blocks[10];
    uint64_t bytes;
    for (uint64_t limit = 4096; limit < 4096 + BLOCK_BYTES; limit += 4) {
        int fd = memfd_create("capture", MFD_CLOEXEC);
        struct pl_capture_file *file = open_file(fd, limit);
        unsigned added = 0;
        while (add(file, added % 2 == 0 ? 7 : 1))
            added++;
        CHECK(!pl_capture_file_state(file).failed);
        CHECK_TEXT(pl_capture_file_state(file).reason,
                   "the capture's file has reached its limit (--limit-bytes)");
        CHECK(!add(file, 7));
        const struct pl_ring_counts counts = {.accepted = added + 5, .dropped = 3};
        CHECK(pl_capture_file_finish(file, &counts, 1, 2));
        count_blocks(fd, blocks, &bytes);
        CHECK_EQUAL(blocks[6], added);
        CHECK_EQUAL(blocks[5], 2);
        CHECK(bytes <= limit && bytes + BLOCK_BYTES + 3 * 256 > limit);
        pl_capture_file_close(file);
        (void)close(fd);
    }
}

static void check_refusals(void)
{
    struct pl_capture_file_settings settings = {.path = "/nonexistent/x", .limit_bytes = 4096};
    struct pl_error error = {0};
    CHECK(pl_capture_file_open(&settings, &interfaces, &error) == NULL);
    CHECK_TEXT(error.text, "cannot create the file '/nonexistent/x': No such file or directory");
    CHECK_EQUAL(error.status, PL_SETUP);
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    settings.path = "";
    settings.descriptor = ends[1];
    error = (struct pl_error){0};
    CHECK(pl_capture_file_open(&settings, &interfaces, &error) == NULL);
    CHECK_TEXT(error.text, "the capture's file is not a regular file");
    (void)close(ends[0]);
    (void)close(ends[1]);
    error = (struct pl_error){0};
    CHECK(pl_capture_file_open(&settings, &interfaces, &error) == NULL);
    CHECK_EQUAL(error.status, PL_USAGE);
    FILE *file = tmpfile(); /* a memfd has no disk */
    CHECK(file != NULL);
    settings.descriptor = fileno(file);
    settings.keep_free_bytes = UINT64_MAX / 2;
    error = (struct pl_error){0};
    CHECK(pl_capture_file_open(&settings, &interfaces, &error) == NULL);
    CHECK(strstr(error.text, "has less than --keep-free-bytes") != NULL);
    (void)fclose(file);
}

int main(void)
{
    check_whole_file();
    check_empty_file();
    check_limit();
    check_refusals();
    CHECK_RETURN();
}
