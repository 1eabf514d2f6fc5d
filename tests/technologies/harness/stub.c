/* A technology without a network that misbehaves as its variant says: from the first request on (mute, second:
 * only the second stream), or after a few replies. It states on stderr when it hangs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/adapter.h"

enum { GOOD = 5 };

struct connection {
    const char *variant;
    unsigned stream;
    int asked;
    uint8_t reply[PL_ADAPTER_BYTES_MAX + 1];
};

static void *stub_connect(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    if (strcmp(settings->variant, "refuse") == 0) {
        (void)pl_adapter_fail(error, "connect", "refused as port %u", settings->port);
        return NULL;
    }
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection != NULL) {
        connection->variant = settings->variant;
        connection->stream = settings->stream;
    }
    return connection;
}

static int hangs(const struct connection *connection, int late)
{
    return (late && strcmp(connection->variant, "hang") == 0) || strcmp(connection->variant, "mute") == 0 ||
           (connection->stream == 1 && strcmp(connection->variant, "second") == 0);
}

static int stub_ask(void *context, const uint8_t *request, size_t bytes, const uint8_t **reply,
                    size_t *reply_bytes, struct pl_adapter_error *error)
{
    struct connection *connection = context;
    int late = connection->asked++ > GOOD;
    const char *variant = connection->variant;
    *reply = connection->reply;
    *reply_bytes = bytes;
    if (strcmp(variant, "chatty") == 0)
        (void)printf("this is no record\n");
    if (!(late && strcmp(variant, "stale") == 0))
        memcpy(connection->reply, request, bytes);
    if (strcmp(variant, "corrupt") == 0)
        connection->reply[5] = (uint8_t)~request[5];
    if ((late && strcmp(variant, "short") == 0) || strcmp(variant, "brief") == 0)
        *reply_bytes = bytes - 1;
    if (late && strcmp(variant, "long") == 0)
        *reply_bytes = bytes + 1;
    if (hangs(connection, late)) {
        (void)fprintf(stderr, "hangs\n");
        (void)pause();
    }
    if (late && strcmp(variant, "fail") == 0)
        return pl_adapter_fail(error, "reply", "the stub has failed");
    return 0;
}

static int stub_answer(const struct pl_adapter_settings *settings, void (*ready)(unsigned port),
                       struct pl_adapter_error *error)
{
    if (strcmp(settings->variant, "taken") == 0)
        return pl_adapter_fail(error, "port", "port %u is taken", settings->port);
    ready(settings->port);
    if (strcmp(settings->variant, "leave") == 0)
        return 0;
    return pause();
}

static void describe(void *connection, char *versions, size_t versions_room, char *settings_json,
                     size_t settings_room)
{
    (void)snprintf(versions, versions_room, "stub 1.2");
    (void)snprintf(settings_json, settings_room, connection != NULL ? "{\"no_delay\":\n true}" : "no JSON");
}

const struct pl_adapter pl_adapter = {
    .connect = stub_connect, .ask = stub_ask, .close = free, .answer = stub_answer, .describe = describe};
