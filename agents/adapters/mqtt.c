/*
pathlab-adapter
{
    "contract": 1,
    "name": "mqtt",
    "title": "MQTT, QoS 0",
    "language": "c",
    "beneath": "tcp",
    "baseline": null,
    "adds": ["broker", "topics", "responder", "one answering thread for all streams"],
    "lacks": ["encryption"],
    "needs": [
        {"program": "mosquitto", "debian": "mosquitto"},
        {"header": "mosquitto.h", "debian": "libmosquitto-dev"}
    ],
    "build": [["cc", "-O2", "{source}", "{harness}", "-o", "{program}", "-lmosquitto"]],
    "prepare": [
        ["sh", "-c", "printf 'user %s\\ntopic readwrite %s/#\\n' \"$1\" \"$1\" > \"$0\"", "{folder}/access",
         "{scope}"]
    ],
    "server": ["mosquitto", "-c", "{config}"],
    "config": ["listener {port} {address}", "allow_anonymous true",
               "acl_file {folder}/access", "max_connections 320", "memory_limit 268435456",
               "message_size_limit 131072", "persistence false",
               "set_tcp_nodelay true", "sys_interval 0", "log_dest stderr", "log_type error"],
    "responder": true,
    "port": "given",
    "protocol": "tcp",
    "versions": [["mosquitto", "-h"]],
    "limits": [{"what": "more than 300 streams", "constraint": "streams <= 300"}],
    "variants": {
        "mqtt-qos1": {
            "title": "MQTT, QoS 1",
            "adds": ["broker", "topics", "responder", "acknowledgements",
                     "one answering thread for all streams"]
        }
    }
}
end
*/

/* MQTT 3.1.1, through libmosquitto. A request is published on the topic of its stream; the responder, a
 * client of the same broker, publishes it on the stream's topic of replies. The library's loop runs on the
 * asking thread: a thread of the library would add a change of threads to each message. It waits by
 * select(2), which knows 1024 descriptors; a client has three. */
#include <errno.h>
#include <mosquitto.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/tcp_socket.h"

#define REQUESTS "%s/request/" /* with the scope: the access list knows no other user and no other topics */
#define REPLIES "%s/reply/"

/* Nobody turns the loop between ready and go, so that no ping is sent: the broker would close the connection
 * after one and a half times the interval of keep-alive, which is the longest of the protocol. */
enum { TOPIC_BYTES = 64, KEEP_ALIVE_S = 65535, LOOP_MS = 1000 };

struct message {
    unsigned stream;
    size_t bytes;
    uint8_t *data;
};

/* Received messages wait in a ring of one slot per stream, since each stream has one message under way. */
struct connection {
    struct mosquitto *client;
    int qos;
    bool connected, subscribed; /* confirmed by the broker */
    size_t room;                /* of each slot */
    unsigned slots, first, waiting;
    bool overflowed;
    char requests[TOPIC_BYTES]; /* of the asking end */
    struct message messages[];
};

static pthread_once_t initialized = PTHREAD_ONCE_INIT;

static void initialize(void)
{
    (void)mosquitto_lib_init();
}

static void on_connect(struct mosquitto *client, void *opened, int refusal)
{
    (void)client;
    ((struct connection *)opened)->connected = refusal == 0;
}

static void on_subscribe(struct mosquitto *client, void *opened, int id, int count, const int *granted)
{
    struct connection *connection = opened;
    (void)client;
    (void)id;
    connection->subscribed = count == 1 && granted[0] == connection->qos;
}

/* The payload is the library's until this returns, and what is published from here waits for the loop's next
 * turn. So the message is copied, and used after the loop has returned. */
static void on_message(struct mosquitto *client, void *opened, const struct mosquitto_message *received)
{
    struct connection *connection = opened;
    (void)client;
    if (connection->waiting == connection->slots) {
        connection->overflowed = true;
        return;
    }
    struct message *message =
        &connection->messages[(connection->first + connection->waiting++) % connection->slots];
    const char *stream = strrchr(received->topic, '/');
    size_t bytes = (size_t)received->payloadlen;
    message->stream = stream != NULL ? (unsigned)strtoul(stream + 1, NULL, 10) : 0;
    /* A slot has one byte more than a message, so that one that is too long arrives as such. */
    message->bytes = bytes <= connection->room ? bytes : connection->room;
    if (message->bytes > 0)
        memcpy(message->data, received->payload, message->bytes);
}

static const char *describe_cause(int cause)
{
    return cause == MOSQ_ERR_ERRNO ? strerror(errno) : mosquitto_strerror(cause);
}

static int fail(struct pl_adapter_error *error, const char *stage, const char *what, int cause)
{
    return pl_adapter_fail(error, stage, "%s: %s", what, describe_cause(cause));
}

static int turn(struct connection *connection, const char *stage, struct pl_adapter_error *error)
{
    int cause = mosquitto_loop(connection->client, LOOP_MS, 1);
    return cause == MOSQ_ERR_SUCCESS ? 0 : fail(error, stage, "connection to the broker failed", cause);
}

/* The oldest message, once there is one; NULL: failed. Its data stay until the next call. */
static const struct message *next_message(struct connection *connection, struct pl_adapter_error *error)
{
    while (connection->waiting == 0)
        if (turn(connection, "reply", error) != 0)
            return NULL;
    const struct message *message = &connection->messages[connection->first];
    connection->first = (connection->first + 1) % connection->slots;
    connection->waiting--;
    if (!connection->overflowed)
        return message;
    (void)pl_adapter_fail(error, "reply", "the broker delivered more messages than were under way");
    return NULL;
}

static int publish(struct connection *connection, const char *topic, const uint8_t *data, size_t bytes,
                   struct pl_adapter_error *error)
{
    int cause = mosquitto_publish(connection->client, NULL, topic, (int)bytes, data, connection->qos, false);
    return cause == MOSQ_ERR_SUCCESS ? 0 : fail(error, "reply", "cannot publish", cause);
}

static void close_connection(void *opened)
{
    struct connection *connection = opened;
    if (connection->client != NULL) {
        (void)mosquitto_disconnect(connection->client);
        mosquitto_destroy(connection->client);
    }
    free(connection);
}

/* Connects and subscribes to `topic`, and waits until the broker has confirmed both. */
static int subscribe(struct connection *connection, const struct pl_adapter_settings *settings,
                     const char *topic, struct pl_adapter_error *error)
{
    const char *source = settings->local_address[0] != '\0' ? settings->local_address : NULL;
    int cause = mosquitto_connect_bind(connection->client, settings->address, (int)settings->port,
                                       KEEP_ALIVE_S, source);
    if (cause != MOSQ_ERR_SUCCESS)
        return pl_adapter_fail(error, "connect", "%s port %u: %s", settings->address, settings->port,
                               describe_cause(cause));
    while (!connection->connected)
        if (turn(connection, "connect", error) != 0)
            return -1;
    cause = mosquitto_subscribe(connection->client, NULL, topic, connection->qos);
    if (cause != MOSQ_ERR_SUCCESS)
        return fail(error, "connect", "cannot subscribe", cause);
    while (!connection->subscribed)
        if (turn(connection, "connect", error) != 0)
            return -1;
    return 0;
}

/* A client with `slots` for messages, which is subscribed to `topic`; NULL: failed. */
static struct connection *open_client(const struct pl_adapter_settings *settings, const char *topic,
                                      unsigned slots, struct pl_adapter_error *error)
{
    const size_t room = settings->bytes + 1;
    const size_t head = sizeof(struct connection) + slots * sizeof(struct message);
    (void)pthread_once(&initialized, initialize);
    struct connection *connection = calloc(1, head + slots * room);
    if (connection == NULL) {
        (void)pl_adapter_fail(error, "connect", "out of memory");
        return NULL;
    }
    connection->qos = strcmp(settings->variant, "mqtt-qos1") == 0 ? 1 : 0;
    connection->room = room;
    connection->slots = slots;
    for (unsigned i = 0; i < slots; i++)
        connection->messages[i].data = (uint8_t *)connection + head + i * room;
    connection->client = mosquitto_new(NULL, true, connection);
    if (connection->client == NULL ||
        mosquitto_username_pw_set(connection->client, settings->scope, NULL) != MOSQ_ERR_SUCCESS) {
        (void)fail(error, "connect", "cannot create a client", MOSQ_ERR_ERRNO);
        free(connection);
        return NULL;
    }
    mosquitto_connect_callback_set(connection->client, on_connect);
    mosquitto_subscribe_callback_set(connection->client, on_subscribe);
    mosquitto_message_callback_set(connection->client, on_message);
    (void)mosquitto_int_option(connection->client, MOSQ_OPT_TCP_NODELAY, 1);
    if (subscribe(connection, settings, topic, error) == 0)
        return connection;
    close_connection(connection);
    return NULL;
}

static void *open_connection(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    char replies[TOPIC_BYTES];
    (void)snprintf(replies, sizeof replies, REPLIES "%u", settings->scope, settings->stream);
    struct connection *connection = open_client(settings, replies, 1, error);
    if (connection != NULL)
        (void)snprintf(connection->requests, TOPIC_BYTES, REQUESTS "%u", settings->scope, settings->stream);
    return connection;
}

static int ask(void *opened, const uint8_t *request, size_t bytes, const uint8_t **reply, size_t *reply_bytes,
               struct pl_adapter_error *error)
{
    struct connection *connection = opened;
    if (publish(connection, connection->requests, request, bytes, error) != 0)
        return -1;
    const struct message *message = next_message(connection, error);
    if (message == NULL)
        return -1;
    *reply = message->data;
    *reply_bytes = message->bytes;
    return 0;
}

static int answer(const struct pl_adapter_settings *settings, void (*ready)(unsigned port),
                  struct pl_adapter_error *error)
{
    char requests[TOPIC_BYTES];
    (void)snprintf(requests, sizeof requests, REQUESTS "+", settings->scope);
    struct connection *connection = open_client(settings, requests, settings->streams, error);
    const struct message *request;
    if (connection == NULL)
        return -1;
    if (pl_adapter_require_no_delay(settings, error) != 0) {
        close_connection(connection);
        return -1;
    }
    ready(settings->port);
    while ((request = next_message(connection, error)) != NULL) {
        char replies[TOPIC_BYTES];
        (void)snprintf(replies, sizeof replies, REPLIES "%u", settings->scope, request->stream);
        if (publish(connection, replies, request->data, request->bytes, error) != 0)
            break;
    }
    close_connection(connection);
    return -1;
}

static void describe(void *opened, char *versions, size_t versions_room, char *settings_json,
                     size_t settings_room)
{
    const struct connection *connection = opened;
    int major, minor, patch;
    (void)mosquitto_lib_version(&major, &minor, &patch);
    (void)snprintf(versions, versions_room, "libmosquitto %d.%d.%d", major, minor, patch);
    if (connection == NULL)
        return;
    bool no_delay = pl_adapter_has_no_delay(mosquitto_socket(connection->client));
    (void)snprintf(settings_json, settings_room, "{\"no_delay\":%s,\"qos\":%d}", no_delay ? "true" : "false",
                   connection->qos);
}

const struct pl_adapter pl_adapter = {.connect = open_connection,
                                      .ask = ask,
                                      .close = close_connection,
                                      .answer = answer,
                                      .describe = describe};
