/*
pathlab-adapter
{
    "contract": 1,
    "name": "nats",
    "title": "NATS, request and reply",
    "language": "c",
    "beneath": "tcp",
    "baseline": null,
    "adds": ["broker", "subjects", "responder", "reader thread in each client",
             "one answering thread for all streams"],
    "lacks": ["encryption"],
    "needs": [
        {"program": "nats-server", "debian": "nats-server"},
        {"header": "nats/nats.h", "debian": "libnats-dev"}
    ],
    "build": [["cc", "-O2", "{source}", "{harness}", "-o", "{program}", "-lnats"]],
    "server": ["nats-server", "--config", "{config}", "--addr", "{address}", "--port", "{port}"],
    "config": ["max_connections: 1100", "max_payload: 131072", "max_pending: 16777216",
               "max_subscriptions: 16", "authorization {", "  user: {scope}", "  password: {scope}",
               "  permissions {",
               "    publish: [\"{scope}.request\", \"_INBOX.>\"]",
               "    subscribe: [\"{scope}.request\", \"_INBOX.>\"]",
               "  }", "}"],
    "responder": true,
    "port": "given",
    "protocol": "tcp",
    "versions": [["nats-server", "--version"]]
}
end
*/

/* NATS core, through its C client. A request is published on one subject with the connection's inbox as the
 * place of the reply; the responder, a client of the same server, publishes the reply there. No JetStream:
 * nothing is stored. The client flushes each publication at once (SendAsap); its reading thread wakes ours.
 */
#include <nats/nats.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/tcp_socket.h"

enum { SUBJECT_BYTES = 64 };

/* The harness ends a trial that stalls; the client's own limit, a day, does not come first. */
#define REPLY_MS INT64_C(86400000)
enum { CONNECT_MS = 5000 };

struct connection {
    natsConnection *client;
    bool no_delay;
    natsMsg *reply; /* of the latest request: its data is what ask() returned */
    char subject[SUBJECT_BYTES];
};

/* Nobody else knows it: the scope is another one in each trial. */
static void name_subject(const struct pl_adapter_settings *settings, char subject[SUBJECT_BYTES])
{
    (void)snprintf(subject, SUBJECT_BYTES, "%s.request", settings->scope);
}

static int fail(struct pl_adapter_error *error, const char *stage, const char *what, natsStatus status)
{
    return pl_adapter_fail(error, stage, "%s: %s", what, natsStatus_GetText(status));
}

static natsStatus set_options(natsOptions *options, const struct pl_adapter_settings *settings)
{
    char server[PL_ADAPTER_ENDPOINT_BYTES], url[sizeof server + 8];
    pl_adapter_format_endpoint(settings->address, settings->port, server);
    (void)snprintf(url, sizeof url, "nats://%s", server);
    natsStatus status = natsOptions_SetURL(options, url);
    if (status == NATS_OK)
        status = natsOptions_SetUserInfo(options, settings->scope, settings->scope);
    if (status == NATS_OK)
        status = natsOptions_SetSendAsap(options, true);
    if (status == NATS_OK)
        status = natsOptions_SetTimeout(options, CONNECT_MS);
    if (status == NATS_OK) /* a lost connection is a failure, not a pause */
        status = natsOptions_SetAllowReconnect(options, false);
    return status;
}

static natsConnection *open_client(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    natsOptions *options = NULL;
    natsConnection *client = NULL;
    natsStatus status = natsOptions_Create(&options);
    if (status == NATS_OK)
        status = set_options(options, settings);
    if (status == NATS_OK)
        status = natsConnection_Connect(&client, options);
    natsOptions_Destroy(options);
    if (status == NATS_OK)
        return client;
    (void)pl_adapter_fail(error, "connect", "%s port %u: %s", settings->address, settings->port,
                          natsStatus_GetText(status));
    return NULL;
}

static void close_connection(void *opened)
{
    struct connection *connection = opened;
    natsMsg_Destroy(connection->reply);
    natsConnection_Destroy(connection->client);
    free(connection);
}

static void *open_connection(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL || (connection->client = open_client(settings, error)) == NULL) {
        (void)pl_adapter_fail(error, "connect", "out of memory");
        free(connection);
        return NULL;
    }
    name_subject(settings, connection->subject);
    if (pl_adapter_inspect_sockets(settings, &connection->no_delay, error) == 0)
        return connection;
    close_connection(connection);
    return NULL;
}

static int ask(void *opened, const uint8_t *request, size_t bytes, const uint8_t **reply, size_t *reply_bytes,
               struct pl_adapter_error *error)
{
    struct connection *connection = opened;
    natsMsg_Destroy(connection->reply);
    connection->reply = NULL;
    natsStatus status = natsConnection_Request(&connection->reply, connection->client, connection->subject,
                                               request, (int)bytes, REPLY_MS);
    if (status != NATS_OK)
        return fail(error, "reply", "request failed", status);
    *reply = (const uint8_t *)natsMsg_GetData(connection->reply);
    *reply_bytes = (size_t)natsMsg_GetDataLength(connection->reply);
    return 0;
}

/* Answers all requests; returns why it cannot go on. */
static natsStatus respond(natsConnection *client, natsSubscription *subscription)
{
    natsStatus status;
    do {
        natsMsg *request = NULL;
        status = natsSubscription_NextMsg(&request, subscription, REPLY_MS);
        if (status == NATS_OK)
            status = natsConnection_Publish(client, natsMsg_GetReply(request), natsMsg_GetData(request),
                                            natsMsg_GetDataLength(request));
        natsMsg_Destroy(request);
    } while (status == NATS_OK || status == NATS_TIMEOUT);
    return status;
}

static int answer(const struct pl_adapter_settings *settings, void (*ready)(unsigned port),
                  struct pl_adapter_error *error)
{
    natsConnection *client = open_client(settings, error);
    natsSubscription *subscription = NULL;
    char subject[SUBJECT_BYTES];
    name_subject(settings, subject);
    if (client == NULL)
        return -1;
    if (pl_adapter_require_no_delay(settings, error) != 0) {
        natsConnection_Destroy(client);
        return -1;
    }
    natsStatus status = natsConnection_SubscribeSync(&subscription, client, subject);
    if (status == NATS_OK) /* the server has the subscription once it has answered a ping */
        status = natsConnection_Flush(client);
    if (status == NATS_OK) {
        ready(settings->port);
        (void)fail(error, "exit", "connection to nats-server failed", respond(client, subscription));
    } else {
        (void)fail(error, "connect", "cannot subscribe", status);
    }
    natsSubscription_Destroy(subscription);
    natsConnection_Destroy(client);
    return -1;
}

static void describe(void *opened, char *versions, size_t versions_room, char *settings_json,
                     size_t settings_room)
{
    const struct connection *connection = opened;
    (void)snprintf(versions, versions_room, "libnats %s", nats_GetVersion());
    if (connection == NULL)
        return;
    (void)snprintf(settings_json, settings_room, "{\"no_delay\":%s,\"send_asap\":true}",
                   connection->no_delay ? "true" : "false");
}

const struct pl_adapter pl_adapter = {.connect = open_connection,
                                      .ask = ask,
                                      .close = close_connection,
                                      .answer = answer,
                                      .describe = describe};
