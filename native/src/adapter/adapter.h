/* What a technology written in C or C++ implements, version 1 of the contract: agents/adapters/CONTRACT.md.
 * This header is all that an adapter needs; it is linked with the harness, which has main(). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest request, and the smallest, which is its number. */
#define PL_ADAPTER_BYTES_MAX 65536
#define PL_ADAPTER_BYTES_MIN 4

/* Strings are never NULL and live as long as the program. */
struct pl_adapter_settings {
    const char *name;          /* of the technology */
    const char *variant;       /* "": none */
    const char *role;          /* "ask" or "answer" */
    const char *address;       /* of the answering end: numeric IPv4 or IPv6 */
    const char *local_address; /* of the asking end; "": any */
    const char *folder;        /* where the answering end may write; "" when asking */
    const char *scope;         /* of the names that both ends use: another one in each trial */
    unsigned port;             /* of the answering end; 0 when answering: choose a free one */
    unsigned stream;           /* this connection's number, 0-based */
    unsigned streams;          /* how many there are */
    size_t bytes;              /* size of every request and reply */
};

/* Filled by pl_adapter_fail(). */
struct pl_adapter_error {
    char stage[16];
    char text[256];
};

/* States why a function fails, in the form of printf. `stage`: "needs", "start", "port", "connect", "reply",
 * "stall", "exit" or "limit". An error that is stated already is kept. Returns -1. */
int pl_adapter_fail(struct pl_adapter_error *error, const char *stage, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Functions that fail have stated why by pl_adapter_fail(). Each connection is used by one thread alone: it
 * connects, asks and closes. */
struct pl_adapter {
    /* Opens a connection or session, which all requests of the stream use. NULL: failed. */
    void *(*connect)(const struct pl_adapter_settings *settings, struct pl_adapter_error *error);
    /* One round trip. Sets `reply` to the same bytes as they came back, which stay valid until the next call,
     * and `reply_bytes` to their number. 0, or -1. */
    int (*ask)(void *connection, const uint8_t *request, size_t bytes, const uint8_t **reply,
               size_t *reply_bytes, struct pl_adapter_error *error);
    void (*close)(void *connection);
    /* The server, or the responder alongside a third-party server. Calls `ready` with the port once requests
     * are answered (a responder: with the given port), then goes on until the process ends. -1: failed. NULL:
     * the technology has neither. */
    int (*answer)(const struct pl_adapter_settings *settings, void (*ready)(unsigned port),
                  struct pl_adapter_error *error);
    /* Writes both texts, both empty at first: versions ("libzmq 4.3.4, hiredis 0.14.1") and a JSON object of
     * the settings in use, as read back ({"no_delay":true}). `connection` is NULL at the answering end. */
    void (*describe)(void *connection, char *versions, size_t versions_room, char *settings_json,
                     size_t settings_room);
};

/* The adapter defines it: const struct pl_adapter pl_adapter = {...}; */
extern const struct pl_adapter pl_adapter;

#ifndef PL_ADAPTER_HARNESS
/* The language that the adapter was compiled in, for the hello record. */
extern const char pl_adapter_language[] __attribute__((weak));
const char pl_adapter_language[] =
#ifdef __cplusplus
    "c++";
#else
    "c";
#endif
#endif

#ifdef __cplusplus
}
#endif
