/* What gives way: the niceness of this thread and of those that it starts, and no real-time class. */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lower_priority.h"

/* The number behind "nice" in this session's line; -1 where the kernel has none. */
static int read_session_nice(void)
{
    char line[128] = "";
    int nice = -1;
    FILE *file = fopen("/proc/self/autogroup", "re");
    if (file != NULL) {
        if (fgets(line, sizeof line, file) == NULL || sscanf(line, "%*s nice %d", &nice) != 1)
            nice = -1;
        (void)fclose(file);
    }
    return nice;
}

/* In a process of its own, since a niceness is not taken back. Its status: 0, or the number of what is wrong.
 */
static int lower_in_child(bool own_session)
{
    if (own_session && setsid() < 0)
        return 1;
    int before = getpriority(PRIO_PROCESS, 0);
    int session_before = read_session_nice();
    struct pl_error error = {0};
    const struct sched_param real_time = {.sched_priority = 5};
    int policy = -1;
    struct sched_param given;
    /* ordinary users have no right to it */
    (void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &real_time);
    if (!pl_lower_priority(0, &error) || getpriority(PRIO_PROCESS, 0) != before)
        return 2;
    if (!pl_lower_priority(17, &error) || getpriority(PRIO_PROCESS, 0) != (before > 17 ? before : 17))
        return 3;
    if (pthread_getschedparam(pthread_self(), &policy, &given) != 0 || policy != SCHED_OTHER)
        return 4;
    if (!pl_lower_priority(5, &error) || getpriority(PRIO_PROCESS, 0) < 17)
        return 5; /* a higher one is kept */
    if (session_before < 0)
        return 0;
    if (own_session)
        return read_session_nice() == 5 ? 0 : 6;
    return read_session_nice() == session_before ? 0 : 7;
}

static int status_of_child(bool own_session)
{
    pid_t child = fork();
    if (child == 0)
        _exit(lower_in_child(own_session));
    int status = -1;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    CHECK_EQUAL(status_of_child(false), 0);
    CHECK_EQUAL(status_of_child(true), 0);
    CHECK_RETURN();
}
