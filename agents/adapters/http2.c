/* pathlab-adapter
 * {"contract": 1, "name": "http2", "title": "HTTP/2, POST to nghttpd", "language": "c", "beneath": "tcp",
 *  "adds": ["header compression", "flow control", "frames of at most 16 KiB",
 *           "a file in /tmp at the server", "one answering thread for all streams"],
 *  "lacks": ["encryption"],
 *  "needs": [{"header": "nghttp2/nghttp2.h", "debian": "libnghttp2-dev"},
 *            {"program": "nghttpd", "debian": "nghttp2-server"}],
 *  "build": [["cc", "-O2", "-D_GNU_SOURCE", "-o", "{program}", "{source}", "{harness}", "-lnghttp2"]],
 *  "server": ["nghttpd", "--no-tls", "--address={address}", "--htdocs={folder}", "--echo-upload",
 *             "--window-bits=20", "--connection-window-bits=20", "{port}"],
 *  "versions": [["nghttpd", "--version"]], "benchmark": "h2load"}
 * end
 *
 * One connection without an upgrade from HTTP/1.1 (prior knowledge), one stream of it per request. Windows of
 * 1 MiB at both ends, so that no request or reply waits for a window update.
 * nghttpd writes each request to a file in /tmp: in memory where the sandbox has a /tmp of its own
 * (PROTOCOL.md), else in the host's file system.
 */
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapter/adapter.h"
#include "adapter/tcp_socket.h"

#define WINDOW_BYTES (1 << 20)
#define OUTPUT_BYTES (128 << 10) /* a request of 64 KiB with its frames in one system call */
#define INPUT_BYTES (64 << 10)

struct connection {
    int fd;
    nghttp2_session *session;
    size_t bytes; /* of a request, and so of a reply */
    char authority[PL_ADAPTER_ENDPOINT_BYTES];
    char length[24];
    const uint8_t *request;
    size_t request_used;
    uint8_t *reply;
    size_t reply_bytes;
    char status[4]; /* of HTTP */
    bool done;
    uint32_t error_code; /* of HTTP/2, with which the server ended the stream */
    char fault[160];     /* of the server, as the library states it */
    uint8_t output[OUTPUT_BYTES];
    size_t output_bytes;
    uint8_t input[INPUT_BYTES];
};

static ssize_t read_request(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t room,
                            uint32_t *flags, nghttp2_data_source *source, void *connection)
{
    (void)session, (void)stream, (void)source;
    struct connection *c = connection;
    size_t left = c->bytes - c->request_used;
    size_t count = left < room ? left : room;
    memcpy(buffer, c->request + c->request_used, count);
    c->request_used += count;
    if (c->request_used == c->bytes)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)count;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_bytes, const uint8_t *value, size_t value_bytes, uint8_t flags,
                     void *connection)
{
    (void)session, (void)frame, (void)flags;
    struct connection *c = connection;
    if (name_bytes == 7 && memcmp(name, ":status", 7) == 0)
        snprintf(c->status, sizeof c->status, "%.*s", (int)value_bytes, (const char *)value);
    return 0;
}

/* Counts all bytes of the reply and keeps as many as were asked for. */
static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t bytes,
                   void *connection)
{
    (void)session, (void)flags, (void)stream;
    struct connection *c = connection;
    if (c->reply_bytes + bytes <= c->bytes)
        memcpy(c->reply + c->reply_bytes, data, bytes);
    c->reply_bytes += bytes;
    return 0;
}

static int on_stream_end(nghttp2_session *session, int32_t stream, uint32_t error_code, void *connection)
{
    (void)session, (void)stream;
    struct connection *c = connection;
    c->done = true;
    c->error_code = error_code;
    return 0;
}

static int on_fault(nghttp2_session *session, int code, const char *text, size_t bytes, void *connection)
{
    (void)session, (void)code;
    struct connection *c = connection;
    snprintf(c->fault, sizeof c->fault, "%.*s", (int)bytes, text);
    return 0;
}

static int flush_output(struct connection *c, const char *stage, struct pl_adapter_error *error)
{
    for (size_t used = 0; used < c->output_bytes;) {
        ssize_t sent = send(c->fd, c->output + used, c->output_bytes - used, MSG_NOSIGNAL);
        if (sent < 0)
            return pl_adapter_fail(error, stage, "sending: %s", strerror(errno));
        used += (size_t)sent;
    }
    c->output_bytes = 0;
    return 0;
}

/* Sends all frames that the session has, together. */
static int send_frames(struct connection *c, const char *stage, struct pl_adapter_error *error)
{
    const uint8_t *frame;
    ssize_t bytes;
    while ((bytes = nghttp2_session_mem_send(c->session, &frame)) > 0) {
        if (c->output_bytes + (size_t)bytes > sizeof c->output && flush_output(c, stage, error) != 0)
            return -1;
        memcpy(c->output + c->output_bytes, frame, (size_t)bytes); /* a frame has 16 KiB at most */
        c->output_bytes += (size_t)bytes;
    }
    if (bytes < 0)
        return pl_adapter_fail(error, stage, "sending: %s", nghttp2_strerror((int)bytes));
    return flush_output(c, stage, error);
}

static int receive_frames(struct connection *c, struct pl_adapter_error *error)
{
    if (!nghttp2_session_want_read(c->session)) /* the library has told the server so */
        return pl_adapter_fail(error, "reply", "the server does not follow HTTP/2: %s",
                               c->fault[0] == 0 ? "protocol error" : c->fault);
    ssize_t bytes = recv(c->fd, c->input, sizeof c->input, 0);
    if (bytes < 0)
        return pl_adapter_fail(error, "reply", "receiving: %s", strerror(errno));
    if (bytes == 0)
        return pl_adapter_fail(
            error, "reply", "the server closed the connection after %zu bytes of the reply", c->reply_bytes);
    ssize_t used = nghttp2_session_mem_recv(c->session, c->input, (size_t)bytes);
    if (used < 0)
        return pl_adapter_fail(error, "reply", "the server does not follow HTTP/2: %s",
                               nghttp2_strerror((int)used));
    return 0;
}

static int open_session(struct connection *c)
{
    const nghttp2_settings_entry entries[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                              {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES}};
    nghttp2_session_callbacks *callbacks;
    int cause = nghttp2_session_callbacks_new(&callbacks);
    if (cause != 0)
        return cause;
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_end);
    nghttp2_session_callbacks_set_error_callback2(callbacks, on_fault);
    cause = nghttp2_session_client_new(&c->session, callbacks, c);
    nghttp2_session_callbacks_del(callbacks);
    if (cause == 0)
        cause = nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, entries, 2);
    if (cause == 0)
        cause = nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, WINDOW_BYTES);
    return cause;
}

static void close_connection(void *connection)
{
    struct connection *c = connection;
    struct pl_adapter_error ignored = {.stage = ""};
    if (c->session != NULL) {
        if (nghttp2_session_terminate_session(c->session, NGHTTP2_NO_ERROR) == 0)
            send_frames(c, "connect", &ignored);
        nghttp2_session_del(c->session);
    }
    if (c->fd >= 0)
        close(c->fd);
    free(c->reply);
    free(c);
}

static void *open_connection(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    struct connection *c = calloc(1, sizeof *c);
    if (c == NULL) {
        pl_adapter_fail(error, "connect", "out of memory");
        return NULL;
    }
    c->bytes = settings->bytes;
    pl_adapter_format_endpoint(settings->address, settings->port, c->authority);
    snprintf(c->length, sizeof c->length, "%zu", c->bytes);
    c->reply = malloc(c->bytes);
    c->fd = pl_adapter_connect_tcp(settings, error);
    int cause = c->fd < 0 || c->reply == NULL ? NGHTTP2_ERR_NOMEM : open_session(c);
    if (cause == 0 && send_frames(c, "connect", error) == 0)
        return c;
    if (c->fd >= 0 && cause != 0)
        pl_adapter_fail(error, "connect", "%s", nghttp2_strerror(cause));
    close_connection(c);
    return NULL;
}

static nghttp2_nv make_header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static int ask(void *connection, const uint8_t *request, size_t bytes, const uint8_t **reply,
               size_t *reply_bytes, struct pl_adapter_error *error)
{
    struct connection *c = connection;
    const nghttp2_nv headers[] = {make_header(":method", "POST"), make_header(":scheme", "http"),
                                  make_header(":authority", c->authority), make_header(":path", "/echo"),
                                  make_header("content-length", c->length)};
    const nghttp2_data_provider body = {.read_callback = read_request};
    if (bytes != c->bytes)
        return pl_adapter_fail(error, "reply", "a request of %zu bytes instead of %zu", bytes, c->bytes);
    c->request = request;
    c->request_used = c->reply_bytes = 0;
    c->status[0] = 0;
    c->done = false;
    int32_t stream = nghttp2_submit_request(c->session, NULL, headers, 5, &body, NULL);
    if (stream < 0)
        return pl_adapter_fail(error, "reply", "request: %s", nghttp2_strerror(stream));
    while (!c->done)
        if (send_frames(c, "reply", error) != 0 || receive_frames(c, error) != 0)
            return -1;
    if (c->error_code != NGHTTP2_NO_ERROR)
        return pl_adapter_fail(error, "reply", "the server ended the stream: %s",
                               nghttp2_http2_strerror(c->error_code));
    if (strcmp(c->status, "200") != 0)
        return pl_adapter_fail(error, "reply", "expected status 200, got %s", c->status);
    if (c->reply_bytes > c->bytes)
        return pl_adapter_fail(error, "reply", "a reply of %zu bytes, expected %zu", c->reply_bytes,
                               c->bytes);
    *reply = c->reply;
    *reply_bytes = c->reply_bytes;
    return 0;
}

static void describe(void *connection, char *versions, size_t versions_room, char *settings_json,
                     size_t settings_room)
{
    const struct connection *c = connection;
    snprintf(versions, versions_room, "libnghttp2 %s", nghttp2_version(0)->version_str);
    snprintf(settings_json, settings_room, "{\"window_bytes\":%d,\"no_delay\":%s}", WINDOW_BYTES,
             c != NULL && pl_adapter_has_no_delay(c->fd) ? "true" : "false");
}

const struct pl_adapter pl_adapter = {
    .connect = open_connection,
    .ask = ask,
    .close = close_connection,
    .describe = describe,
};
