/* One failure: its exit status, its stage, the errno behind it and one clear line of text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The engine's exit statuses (PROTOCOL.md). */
enum pl_status { PL_OK = 0, PL_USAGE = 2, PL_SETUP = 3, PL_PEER = 4, PL_ENDED = 5, PL_RESOURCES = 6 };

/* Owned by the caller and zeroed before use; `errno_value` 0 means that no system call was behind it. */
struct pl_error {
    enum pl_status status;
    int errno_value;
    char stage[24];
    char text[256];
};

/* Fills `e` unless it holds an earlier failure, which is the cause of the later ones. With an errno the
 * system's text is appended to the line, which is escaped. `e` may be NULL. Always false, for the caller to
 * return. */
bool pl_error_set(struct pl_error *e, enum pl_status status, const char *stage, int errno_value,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same for flags that are wrong: PL_USAGE, stage "options". */
bool pl_error_usage(struct pl_error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies a text as far as it fits. All bytes but printable ASCII become \xNN, since they may act on a
 * terminal. */
void pl_error_escape(const char *text, char *out, size_t bytes);

/* Prints one line on stderr; returns the exit status. */
int pl_error_print(const struct pl_error *e, const char *subcommand);

/* Prints the error record on stdout and one line on stderr; returns the exit status. */
int pl_error_report(const struct pl_error *e, const char *subcommand);

/* Reports the failure of a run: pl_error_print() where people read the output, else pl_error_report(). */
int pl_error_output(const struct pl_error *e, const char *subcommand, bool human);

/* Whether an errno means that memory or descriptors ran out. */
bool pl_errno_is_exhaustion(int errno_value);

/* The symbolic name of an errno ("ECONNREFUSED"), or NULL for one not in our table. Static storage. */
const char *pl_errno_name(int errno_value);
