/* pathlab-adapter
 * {"contract": 1, "name": "http1", "title": "HTTP/1.1, POST to libevent", "language": "c", "beneath": "tcp",
 *  "adds": ["text headers", "one answering thread for all streams"],
 *  "lacks": ["encryption"],
 *  "needs": [{"header": "event2/http.h", "debian": "libevent-dev"}],
 *  "build": [["cc", "-O2", "-D_GNU_SOURCE", "-o", "{program}", "{source}", "{harness}", "-levent"]],
 *  "port": "own", "benchmark": "h2load"}
 * end
 *
 * The client writes a request with one system call and reads replies that state Content-Length; chunked ones,
 * other statuses than 200 and servers that close the connection are refused.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "adapter/adapter.h"
#include "adapter/tcp_socket.h"

#define HEAD_MAX_BYTES 8192

struct connection {
    int fd;
    size_t bytes;    /* of a request, and so of a reply */
    char *head;      /* of every request: all have the same size */
    char *reply;     /* head and body; HEAD_MAX_BYTES + bytes + 1 of room */
    size_t received; /* of the reply */
};

static void close_connection(void *connection)
{
    struct connection *c = connection;
    if (c->fd >= 0)
        close(c->fd);
    free(c->head);
    free(c->reply);
    free(c);
}

static void *open_connection(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    char server[PL_ADAPTER_ENDPOINT_BYTES];
    struct connection *c = calloc(1, sizeof *c);
    if (c == NULL) {
        pl_adapter_fail(error, "connect", "out of memory");
        return NULL;
    }
    c->bytes = settings->bytes;
    pl_adapter_format_endpoint(settings->address, settings->port, server);
    c->reply = malloc(HEAD_MAX_BYTES + c->bytes + 1);
    c->fd = pl_adapter_connect_tcp(settings, error);
    if (c->fd >= 0 && c->reply != NULL &&
        asprintf(&c->head,
                 "POST /echo HTTP/1.1\r\nHost: %s\r\nContent-Type: application/octet-stream\r\n"
                 "Content-Length: %zu\r\n\r\n",
                 server, c->bytes) > 0)
        return c;
    if (c->fd >= 0)
        pl_adapter_fail(error, "connect", "out of memory");
    close_connection(c);
    return NULL;
}

static int send_request(struct connection *c, const uint8_t *request, struct pl_adapter_error *error)
{
    struct iovec parts[] = {{c->head, strlen(c->head)}, {(void *)request, c->bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t sent = sendmsg(c->fd, &message, MSG_NOSIGNAL);
        if (sent < 0)
            return pl_adapter_fail(error, "reply", "sending the request: %s", strerror(errno));
        for (int i = 0; i < 2; i++) {
            size_t used = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + used;
            parts[i].iov_len -= used;
            sent -= (ssize_t)used;
        }
    }
    return 0;
}

/* Reads some more of the reply, up to `room` bytes in all. */
static int receive(struct connection *c, size_t room, const char *part, struct pl_adapter_error *error)
{
    ssize_t count = recv(c->fd, c->reply + c->received, room - c->received, 0);
    if (count < 0)
        return pl_adapter_fail(error, "reply", "receiving the reply's %s: %s", part, strerror(errno));
    if (count == 0)
        return pl_adapter_fail(error, "reply",
                               "the server closed the connection in the reply's %s, after %zu bytes", part,
                               c->received);
    c->received += (size_t)count;
    return 0;
}

/* The value of a header line ("name: value") that has this name, else NULL. */
static const char *find_value(const char *line, const char *name)
{
    size_t length = strlen(name);
    if (strncasecmp(line, name, length) != 0 || line[length] != ':')
        return NULL;
    return line + length + 1 + strspn(line + length + 1, " \t");
}

/* Reads the length of the body from the reply's head, a text that ends before its empty line. */
static int parse_head(char *head, size_t *body_bytes, struct pl_adapter_error *error)
{
    bool stated = false;
    char *rest = NULL;
    const char *line = strtok_r(head, "\r\n", &rest);
    if (line == NULL || strncmp(line, "HTTP/1.1 200", 12) != 0)
        return pl_adapter_fail(error, "reply", "expected HTTP/1.1 200, got '%.80s'",
                               line == NULL ? "" : line);
    while ((line = strtok_r(NULL, "\r\n", &rest)) != NULL) {
        const char *value;
        char *end;
        if (find_value(line, "Transfer-Encoding") != NULL)
            return pl_adapter_fail(error, "reply", "the reply is sent in chunks, without Content-Length");
        if ((value = find_value(line, "Connection")) != NULL && strcasecmp(value, "close") == 0)
            return pl_adapter_fail(error, "reply", "the server closes the connection after each reply");
        if ((value = find_value(line, "Content-Length")) == NULL)
            continue;
        errno = 0;
        *body_bytes = strtoul(value, &end, 10);
        if (stated || strspn(value, "0123456789") == 0 || *end != 0 || errno != 0)
            return pl_adapter_fail(error, "reply", "unusable Content-Length '%.40s'", value);
        stated = true;
    }
    return stated ? 0 : pl_adapter_fail(error, "reply", "the reply has no Content-Length");
}

/* Reads up to the end of the head; where the body starts in `body_start`. */
static int receive_head(struct connection *c, size_t *body_start, size_t *body_bytes,
                        struct pl_adapter_error *error)
{
    char *end = NULL;
    for (c->received = 0; end == NULL;) {
        if (c->received >= HEAD_MAX_BYTES)
            return pl_adapter_fail(error, "reply", "no end of the reply's head in %zu bytes", c->received);
        if (receive(c, HEAD_MAX_BYTES + c->bytes + 1, "head", error) != 0)
            return -1;
        end = memmem(c->reply, c->received, "\r\n\r\n", 4);
    }
    *end = 0;
    *body_start = (size_t)(end - c->reply) + 4;
    return parse_head(c->reply, body_bytes, error);
}

static int ask(void *connection, const uint8_t *request, size_t bytes, const uint8_t **reply,
               size_t *reply_bytes, struct pl_adapter_error *error)
{
    struct connection *c = connection;
    size_t start = 0;
    if (bytes != c->bytes)
        return pl_adapter_fail(error, "reply", "a request of %zu bytes instead of %zu", bytes, c->bytes);
    if (send_request(c, request, error) != 0 || receive_head(c, &start, reply_bytes, error) != 0)
        return -1;
    if (*reply_bytes > c->bytes)
        return pl_adapter_fail(error, "reply", "a reply of %zu bytes, expected %zu", *reply_bytes, c->bytes);
    while (c->received < start + *reply_bytes)
        if (receive(c, start + *reply_bytes, "body", error) != 0)
            return -1;
    if (c->received > start + *reply_bytes)
        return pl_adapter_fail(error, "reply", "%zu bytes follow the reply",
                               c->received - start - *reply_bytes);
    *reply = (const uint8_t *)c->reply + start;
    return 0;
}

/* Returns the body of a request. The first request proves that accepted sockets have TCP_NODELAY. */
static void on_request(struct evhttp_request *request, void *checked)
{
    struct bufferevent *stream = evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
    bool *no_delay = checked;
    if (!*no_delay)
        *no_delay = pl_adapter_has_no_delay(bufferevent_getfd(stream));
    if (*no_delay)
        evhttp_send_reply(request, 200, "OK", evhttp_request_get_input_buffer(request));
    else
        evhttp_send_error(request, 500, "TCP_NODELAY is off");
}

/* Listens; the port, or 0 with `error` set. libevent does not set TCP_NODELAY on the sockets that it accepts:
 * they inherit it from the listening socket. */
static unsigned listen_for_requests(struct evhttp *server, const struct pl_adapter_settings *settings,
                                    struct pl_adapter_error *error)
{
    struct evhttp_bound_socket *bound =
        evhttp_bind_socket_with_handle(server, settings->address, (uint16_t)settings->port);
    struct sockaddr_storage name;
    socklen_t bytes = sizeof name;
    int on = 1;
    int fd = bound == NULL ? -1 : evhttp_bound_socket_get_fd(bound);
    if (fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
        getsockname(fd, (struct sockaddr *)&name, &bytes) == 0)
        return ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
                                                : ((struct sockaddr_in *)&name)->sin_port);
    pl_adapter_fail(error, errno == EADDRINUSE ? "port" : "start", "%s port %u: %s", settings->address,
                    settings->port, strerror(errno));
    return 0;
}

static int answer(const struct pl_adapter_settings *settings, void (*ready)(unsigned port),
                  struct pl_adapter_error *error)
{
    bool no_delay = false;
    struct event_base *base = event_base_new();
    struct evhttp *server = base == NULL ? NULL : evhttp_new(base);
    unsigned port = 0;
    if (server == NULL)
        pl_adapter_fail(error, "start", "libevent: out of memory");
    else
        port = listen_for_requests(server, settings, error);
    if (port != 0) {
        evhttp_set_gencb(server, on_request, &no_delay);
        ready(port);
        event_base_dispatch(base);
        pl_adapter_fail(error, "exit", "libevent's loop ended");
    }
    if (server != NULL)
        evhttp_free(server);
    if (base != NULL)
        event_base_free(base);
    return -1;
}

static void describe(void *connection, char *versions, size_t versions_room, char *settings_json,
                     size_t settings_room)
{
    const struct connection *c = connection;
    snprintf(versions, versions_room, "libevent %s", event_get_version());
    if (c == NULL)
        snprintf(settings_json, settings_room, "{\"keep_alive\":true}");
    else
        snprintf(settings_json, settings_room, "{\"keep_alive\":true,\"no_delay\":%s}",
                 pl_adapter_has_no_delay(c->fd) ? "true" : "false");
}

const struct pl_adapter pl_adapter = {
    .connect = open_connection,
    .ask = ask,
    .close = close_connection,
    .answer = answer,
    .describe = describe,
};
