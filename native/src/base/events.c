#include "base/events.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/control.h"
#include "base/descriptor.h"

enum { SIGNALS, TIMER, CONTROL, WATCHED, SLOTS = WATCHED + PL_WATCHED };

struct pl_events {
    int signal_fd;
    int timer_fd;
    struct pl_control *control;
    bool gone;
    bool ended;      /* a command that ends a run was received */
    bool more_lines; /* the control's buffer may hold further lines */
    pl_ns armed_ns;
};

int pl_signals_open(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    errno = pthread_sigmask(SIG_BLOCK, &set, NULL);
    return errno == 0 ? signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC) : -1;
}

static bool open_descriptors(struct pl_events *events, struct pl_error *error)
{
    events->signal_fd = pl_signals_open();
    events->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (events->signal_fd < 0 || events->timer_fd < 0)
        return pl_error_set(error, PL_RESOURCES, "events", errno,
                            "cannot open a signal and a timer descriptor");
    return true;
}

struct pl_events *pl_events_open(const char *control, struct pl_error *error)
{
    if (control[0] != 0 && strcmp(control, "stdin") != 0) {
        pl_error_usage(error, "--control must be stdin, not '%.20s'", control);
        return NULL;
    }
    struct pl_events *events = calloc(1, sizeof *events);
    if (events == NULL) {
        pl_error_set(error, PL_RESOURCES, "events", ENOMEM, "no memory for the event loop");
        return NULL;
    }
    events->signal_fd = events->timer_fd = -1;
    events->armed_ns = PL_NEVER;
    if (control[0] != 0)
        events->control = pl_control_open(STDIN_FILENO, error);
    if ((control[0] == 0 || events->control != NULL) && open_descriptors(events, error))
        return events;
    pl_events_close(events);
    return NULL;
}

void pl_events_close(struct pl_events *events)
{
    if (events == NULL)
        return;
    pl_close(events->signal_fd);
    pl_close(events->timer_fd);
    pl_control_close(events->control);
    free(events);
}

bool pl_events_controlled(const struct pl_events *events)
{
    return events->control != NULL;
}

static enum pl_command read_command(const char *line)
{
    if (strcmp(line, "go") == 0)
        return PL_COMMAND_GO;
    if (strcmp(line, "stop") == 0)
        return PL_COMMAND_STOP;
    if (strcmp(line, "stats") == 0)
        return PL_COMMAND_STATS;
    char given[48] = "";
    pl_error_escape(line, given, sizeof given);
    if (given[0] != 0)
        (void)fprintf(stderr, "pathlab-engine: unknown command '%s' ignored; known: go, stop, stats\n",
                      given);
    return PL_COMMAND_NONE;
}

static enum pl_command next_command(struct pl_events *events)
{
    char line[PL_CONTROL_LINE_BYTES + 1];
    events->more_lines = false;
    if (events->control == NULL || events->gone)
        return PL_COMMAND_NONE;
    switch (pl_control_next(events->control, line)) {
    case PL_CONTROL_LINE:
        events->more_lines = true;
        return read_command(line);
    case PL_CONTROL_TOO_LONG:
        events->more_lines = true;
        (void)fprintf(stderr, "pathlab-engine: a command line of more than %d bytes was skipped\n",
                      PL_CONTROL_LINE_BYTES);
        break;
    case PL_CONTROL_END:
        events->gone = true;
        return PL_COMMAND_GONE;
    case PL_CONTROL_NONE:
        break;
    }
    return PL_COMMAND_NONE;
}

static void arm_timer(struct pl_events *events, pl_ns deadline_ns)
{
    if (deadline_ns == events->armed_ns)
        return;
    struct itimerspec when = {0};
    if (deadline_ns != PL_NEVER) {
        /* A zero time would disarm it; a past one fires at once. */
        pl_ns at = deadline_ns > 0 ? deadline_ns : 1;
        when.it_value.tv_sec = (time_t)(at / PL_NS_PER_S);
        when.it_value.tv_nsec = (long)(at % PL_NS_PER_S);
    }
    (void)timerfd_settime(events->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    events->armed_ns = deadline_ns;
}

bool pl_events_ended(const struct pl_events *events)
{
    return events->ended;
}

static enum pl_command wait_once(struct pl_events *events, struct pl_wait *wait)
{
    arm_timer(events, wait->deadline_ns);
    bool listening = events->control != NULL && !events->gone;
    struct pollfd slots[SLOTS] = {
        [SIGNALS] = {.fd = events->signal_fd, .events = POLLIN},
        [TIMER] = {.fd = events->timer_fd, .events = POLLIN},
        [CONTROL] = {.fd = listening ? pl_control_fd(events->control) : -1, .events = POLLIN},
    };
    for (size_t i = 0; i < PL_WATCHED; i++) {
        slots[WATCHED + i] = (struct pollfd){.fd = wait->fds[i], .events = POLLIN};
        wait->ready[i] = false;
    }
    int ready = poll(slots, SLOTS, events->more_lines ? 0 : -1);
    for (size_t i = 0; ready > 0 && i < PL_WATCHED; i++)
        wait->ready[i] = slots[WATCHED + i].revents != 0;
    if (ready > 0 && slots[TIMER].revents != 0) {
        uint64_t expirations;
        (void)!read(events->timer_fd, &expirations, sizeof expirations);
        events->armed_ns = PL_NEVER;
    }
    if (ready > 0 && slots[SIGNALS].revents != 0) {
        struct signalfd_siginfo signal_info;
        (void)!read(events->signal_fd, &signal_info, sizeof signal_info);
        return PL_COMMAND_SIGNAL;
    }
    if (events->more_lines || (ready > 0 && slots[CONTROL].revents != 0))
        return next_command(events);
    return PL_COMMAND_NONE;
}

enum pl_command pl_events_wait(struct pl_events *events, struct pl_wait *wait)
{
    enum pl_command command = wait_once(events, wait);
    events->ended = events->ended || pl_command_ends(command);
    return command;
}

bool pl_command_ends(enum pl_command command)
{
    return command == PL_COMMAND_STOP || command == PL_COMMAND_SIGNAL || command == PL_COMMAND_GONE;
}

const char *pl_command_reason(enum pl_command command)
{
    switch (command) {
    case PL_COMMAND_STOP:
        return "stopped by the controller";
    case PL_COMMAND_SIGNAL:
        return "ended by a signal";
    case PL_COMMAND_GONE:
        return "the controller is gone";
    case PL_COMMAND_NONE:
    case PL_COMMAND_GO:
    case PL_COMMAND_STATS:
        break;
    }
    return "";
}
