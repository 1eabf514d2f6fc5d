#include "base/control.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pl_control {
    int fd;
    bool ended;
    bool skipping; /* inside a line that is too long */
    size_t length;
    char buffer[PL_CONTROL_LINE_BYTES + 1];
};

struct pl_control *pl_control_open(int fd, struct pl_error *error)
{
    struct pl_control *control = calloc(1, sizeof *control);
    if (control == NULL) {
        pl_error_set(error, PL_RESOURCES, "control", ENOMEM, "no memory for the control input");
        return NULL;
    }
    control->fd = fd;
    return control;
}

void pl_control_close(struct pl_control *control)
{
    free(control);
}

int pl_control_fd(const struct pl_control *control)
{
    return control->fd;
}

/* Removes one complete line from the buffer. */
static enum pl_control_event extract_line(struct pl_control *control, char *line)
{
    char *newline = memchr(control->buffer, '\n', control->length);
    if (newline == NULL) {
        if (control->length < sizeof control->buffer)
            return PL_CONTROL_NONE;
        control->skipping = true;
        control->length = 0;
        return PL_CONTROL_NONE;
    }
    size_t length = (size_t)(newline - control->buffer);
    bool skipped = control->skipping;
    control->skipping = false;
    memcpy(line, control->buffer, length);
    line[length > 0 && line[length - 1] == '\r' ? length - 1 : length] = 0;
    control->length -= length + 1;
    memmove(control->buffer, newline + 1, control->length);
    return skipped ? PL_CONTROL_TOO_LONG : PL_CONTROL_LINE;
}

enum pl_control_event pl_control_next(struct pl_control *control, char *line)
{
    for (;;) {
        enum pl_control_event event = extract_line(control, line);
        if (event != PL_CONTROL_NONE)
            return event;
        if (control->ended)
            return PL_CONTROL_END;
        /* The descriptor may be shared with other processes, so it is polled rather than made non-blocking.
         */
        struct pollfd input = {.fd = control->fd, .events = POLLIN};
        int ready = poll(&input, 1, 0);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return PL_CONTROL_NONE;
        ssize_t count = -1;
        if (ready > 0)
            count = read(control->fd, control->buffer + control->length,
                         sizeof control->buffer - control->length);
        if (count < 0 && (errno == EINTR || errno == EAGAIN))
            return PL_CONTROL_NONE;
        if (count <= 0)
            control->ended = true;
        else
            control->length += (size_t)count;
    }
}
