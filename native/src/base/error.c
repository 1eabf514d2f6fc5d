#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

struct named_errno {
    int value;
    const char *name;
};

#define NAMED(symbol)                                                                                        \
    {                                                                                                        \
        symbol, #symbol                                                                                      \
    }

/* Only glibc has strerrorname_np(). The table covers the errors of the engine's system calls. */
static const struct named_errno names[] = {
    NAMED(EPERM),        NAMED(ENOENT),          NAMED(EINTR),           NAMED(EIO),
    NAMED(ENXIO),        NAMED(EBADF),           NAMED(EAGAIN),          NAMED(ENOMEM),
    NAMED(EACCES),       NAMED(EFAULT),          NAMED(EBUSY),           NAMED(EEXIST),
    NAMED(ENODEV),       NAMED(ENOTDIR),         NAMED(EINVAL),          NAMED(ENFILE),
    NAMED(EMFILE),       NAMED(ENOTTY),          NAMED(EFBIG),           NAMED(ENOSPC),
    NAMED(EPIPE),        NAMED(ENOSYS),          NAMED(EPROTO),          NAMED(EBADMSG),
    NAMED(EOVERFLOW),    NAMED(ENOTSOCK),        NAMED(EDESTADDRREQ),    NAMED(EMSGSIZE),
    NAMED(ENOPROTOOPT),  NAMED(EPROTONOSUPPORT), NAMED(ESOCKTNOSUPPORT), NAMED(EOPNOTSUPP),
    NAMED(EAFNOSUPPORT), NAMED(EADDRINUSE),      NAMED(EADDRNOTAVAIL),   NAMED(ENETDOWN),
    NAMED(ENETUNREACH),  NAMED(ENETRESET),       NAMED(ECONNABORTED),    NAMED(ECONNRESET),
    NAMED(ENOBUFS),      NAMED(EISCONN),         NAMED(ENOTCONN),        NAMED(ETIMEDOUT),
    NAMED(ECONNREFUSED), NAMED(EHOSTDOWN),       NAMED(EHOSTUNREACH),    NAMED(EALREADY),
    NAMED(EINPROGRESS),
};

const char *pl_errno_name(int errno_value)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].value == errno_value)
            return names[i].name;
    return NULL;
}

bool pl_errno_is_exhaustion(int errno_value)
{
    return errno_value == EMFILE || errno_value == ENFILE || errno_value == ENOBUFS || errno_value == ENOMEM;
}

void pl_error_escape(const char *text, char *out, size_t bytes)
{
    size_t used = 0;
    for (; *text != 0; text++) {
        unsigned char byte = (unsigned char)*text;
        bool printable = byte >= 0x20 && byte < 0x7F;
        size_t needed = printable ? 1 : 4;
        if (used + needed >= bytes)
            break;
        if (printable)
            out[used] = *text;
        else
            (void)snprintf(out + used, bytes - used, "\\x%02x", byte);
        used += needed;
    }
    out[used] = 0;
}

static void fill(struct pl_error *e, enum pl_status status, const char *stage, int errno_value,
                 const char *format, va_list arguments)
{
    if (e == NULL || e->status != PL_OK)
        return;
    e->status = status;
    e->errno_value = errno_value;
    (void)snprintf(e->stage, sizeof e->stage, "%s", stage);
    char text[sizeof e->text];
    int written = vsnprintf(text, sizeof text, format, arguments);
    if (errno_value != 0 && written >= 0 && (size_t)written + 4 < sizeof text)
        (void)snprintf(text + written, sizeof text - (size_t)written, ": %s", strerror(errno_value));
    pl_error_escape(text, e->text, sizeof e->text); /* the quoted text may come from anywhere */
}

bool pl_error_set(struct pl_error *e, enum pl_status status, const char *stage, int errno_value,
                  const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(e, status, stage, errno_value, format, arguments);
    va_end(arguments);
    return false;
}

bool pl_error_usage(struct pl_error *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(e, PL_USAGE, "options", 0, format, arguments);
    va_end(arguments);
    return false;
}

int pl_error_print(const struct pl_error *e, const char *subcommand)
{
    (void)fprintf(stderr, "pathlab-engine %s: %s\n", subcommand, e->text);
    return (int)e->status;
}

int pl_error_report(const struct pl_error *e, const char *subcommand)
{
    struct pl_json j = {0};
    pl_json_begin_record(&j, "error");
    pl_json_string(&j, "stage", e->stage);
    if (e->errno_value != 0)
        pl_json_i64(&j, "errno", e->errno_value);
    else
        pl_json_null(&j, "errno");
    pl_json_string(&j, "errno_name", pl_errno_name(e->errno_value));
    pl_json_string(&j, "text", e->text);
    (void)pl_json_end_only_record(&j);
    return pl_error_print(e, subcommand);
}

int pl_error_output(const struct pl_error *e, const char *subcommand, bool human)
{
    return human ? pl_error_print(e, subcommand) : pl_error_report(e, subcommand);
}
