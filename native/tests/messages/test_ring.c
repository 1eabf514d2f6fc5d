/* The ring: order across its end, limits, the end of the data, and a peer that writes nonsense into its head.
 */
#include "messages/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "messages/breach.h"

#define ROOM 4096
#define CHUNK 97 /* does not divide the room */
#define TOTAL (CHUNK * 20000)

static struct pl_ring writer;
static struct pl_ring reader;

static void *write_all(void *argument)
{
    (void)argument;
    uint8_t chunk[CHUNK];
    for (size_t at = 0; at < TOTAL; at += CHUNK) {
        for (size_t i = 0; i < CHUNK; i++)
            chunk[i] = (uint8_t)((at + i) * 7);
        while (pl_ring_writable(&writer) < CHUNK)
            pl_ring_await_room(&writer);
        pl_ring_write(&writer, chunk, CHUNK);
    }
    pl_ring_close_writer(&writer);
    return NULL;
}

static void check_transfer(void)
{
    pthread_t thread;
    uint8_t data[ROOM];
    size_t at = 0;
    size_t wrong = 0;
    CHECK_EQUAL(pthread_create(&thread, NULL, write_all, NULL), 0);
    for (;;) {
        bool closed = pl_ring_is_closed(&reader);
        ssize_t ready = pl_ring_readable(&reader);
        if (ready == 0 && closed)
            break;
        if (ready == 0) {
            pl_ring_await_bytes(&reader);
            continue;
        }
        pl_ring_read(&reader, data, (size_t)ready);
        for (size_t i = 0; i < (size_t)ready; i++)
            wrong += data[i] != (uint8_t)((at + i) * 7);
        at += (size_t)ready;
    }
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(at, TOTAL);
    CHECK_EQUAL(wrong, 0);
}

static void check_refused(int fd)
{
    struct pl_ring ring = {0};
    struct pl_error error = {0};
    CHECK(!pl_ring_map(&ring, fd, 2 * ROOM, &error)); /* another size than was agreed */
    CHECK_EQUAL(error.status, PL_PEER);
    int unsealed = memfd_create("unsealed", MFD_CLOEXEC);
    struct pl_error second = {0};
    CHECK_EQUAL(ftruncate(unsealed, ROOM), 0);
    CHECK(!pl_ring_map(&ring, unsealed, ROOM, &second));
    CHECK_EQUAL(second.status, PL_PEER);
    (void)close(unsealed);
}

/* A hostile peer's counts are refused before anything is copied. */
static void check_nonsense(void)
{
    memset(writer.head, 0xFF, 128);
    errno = 0;
    CHECK_EQUAL(pl_ring_readable(&reader), -1);
    CHECK_EQUAL(errno, PL_BREACH_QUEUE);
}

int main(void)
{
    struct pl_error error = {0};
    int fd = pl_ring_create(ROOM, &error);
    CHECK(fd >= 0);
    CHECK(pl_ring_map(&writer, fd, ROOM, &error) && pl_ring_map(&reader, fd, ROOM, &error));
    CHECK_EQUAL(pl_ring_readable(&reader), 0);
    CHECK_EQUAL(pl_ring_writable(&writer), ROOM);
    check_transfer();
    check_refused(fd);
    check_nonsense();
    pl_ring_unmap(&writer);
    pl_ring_unmap(&reader);
    (void)close(fd);
    CHECK_RETURN();
}
