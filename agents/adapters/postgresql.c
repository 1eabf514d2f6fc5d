/*
pathlab-adapter
{
    "contract": 1,
    "name": "postgresql",
    "title": "PostgreSQL as the medium",
    "language": "c",
    "beneath": "tcp",
    "baseline": null,
    "adds": ["broker", "SQL", "transactions", "notifications", "responder",
             "one answering thread for all streams"],
    "lacks": ["encryption", "durability: fsync, synchronous commit and autovacuum are off"],
    "needs": [
        {"program": "initdb", "debian": "postgresql"},
        {"header": "postgresql/libpq-fe.h", "debian": "libpq-dev"}
    ],
    "build": [["cc", "-O2", "{source}", "{harness}", "-o", "{program}", "-lpq"]],
    "prepare": [
        ["initdb", "-D", "{folder}/data", "-N", "--auth-local=trust", "--auth-host=reject", "-U", "owner",
         "--no-instructions", "--locale=C", "-E", "UTF8"],
        ["pg_ctl", "-D", "{folder}/data", "-l", "{folder}/prepare.log", "-o",
         "-F -c listen_addresses= -c unix_socket_directories='{folder}'", "start"],
        ["createuser", "-h", "{folder}", "-U", "owner", "{scope}"],
        ["createdb", "-h", "{folder}", "-U", "owner", "-O", "{scope}", "{scope}"],
        ["pg_ctl", "-D", "{folder}/data", "-m", "fast", "stop"],
        ["sed", "-i", "1i host {scope} {scope} all trust", "{folder}/data/pg_hba.conf"]
    ],
    "server": ["postgres", "-D", "{folder}/data", "-c", "config_file={config}"],
    "config": ["listen_addresses = '{address}'", "port = {port}", "unix_socket_directories = ''",
               "fsync = off", "synchronous_commit = off", "full_page_writes = off", "autovacuum = off",
               "wal_level = minimal", "max_wal_senders = 0", "max_wal_size = 128MB",
               "checkpoint_timeout = 1d", "shared_buffers = 32MB", "work_mem = 4MB",
               "temp_file_limit = 32MB", "max_connections = 100", "dynamic_shared_memory_type = mmap",
               "jit = off"],
    "responder": true,
    "port": "given",
    "protocol": "tcp",
    "versions": [["postgres", "--version"]],
    "limits": [{"what": "more than 90 streams", "constraint": "streams <= 90"}],
    "variants": {
        "postgresql-select": {
            "title": "PostgreSQL, one prepared statement",
            "adds": ["SQL", "transactions"],
            "responder": false,
            "benchmark": "pgbench"
        }
    }
}
end
*/

/* PostgreSQL, through libpq. The medium is a mailbox of fixed size: for each stream and direction one row per
 * PART_BYTES of a message. The requester updates its rows and notifies the responder in one statement; the
 * responder copies them to the rows of the reply and notifies the requester, which selects them. Both are
 * transactions. Rows fit a page (storage plain, no TOAST), and a page keeps room for their next version
 * (fillfactor), so that dead versions are removed on the way and the table does not grow without vacuum.
 * Variant postgresql-select: one prepared statement, which the server answers itself. From the network only
 * the trial's role can connect, to the trial's database: both are named by its scope. It is no superuser; the
 * server takes 100 connections. */
#include <errno.h>
#include <poll.h>
#include <postgresql/libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adapter/adapter.h"
#include "adapter/tcp_socket.h"

enum { PART_BYTES = 3700, STATEMENT_BYTES = 512, BINARY = 1, START_PAUSES = 900 };

struct connection {
    PGconn *session;
    PGresult *reply; /* of the latest request: its value is what ask() returned */
    bool selects, no_delay;
};

static unsigned count_parts(size_t bytes)
{
    return (unsigned)((bytes + PART_BYTES - 1) / PART_BYTES);
}

/* The first line of what libpq says: the rest quotes the statement. */
static int fail(PGconn *session, const char *stage, const char *what, struct pl_adapter_error *error)
{
    const char *text = PQerrorMessage(session);
    return pl_adapter_fail(error, stage, "%s: %.*s", what, (int)strcspn(text, "\n"), text);
}

/* Ends a statement that returns no rows of interest. */
static int finish(PGconn *session, PGresult *result, const char *stage, const char *what,
                  struct pl_adapter_error *error)
{
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        return 0;
    return fail(session, stage, what, error);
}

static PGconn *open_session(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    char port[8];
    (void)snprintf(port, sizeof port, "%u", settings->port);
    const char *names[] = {"hostaddr",        "port", "user", "dbname", "sslmode", "gssencmode",
                           "connect_timeout", NULL};
    const char *values[] = {
        settings->address, port, settings->scope, settings->scope, "disable", "disable", "5", NULL};
    const struct timespec pause = {.tv_nsec = 10000000};
    for (int left = START_PAUSES; left > 0 && PQpingParams(names, values, 0) == PQPING_REJECT; left--)
        (void)nanosleep(&pause, NULL); /* it listens before it has started */
    PGconn *session = PQconnectdbParams(names, values, 0);
    if (PQstatus(session) == CONNECTION_OK)
        return session;
    (void)fail(session, "connect", "PostgreSQL", error);
    PQfinish(session);
    return NULL;
}

/* Waits for the next notification, which may have come with the result of a statement. The payload of the
 * first one that waits is copied. */
static int await_notification(PGconn *session, char *payload, size_t room, struct pl_adapter_error *error)
{
    PGnotify *notification;
    while ((notification = PQnotifies(session)) == NULL) {
        struct pollfd readable = {.fd = PQsocket(session), .events = POLLIN};
        if (poll(&readable, 1, -1) < 0 && errno != EINTR)
            return pl_adapter_fail(error, "reply", "cannot wait for a notification: %s", strerror(errno));
        if (PQconsumeInput(session) == 0)
            return fail(session, "reply", "connection to PostgreSQL failed", error);
    }
    (void)snprintf(payload, room, "%s", notification->extra);
    PQfreemem(notification);
    return 0;
}

static int prepare(PGconn *session, const char *name, const char *statement, struct pl_adapter_error *error)
{
    return finish(session, PQprepare(session, name, statement, 0, NULL), "connect",
                  "cannot prepare a statement", error);
}

/* Listens first: a notification that nobody listens to is lost. */
static int prepare_requester(PGconn *session, const struct pl_adapter_settings *settings,
                             struct pl_adapter_error *error)
{
    const unsigned parts = count_parts(settings->bytes);
    char text[STATEMENT_BYTES];
    (void)snprintf(text, sizeof text, "listen reply_%u", settings->stream);
    if (finish(session, PQexec(session, text), "connect", "cannot listen", error) != 0)
        return -1;
    (void)snprintf(text, sizeof text,
                   "with stored as (update mailbox set data = substring($1::bytea from part * %d + 1 for %d) "
                   "where stream = %u and direction = 1 and part < %u) select pg_notify('request', '%u')",
                   PART_BYTES, PART_BYTES, settings->stream, parts, settings->stream);
    if (prepare(session, "put", text, error) != 0)
        return -1;
    (void)snprintf(text, sizeof text,
                   "select string_agg(data, '' order by part) from mailbox "
                   "where stream = %u and direction = 2 and part < %u",
                   settings->stream, parts);
    return prepare(session, "get", text, error);
}

static void close_connection(void *opened)
{
    struct connection *connection = opened;
    PQclear(connection->reply);
    PQfinish(connection->session);
    free(connection);
}

static void *open_connection(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL || (connection->session = open_session(settings, error)) == NULL) {
        (void)pl_adapter_fail(error, "connect", "out of memory");
        free(connection);
        return NULL;
    }
    connection->selects = strcmp(settings->variant, "postgresql-select") == 0;
    int result = pl_adapter_inspect_sockets(settings, &connection->no_delay, error);
    if (result == 0 && connection->selects)
        result = prepare(connection->session, "echo", "select $1::bytea", error);
    else if (result == 0)
        result = prepare_requester(connection->session, settings, error);
    if (result == 0)
        return connection;
    close_connection(connection);
    return NULL;
}

static PGresult *execute(PGconn *session, const char *name, const uint8_t *request, size_t bytes)
{
    const char *const values[] = {(const char *)request};
    const int lengths[] = {(int)bytes}, formats[] = {BINARY};
    return PQexecPrepared(session, name, request != NULL ? 1 : 0, values, lengths, formats, BINARY);
}

/* Leaves the request in the mailbox and waits until the reply is there. */
static int exchange(PGconn *session, const uint8_t *request, size_t bytes, struct pl_adapter_error *error)
{
    char payload[1];
    if (finish(session, execute(session, "put", request, bytes), "reply", "cannot store the request",
               error) != 0)
        return -1;
    return await_notification(session, payload, sizeof payload, error);
}

static int ask(void *opened, const uint8_t *request, size_t bytes, const uint8_t **reply, size_t *reply_bytes,
               struct pl_adapter_error *error)
{
    struct connection *connection = opened;
    PQclear(connection->reply);
    connection->reply = NULL;
    if (connection->selects)
        connection->reply = execute(connection->session, "echo", request, bytes);
    else if (exchange(connection->session, request, bytes, error) != 0)
        return -1;
    else
        connection->reply = execute(connection->session, "get", NULL, 0);
    if (PQresultStatus(connection->reply) != PGRES_TUPLES_OK || PQntuples(connection->reply) != 1)
        return fail(connection->session, "reply", "cannot select the reply", error);
    *reply = (const uint8_t *)PQgetvalue(connection->reply, 0, 0);
    *reply_bytes = (size_t)PQgetlength(connection->reply, 0, 0);
    return 0;
}

/* Makes and fills the mailbox of all streams, and prepares the responder's statement. */
static int prepare_responder(PGconn *session, const struct pl_adapter_settings *settings,
                             struct pl_adapter_error *error)
{
    const unsigned parts = count_parts(settings->bytes);
    char fill[STATEMENT_BYTES], turn[STATEMENT_BYTES];
    (void)snprintf(
        fill, sizeof fill,
        "insert into mailbox select stream, direction, part, convert_to(repeat(' ', %d), 'UTF8') "
        "from generate_series(0, %u) stream, generate_series(1, 2) direction, generate_series(0, %u) part",
        PART_BYTES, settings->streams - 1, parts - 1);
    (void)snprintf(turn, sizeof turn,
                   "with stored as (update mailbox reply set data = request.data from mailbox request "
                   "where reply.stream = $1::int and reply.direction = 2 and reply.part < %u "
                   "and request.stream = $1::int and request.direction = 1 and request.part = reply.part) "
                   "select pg_notify('reply_' || $1::int, '')",
                   parts);
    const char *const statements[] = {
        "create unlogged table mailbox (stream int, direction int, part int, data bytea, "
        "primary key (stream, direction, part)) with (fillfactor = 10)",
        "alter table mailbox alter data set storage plain", fill, "analyze mailbox", "listen request"};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (finish(session, PQexec(session, statements[i]), "start", "cannot make the mailbox", error) != 0)
            return -1;
    return prepare(session, "turn", turn, error);
}

static int answer(const struct pl_adapter_settings *settings, void (*ready)(unsigned port),
                  struct pl_adapter_error *error)
{
    PGconn *session = open_session(settings, error);
    if (session == NULL)
        return -1;
    int result = pl_adapter_require_no_delay(settings, error);
    if (result == 0)
        result = prepare_responder(session, settings, error);
    if (result == 0)
        ready(settings->port);
    while (result == 0) {
        char stream[16];
        const char *const values[] = {stream};
        result = await_notification(session, stream, sizeof stream, error);
        if (result == 0)
            result = finish(session, PQexecPrepared(session, "turn", 1, values, NULL, NULL, BINARY), "reply",
                            "cannot store the reply", error);
    }
    PQfinish(session);
    return -1;
}

static void describe(void *opened, char *versions, size_t versions_room, char *settings_json,
                     size_t settings_room)
{
    const struct connection *connection = opened;
    const int library = PQlibVersion();
    (void)snprintf(versions, versions_room, "libpq %d.%d", library / 10000, library % 10000);
    if (connection == NULL)
        return;
    PGconn *session = connection->session;
    const int server = PQserverVersion(session);
    (void)snprintf(versions, versions_room, "PostgreSQL %d.%d, libpq %d.%d", server / 10000, server % 10000,
                   library / 10000, library % 10000);
    PGresult *result =
        PQexec(session, "select current_setting('fsync'), current_setting('synchronous_commit')");
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        (void)snprintf(settings_json, settings_room,
                       "{\"no_delay\":%s,\"encryption\":%s,\"fsync\":\"%s\",\"synchronous_commit\":\"%s\"}",
                       connection->no_delay ? "true" : "false",
                       PQsslInUse(session) || PQgssEncInUse(session) ? "true" : "false",
                       PQgetvalue(result, 0, 0), PQgetvalue(result, 0, 1));
    PQclear(result);
}

const struct pl_adapter pl_adapter = {.connect = open_connection,
                                      .ask = ask,
                                      .close = close_connection,
                                      .answer = answer,
                                      .describe = describe};
