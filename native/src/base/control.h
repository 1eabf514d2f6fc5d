/* Command lines from the controller, read without blocking. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Longest command line kept, without its newline. */
#define PL_CONTROL_LINE_BYTES 1023

enum pl_control_event {
    PL_CONTROL_NONE,     /* nothing more for now: poll the descriptor again */
    PL_CONTROL_LINE,     /* one line, without its newline, in `line` */
    PL_CONTROL_TOO_LONG, /* a longer line was skipped */
    PL_CONTROL_END       /* end of file or a read error: the controller is gone; returned on every further
                          * call */
};

struct pl_control;

/* Reads from `fd` (borrowed, its flags are left alone). NULL with `error` set when memory ran out. Free it
 * with pl_control_close(). */
struct pl_control *pl_control_open(int fd, struct pl_error *error);
void pl_control_close(struct pl_control *control);

/* The descriptor to poll for POLLIN. */
int pl_control_fd(const struct pl_control *control);

/* The next event. Call until PL_CONTROL_NONE or PL_CONTROL_END after the descriptor became readable. `line`
 * has room for PL_CONTROL_LINE_BYTES + 1 bytes. */
enum pl_control_event pl_control_next(struct pl_control *control, char *line);
