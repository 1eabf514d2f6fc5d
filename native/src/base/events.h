/* What the main thread waits for: a deadline, signals, the controller's commands and up to two descriptors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/error.h"

#define PL_NEVER INT64_MAX
#define PL_WATCHED 2

enum pl_command {
    PL_COMMAND_NONE,
    PL_COMMAND_GO,
    PL_COMMAND_STOP,
    PL_COMMAND_STATS,
    PL_COMMAND_SIGNAL, /* SIGINT or SIGTERM */
    PL_COMMAND_GONE    /* end of the control input; returned once */
};

struct pl_events;

/* A descriptor that is readable after SIGINT or SIGTERM, which are blocked for this thread and those that it
 * starts. -1 with errno. */
int pl_signals_open(void);

/* One wait: `deadline_ns` on pl_now_ns()'s clock or PL_NEVER, descriptors or -1. */
struct pl_wait {
    pl_ns deadline_ns;
    int fds[PL_WATCHED];
    bool ready[PL_WATCHED]; /* set by the wait: readable, or with an error pending */
};

/* `control` is the flag's value: "stdin", or "" for none. Blocks SIGINT and SIGTERM for this thread and those
 * that it starts, so open it before any thread. NULL with `error` set on failure. */
struct pl_events *pl_events_open(const char *control, struct pl_error *error);
void pl_events_close(struct pl_events *events);

/* True when commands are read: `send` then waits for "go". */
bool pl_events_controlled(const struct pl_events *events);

/* True once a command that ends a run was received. */
bool pl_events_ended(const struct pl_events *events);

/* Waits for the first event. Names an unknown command line on stderr and ignores it. */
enum pl_command pl_events_wait(struct pl_events *events, struct pl_wait *wait);

/* Whether the command ends a run. */
bool pl_command_ends(enum pl_command command);
/* The reason that the result states for a run that the command ended. */
const char *pl_command_reason(enum pl_command command);
