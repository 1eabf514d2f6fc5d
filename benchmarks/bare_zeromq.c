/* The least that a program can do to ask by ZeroMQ: what the adapter `zeromq` is compared with.
 *
 *   bare_zeromq ADDRESS PORT BYTES SECONDS
 *
 * A REQ socket sends a message of BYTES bytes and receives the reply, again and again, from a server that
 * returns each. Nothing is recorded: the clock is read once in 16 round trips, to know when to end. The first
 * 400 ms are left out. Prints messages_per_s and seconds. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zmq.h>

#define WARMUP_NS (INT64_C(400) * 1000 * 1000)
#define ROUND_TRIPS_PER_READING 16

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "bare_zeromq: %s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

static int64_t read_clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Asks until `end_ns`; returns how often. */
static int64_t ask_until(void *socket, size_t bytes, zmq_msg_t *reply, int64_t end_ns)
{
    int64_t count = 0;
    while (read_clock_ns() < end_ns) {
        for (int i = 0; i < ROUND_TRIPS_PER_READING; i++, count++) {
            zmq_msg_t request;
            if (zmq_msg_init_size(&request, bytes) || zmq_msg_send(&request, socket, 0) < 0)
                fail("send");
            if (zmq_msg_recv(reply, socket, 0) != (int)bytes)
                fail("receive");
        }
    }
    return count;
}

int main(int count, char **words)
{
    if (count != 5) {
        (void)fprintf(stderr, "usage: bare_zeromq ADDRESS PORT BYTES SECONDS\n");
        return 2;
    }
    char endpoint[128];
    (void)snprintf(endpoint, sizeof endpoint, "tcp://%s:%s", words[1], words[2]);
    size_t bytes = strtoul(words[3], NULL, 10);
    int64_t duration_ns = strtol(words[4], NULL, 10) * INT64_C(1000000000);
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_REQ);
    zmq_msg_t reply;
    if (socket == NULL || zmq_connect(socket, endpoint) || zmq_msg_init(&reply))
        fail(endpoint);
    (void)ask_until(socket, bytes, &reply, read_clock_ns() + WARMUP_NS);
    int64_t start_ns = read_clock_ns();
    int64_t asked = ask_until(socket, bytes, &reply, start_ns + duration_ns);
    double seconds = (double)(read_clock_ns() - start_ns) / 1e9;
    printf("messages_per_s=%.1f\nseconds=%.3f\n", (double)asked / seconds, seconds);
    (void)zmq_msg_close(&reply);
    (void)zmq_close(socket);
    (void)zmq_ctx_term(context);
    return 0;
}
