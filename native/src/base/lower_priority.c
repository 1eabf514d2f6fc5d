#include "base/lower_priority.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of linux/ioprio.h, which kernel headers before 5.15 do not have. */
#define IO_WHO_PROCESS 1
#define IO_CLASS_IDLE 3
#define IO_CLASS_SHIFT 13

/* Refused (EPERM, EAGAIN) or unknown to the kernel, it is as before: the niceness within the session counts.
 */
static void lower_session(int64_t nice)
{
    char text[8];
    if (getsid(0) != getpid())
        return; /* others are in this session */
    int length = snprintf(text, sizeof text, "%d", (int)nice);
    int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t written = write(fd, text, (size_t)length);
    (void)written;
    (void)close(fd);
}

bool pl_lower_priority(int64_t nice, struct pl_error *error)
{
    const struct sched_param ordinary = {.sched_priority = 0};
    if (nice == 0)
        return true;
    /* musl has no sched_setscheduler(): it fails with ENOSYS. */
    int failure = pthread_setschedparam(pthread_self(), SCHED_OTHER, &ordinary);
    if (failure == 0 && getpriority(PRIO_PROCESS, 0) < nice && setpriority(PRIO_PROCESS, 0, (int)nice) != 0)
        failure = errno;
    if (failure != 0)
        return pl_error_set(error, PL_SETUP, "priority", failure, "cannot set the niceness %d", (int)nice);
    lower_session(nice);
    return true;
}

bool pl_lower_io_priority(void)
{
    return syscall(SYS_ioprio_set, IO_WHO_PROCESS, 0, IO_CLASS_IDLE << IO_CLASS_SHIFT) == 0;
}
