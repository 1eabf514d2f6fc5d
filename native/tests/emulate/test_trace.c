/* The trace: its bytes as in PROTOCOL.md, its bound, and a full file. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "emulate/trace.h"

enum { FILE_BYTES_MAX = 1 << 20 };

static char path[] = "/tmp/pathlab-trace-XXXXXX";
static unsigned char content[FILE_BYTES_MAX];

static size_t read_file(void)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    ssize_t got = fd < 0 ? -1 : read(fd, content, sizeof content);
    CHECK(got >= 0);
    (void)close(fd);
    return got < 0 ? 0 : (size_t)got;
}

static void open_trace(struct pl_trace *trace, uint64_t greatest_bytes)
{
    struct pl_error error = {0};
    CHECK(pl_trace_open(trace, path, greatest_bytes, &error));
    CHECK_TEXT(error.text, "");
}

/* One record of each fate, at known times. */
static void check_bytes(void)
{
    static struct pl_trace trace;
    open_trace(&trace, FILE_BYTES_MAX);
    trace.origin_ns = 1000;
    const struct pl_trace_packet plain = {.arrival_ns = 1000 + 0x0102030405, .ip_bytes = 1500};
    const struct pl_trace_packet segment = {
        .arrival_ns = 1256, .ip_bytes = 0x00010203, .direction = 1, .segment = true};
    const struct pl_link_verdict delivered = {
        .fate = PL_FATE_DELIVERED, .due_ns = 1000 + 0x0a0b0c0d0e, .duplicate = true};
    const struct pl_link_verdict marked = {.fate = PL_FATE_LOST, .due_ns = 77, .mark = true};
    pl_trace_add(&trace, &plain, &delivered);
    pl_trace_add(&trace, &segment, &marked);
    pl_trace_add(&trace, &plain, &(struct pl_link_verdict){.fate = PL_FATE_QUEUE_DROPPED});
    pl_trace_add(&trace, &plain, &(struct pl_link_verdict){.fate = PL_FATE_AQM_DROPPED});
    CHECK_EQUAL(trace.written_records, 0);
    pl_trace_close(&trace);
    CHECK_EQUAL(trace.written_records, 4);
    CHECK_EQUAL(trace.fd, -1);
    static const unsigned char golden[] = {
        'P', 'L', 'T', 'R',  0, 1, 0, 24, /* magic, version, size of a record */
        0,   0,   0,   1,    2, 3, 4, 5,  0,   0,   0,   0x0a, 0x0b, 0x0c, 0x0d, 0x0e, /* arrival, due */
        0,   0,   5,   0xdc, 0, 0, 2, 0, /* bytes, direction, fate, flags, 0 */
        0,   0,   0,   0,    0, 0, 1, 0,  255, 255, 255, 255,  255,  255,  255,  255, /* lost: due is -1 */
        0,   1,   2,   3,    1, 2, 5, 0,
    };
    CHECK_EQUAL(read_file(), PL_TRACE_HEADER_BYTES + 4 * PL_TRACE_RECORD_BYTES);
    CHECK(memcmp(content, golden, 8) == 0);
    CHECK(memcmp(content + PL_TRACE_HEADER_BYTES, golden + 8, sizeof golden - 8) == 0);
    CHECK_EQUAL(content[PL_TRACE_HEADER_BYTES + 2 * PL_TRACE_RECORD_BYTES + 21], 1);
    CHECK_EQUAL(content[PL_TRACE_HEADER_BYTES + 3 * PL_TRACE_RECORD_BYTES + 21], 3);
}

static void add_many(struct pl_trace *trace, int count)
{
    const struct pl_trace_packet packet = {.arrival_ns = trace->origin_ns, .ip_bytes = 100};
    const struct pl_link_verdict verdict = {.fate = PL_FATE_DELIVERED, .due_ns = trace->origin_ns};
    for (int i = 0; i < count; i++)
        pl_trace_add(trace, &packet, &verdict);
}

static void check_bound(void)
{
    static struct pl_trace trace;
    static const struct {
        uint64_t greatest_bytes;
        uint64_t records;
    } cases[] = {
        {0, 0},
        {PL_TRACE_HEADER_BYTES + PL_TRACE_RECORD_BYTES - 1, 0},
        {PL_TRACE_HEADER_BYTES + PL_TRACE_RECORD_BYTES, 1},
        {PL_TRACE_HEADER_BYTES + 2049 * PL_TRACE_RECORD_BYTES + 5, 2049}, /* more than the buffer */
        {FILE_BYTES_MAX, 5000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_trace(&trace, cases[i].greatest_bytes);
        add_many(&trace, 5000);
        pl_trace_flush(&trace);
        CHECK_EQUAL(trace.written_records, cases[i].records);
        CHECK_EQUAL(trace.skipped_records, 5000 - cases[i].records);
        CHECK_EQUAL(read_file(), PL_TRACE_HEADER_BYTES + cases[i].records * PL_TRACE_RECORD_BYTES);
        pl_trace_close(&trace);
    }
}

/* A file size limit acts as a full disk: a record that does not fit is absent. */
static void check_full_disk(void)
{
    static struct pl_trace trace;
    struct rlimit before;
    CHECK_EQUAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit tight = {.rlim_cur = PL_TRACE_HEADER_BYTES + 3000 * PL_TRACE_RECORD_BYTES + 7,
                           .rlim_max = before.rlim_max};
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    open_trace(&trace, FILE_BYTES_MAX);
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &tight), 0);
    add_many(&trace, 10000);
    pl_trace_flush(&trace);
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
    CHECK_EQUAL(trace.errno_value, EFBIG);
    CHECK_EQUAL(trace.written_records, PL_TRACE_BUFFER_RECORDS);
    CHECK_EQUAL(trace.skipped_records, 10000 - PL_TRACE_BUFFER_RECORDS);
    add_many(&trace, 1); /* the trace stays ended */
    pl_trace_close(&trace);
    CHECK_EQUAL(trace.skipped_records, 10001 - PL_TRACE_BUFFER_RECORDS);
    CHECK_EQUAL(read_file(), PL_TRACE_HEADER_BYTES + PL_TRACE_BUFFER_RECORDS * PL_TRACE_RECORD_BYTES);
}

static void check_refusals(void)
{
    static struct pl_trace trace;
    struct pl_error error = {0};
    CHECK(!pl_trace_open(&trace, "/nowhere/trace", 1000, &error));
    CHECK_TEXT(error.text, "the trace '/nowhere/trace' cannot be written: No such file or directory");
    pl_trace_close(&trace);
    error = (struct pl_error){0};
    CHECK(!pl_trace_open(&trace, "/dev/null", 1000, &error));
    CHECK_TEXT(error.text, "the trace '/dev/null' must be a regular file");
    pl_trace_close(&trace);
    /* A pipe without a reader is refused at once. */
    CHECK_EQUAL(unlink(path), 0);
    CHECK_EQUAL(mkfifo(path, 0600), 0);
    error = (struct pl_error){0};
    CHECK(!pl_trace_open(&trace, path, 1000, &error));
    pl_trace_close(&trace);
}

int main(void)
{
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    (void)close(fd);
    check_bytes();
    check_bound();
    check_full_disk();
    check_refusals();
    CHECK_EQUAL(unlink(path), 0);
    CHECK_RETURN();
}
