/*
pathlab-adapter
{
    "contract": 1,
    "name": "redis",
    "title": "Redis as the medium",
    "language": "c",
    "beneath": "tcp",
    "baseline": null,
    "adds": ["broker", "copy in the store", "responder", "one answering thread for all streams"],
    "lacks": ["encryption", "persistence"],
    "needs": [
        {"program": "redis-server", "debian": "redis-server"},
        {"header": "hiredis/hiredis.h", "debian": "libhiredis-dev"}
    ],
    "build": [["cc", "-O2", "{source}", "{harness}", "-o", "{program}", "-lhiredis"]],
    "prepare": [
        ["sh", "-c", "echo \"user default reset on $1\" > \"$0\"", "{folder}/commands.conf",
         ">{scope} ~{scope}:* +rpush +blpop +echo +info +ping +config|get"],
        ["sh", "-c", "! redis-server -v | grep -qF v=5. || printf \"rename-command %s ''\\n\" $* > \"$0\"",
         "{folder}/commands.conf", "bgrewriteaof", "bgsave", "client", "cluster", "config", "debug", "eval",
         "evalsha", "flushall", "flushdb", "migrate", "module", "monitor", "psync", "replicaof", "restore",
         "restore-asking", "save", "script", "shutdown", "slaveof", "swapdb", "sync"]
    ],
    "server": ["redis-server", "{config}"],
    "config": ["include \"{folder}/commands.conf\"", "port {port}", "bind {address}", "protected-mode no",
               "requirepass {scope}",
               "maxmemory 256mb", "maxmemory-policy noeviction", "maxclients 1100",
               "client-query-buffer-limit 1mb", "proto-max-bulk-len 1mb",
               "save \"\"", "appendonly no", "dir \"{folder}\"", "loglevel warning"],
    "responder": true,
    "port": "given",
    "protocol": "tcp",
    "versions": [["redis-server", "--version"]],
    "variants": {
        "redis-echo": {
            "title": "Redis, one command",
            "adds": ["command parser", "one answering thread for all streams"],
            "responder": false,
            "benchmark": "redis-benchmark"
        }
    }
}
end
*/

/* Redis, through hiredis. The medium: a request is pushed on a list of its stream, from which the responder
 * pops it; the reply takes the same way back over a second list. Push and the waiting pop are sent in one
 * write, so that a round trip is one write and one or two reads at each end. The lists are empty between
 * requests. Variant redis-echo: one command, which the server answers itself.
 *
 * Whoever reaches the server and knows the trial's scope, which is its password, may use the commands that
 * both ends and redis-benchmark send, on the trial's keys alone. Redis 5 has no access control: it lacks the
 * commands that change its settings, files or place, or run programs. An older one does not start. */
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/adapter.h"
#include "adapter/tcp_socket.h"

#define REQUESTS "%s:request:%u" /* with the scope and the stream */
#define REPLIES "%s:reply:%u"

enum { NAME_BYTES = 64 };

struct connection {
    redisContext *context;
    redisReply *reply; /* of the latest request: its text is what ask() returned */
    bool echoes;
    char requests[NAME_BYTES], replies[NAME_BYTES]; /* names of the lists */
};

static redisReply *read_reply(redisContext *context, int type, struct pl_adapter_error *error);

static redisContext *open_context(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    int fd = pl_adapter_connect_tcp(settings, error);
    redisContext *context = fd >= 0 ? redisConnectFd(fd) : NULL;
    if (context == NULL && fd >= 0) {
        (void)pl_adapter_fail(error, "connect", "out of memory");
        (void)close(fd);
    }
    if (context == NULL)
        return NULL;
    const char *words[] = {"AUTH", settings->scope};
    redisAppendCommandArgv(context, 2, words, NULL);
    redisReply *reply = read_reply(context, REDIS_REPLY_STATUS, error);
    if (reply == NULL) {
        redisFree(context);
        return NULL;
    }
    freeReplyObject(reply);
    return context;
}

/* The next reply, of `type`; NULL: failed. Free with freeReplyObject(). */
static redisReply *read_reply(redisContext *context, int type, struct pl_adapter_error *error)
{
    void *received = NULL;
    if (redisGetReply(context, &received) != REDIS_OK) {
        (void)pl_adapter_fail(error, "reply", "connection to redis-server failed: %s", context->errstr);
        return NULL;
    }
    redisReply *reply = received;
    if (reply->type == type)
        return reply;
    (void)pl_adapter_fail(error, "reply", "redis-server answered: %s",
                          reply->type == REDIS_REPLY_ERROR ? reply->str : "a reply of another type");
    freeReplyObject(reply);
    return NULL;
}

/* Sends one push and one waiting pop over `names` of `lists`; returns the popped pair (name, text). */
static redisReply *push_and_pop(redisContext *context, const char *list, const void *data, size_t bytes,
                                const char *const *pop, int words, struct pl_adapter_error *error)
{
    const char *push[] = {"RPUSH", list, data};
    const size_t lengths[] = {5, strlen(list), bytes};
    redisAppendCommandArgv(context, 3, push, lengths);
    redisAppendCommandArgv(context, words, (const char **)pop, NULL);
    redisReply *length = read_reply(context, REDIS_REPLY_INTEGER, error);
    if (length == NULL)
        return NULL;
    freeReplyObject(length);
    return read_reply(context, REDIS_REPLY_ARRAY, error);
}

static void close_connection(void *opened)
{
    struct connection *connection = opened;
    freeReplyObject(connection->reply);
    redisFree(connection->context);
    free(connection);
}

static void *open_connection(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL || (connection->context = open_context(settings, error)) == NULL) {
        (void)pl_adapter_fail(error, "connect", "out of memory");
        free(connection);
        return NULL;
    }
    connection->echoes = strcmp(settings->variant, "redis-echo") == 0;
    (void)snprintf(connection->requests, NAME_BYTES, REQUESTS, settings->scope, settings->stream);
    (void)snprintf(connection->replies, NAME_BYTES, REPLIES, settings->scope, settings->stream);
    return connection;
}

static int ask(void *opened, const uint8_t *request, size_t bytes, const uint8_t **reply, size_t *reply_bytes,
               struct pl_adapter_error *error)
{
    struct connection *connection = opened;
    const redisReply *text;
    freeReplyObject(connection->reply);
    if (connection->echoes) {
        const char *echo[] = {"ECHO", (const char *)request};
        redisAppendCommandArgv(connection->context, 2, echo, (const size_t[]){4, bytes});
        text = connection->reply = read_reply(connection->context, REDIS_REPLY_STRING, error);
    } else {
        const char *pop[] = {"BLPOP", connection->replies, "0"};
        connection->reply =
            push_and_pop(connection->context, connection->requests, request, bytes, pop, 3, error);
        text = connection->reply != NULL ? connection->reply->element[1] : NULL;
    }
    if (text == NULL)
        return -1;
    *reply = (const uint8_t *)text->str;
    *reply_bytes = (size_t)text->len;
    return 0;
}

/* Answers what the lists of all streams hold. `pop` has room for one name per stream and two words; it begins
 * after the stream that was answered last, since BLPOP prefers the first list that is not empty. */
static int respond(redisContext *context, const struct pl_adapter_settings *settings,
                   char (*names)[NAME_BYTES], const char **pop, struct pl_adapter_error *error)
{
    unsigned streams = settings->streams;
    pop[0] = "BLPOP";
    pop[streams + 1] = "0";
    for (unsigned i = 0; i < streams; i++)
        pop[i + 1] = names[i];
    redisAppendCommandArgv(context, (int)streams + 2, pop, NULL);
    redisReply *pair = read_reply(context, REDIS_REPLY_ARRAY, error);
    while (pair != NULL) {
        unsigned stream = (unsigned)strtoul(strrchr(pair->element[0]->str, ':') + 1, NULL, 10);
        for (unsigned i = 0; i < streams; i++)
            pop[i + 1] = names[(stream + 1 + i) % streams];
        char replies[NAME_BYTES];
        (void)snprintf(replies, sizeof replies, REPLIES, settings->scope, stream);
        const redisReply *request = pair->element[1];
        redisReply *next =
            push_and_pop(context, replies, request->str, (size_t)request->len, pop, (int)streams + 2, error);
        freeReplyObject(pair);
        pair = next;
    }
    return -1;
}

static int answer(const struct pl_adapter_settings *settings, void (*ready)(unsigned port),
                  struct pl_adapter_error *error)
{
    redisContext *context = open_context(settings, error);
    char(*names)[NAME_BYTES] = calloc(settings->streams, sizeof *names);
    const char **pop = calloc(settings->streams + 2, sizeof *pop);
    int result = -1;
    if (names == NULL || pop == NULL) {
        (void)pl_adapter_fail(error, "start", "out of memory");
    } else if (context != NULL) {
        for (unsigned i = 0; i < settings->streams; i++)
            (void)snprintf(names[i], NAME_BYTES, REQUESTS, settings->scope, i);
        ready(settings->port);
        result = respond(context, settings, names, pop, error);
    }
    free(pop);
    free(names);
    if (context != NULL)
        redisFree(context);
    return result;
}

/* The value of one parameter as the server has it, as JSON; null where it does not answer. */
static void read_parameter(redisContext *context, const char *name, char *value, size_t room)
{
    redisReply *reply = redisCommand(context, "CONFIG GET %s", name);
    bool known = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
    (void)snprintf(value, room, known ? "\"%s\"" : "null", known ? reply->element[1]->str : "");
    freeReplyObject(reply);
}

static void describe(void *opened, char *versions, size_t versions_room, char *settings_json,
                     size_t settings_room)
{
    const struct connection *connection = opened;
    (void)snprintf(versions, versions_room, "hiredis %d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
    if (connection == NULL)
        return;
    redisReply *info = redisCommand(connection->context, "INFO server");
    const char *at =
        info != NULL && info->type == REDIS_REPLY_STRING ? strstr(info->str, "redis_version:") : NULL;
    if (at != NULL) {
        at += strlen("redis_version:");
        (void)snprintf(versions, versions_room, "redis-server %.*s, hiredis %d.%d.%d",
                       (int)strcspn(at, "\r\n"), at, HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
    }
    freeReplyObject(info);
    char save[64], append[16];
    read_parameter(connection->context, "save", save, sizeof save);
    read_parameter(connection->context, "appendonly", append, sizeof append);
    (void)snprintf(settings_json, settings_room, "{\"no_delay\":%s,\"save\":%s,\"appendonly\":%s}",
                   pl_adapter_has_no_delay(connection->context->fd) ? "true" : "false", save, append);
}

const struct pl_adapter pl_adapter = {.connect = open_connection,
                                      .ask = ask,
                                      .close = close_connection,
                                      .answer = answer,
                                      .describe = describe};
