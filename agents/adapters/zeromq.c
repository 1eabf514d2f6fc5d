/* pathlab-adapter
 * {"contract": 1, "name": "zeromq", "title": "ZeroMQ, REQ to REP", "language": "c", "beneath": "tcp",
 *  "adds": ["message framing", "I/O thread at each end", "reconnection",
 *           "one answering thread for all streams"],
 *  "lacks": ["encryption"],
 *  "needs": [{"header": "zmq.h", "debian": "libzmq3-dev"}],
 *  "build": [["cc", "-O2", "-D_GNU_SOURCE", "-o", "{program}", "{source}", "{harness}", "-lzmq"]],
 *  "port": "own",
 *  "limits": [{"what": "more than 128 streams", "constraint": "streams <= 128"}]}
 * end
 *
 * Each connection has a context of its own, so streams share no I/O thread. That takes seven descriptors, of
 * which a process may open 1024. The answering end has one context.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "adapter/adapter.h"
#include "adapter/tcp_socket.h"

#define CONNECT_TIMEOUT_MS 5000
#define ENDPOINT_BYTES 256

struct connection {
    void *context;
    void *socket;
    zmq_msg_t reply;
    bool no_delay;
};

static void *open_socket(void *context, int type, const char *address)
{
    void *socket = zmq_socket(context, type);
    int linger_ms = 0, ipv6 = strchr(address, ':') != NULL,
        immediate = 1; /* no message waits for a connection */
    if (socket != NULL && (zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms) != 0 ||
                           zmq_setsockopt(socket, ZMQ_IMMEDIATE, &immediate, sizeof immediate) != 0 ||
                           zmq_setsockopt(socket, ZMQ_IPV6, &ipv6, sizeof ipv6) != 0)) {
        zmq_close(socket);
        socket = NULL;
    }
    return socket;
}

static void close_connection(void *connection)
{
    struct connection *c = connection;
    zmq_msg_close(&c->reply);
    if (c->socket != NULL)
        zmq_close(c->socket);
    if (c->context != NULL)
        zmq_ctx_term(c->context);
    free(c);
}

static int connect_socket(struct connection *c, const struct pl_adapter_settings *settings,
                          struct pl_adapter_error *error)
{
    char server[PL_ADAPTER_ENDPOINT_BYTES], local[PL_ADAPTER_ENDPOINT_BYTES], endpoint[ENDPOINT_BYTES];
    bool anywhere = settings->local_address[0] == 0;
    pl_adapter_format_endpoint(settings->address, settings->port, server);
    pl_adapter_format_endpoint(settings->local_address, 0, local);
    snprintf(endpoint, sizeof endpoint, "tcp://%s%s%s", anywhere ? "" : local, anywhere ? "" : ";", server);
    c->context = zmq_ctx_new();
    c->socket = c->context == NULL ? NULL : open_socket(c->context, ZMQ_REQ, settings->address);
    if (c->socket == NULL || zmq_connect(c->socket, endpoint) != 0)
        return pl_adapter_fail(error, "connect", "%s: %s", endpoint, zmq_strerror(errno));
    zmq_pollitem_t item = {.socket = c->socket, .events = ZMQ_POLLOUT};
    if (zmq_poll(&item, 1, CONNECT_TIMEOUT_MS) != 1)
        return pl_adapter_fail(error, "connect", "%s: no connection within %d ms", endpoint,
                               CONNECT_TIMEOUT_MS);
    return pl_adapter_inspect_sockets(settings, &c->no_delay, error);
}

static void *open_connection(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    struct connection *c = calloc(1, sizeof *c);
    if (c == NULL) {
        pl_adapter_fail(error, "connect", "out of memory");
        return NULL;
    }
    zmq_msg_init(&c->reply);
    if (connect_socket(c, settings, error) == 0)
        return c;
    close_connection(c);
    return NULL;
}

static int ask(void *connection, const uint8_t *request, size_t bytes, const uint8_t **reply,
               size_t *reply_bytes, struct pl_adapter_error *error)
{
    struct connection *c = connection;
    if (zmq_send(c->socket, request, bytes, 0) < 0 || zmq_msg_recv(&c->reply, c->socket, 0) < 0)
        return pl_adapter_fail(error, "reply", "%s", zmq_strerror(errno));
    *reply = zmq_msg_data(&c->reply);
    *reply_bytes = zmq_msg_size(&c->reply);
    return 0;
}

/* Binds the socket; its port, or 0 with `error` set. */
static unsigned bind_socket(void *socket, const struct pl_adapter_settings *settings,
                            struct pl_adapter_error *error)
{
    char server[PL_ADAPTER_ENDPOINT_BYTES], endpoint[ENDPOINT_BYTES];
    size_t room = sizeof endpoint;
    pl_adapter_format_endpoint(settings->address, settings->port, server);
    snprintf(endpoint, sizeof endpoint, "tcp://%s", server);
    if (zmq_bind(socket, endpoint) == 0 && zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &room) == 0)
        return (unsigned)atoi(strrchr(endpoint, ':') + 1);
    pl_adapter_fail(error, errno == EADDRINUSE ? "port" : "start", "%s: %s", endpoint, zmq_strerror(errno));
    return 0;
}

/* Receives and returns messages until one of both fails. */
static int relay(void *socket, unsigned port, struct pl_adapter_error *error)
{
    zmq_msg_t message;
    zmq_msg_init(&message);
    while (zmq_msg_recv(&message, socket, 0) >= 0) {
        if (!pl_adapter_accepts_no_delay(port)) {
            zmq_msg_close(&message);
            return pl_adapter_fail(error, "reply", "TCP_NODELAY is off at the server");
        }
        if (zmq_msg_send(&message, socket, 0) < 0)
            break;
    }
    zmq_msg_close(&message);
    return pl_adapter_fail(error, "exit", "%s", zmq_strerror(errno));
}

static int answer(const struct pl_adapter_settings *settings, void (*ready)(unsigned port),
                  struct pl_adapter_error *error)
{
    void *context = zmq_ctx_new();
    void *socket = context == NULL ? NULL : open_socket(context, ZMQ_REP, settings->address);
    unsigned port = 0;
    if (socket == NULL)
        pl_adapter_fail(error, "start", "%s", zmq_strerror(errno));
    else
        port = bind_socket(socket, settings, error);
    if (port != 0) {
        ready(port);
        relay(socket, port, error);
    }
    if (socket != NULL)
        zmq_close(socket);
    if (context != NULL)
        zmq_ctx_term(context);
    return -1;
}

static void describe(void *connection, char *versions, size_t versions_room, char *settings_json,
                     size_t settings_room)
{
    const struct connection *c = connection;
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    snprintf(versions, versions_room, "libzmq %d.%d.%d", major, minor, patch);
    if (c == NULL)
        snprintf(settings_json, settings_room, "{\"io_threads\":1}");
    else
        snprintf(settings_json, settings_room, "{\"io_threads\":1,\"no_delay\":%s}",
                 c->no_delay ? "true" : "false");
}

const struct pl_adapter pl_adapter = {
    .connect = open_connection,
    .ask = ask,
    .close = close_connection,
    .answer = answer,
    .describe = describe,
};
