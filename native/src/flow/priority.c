#include "flow/priority.h"

#include <pthread.h>

#include "base/kernel_file.h"

bool pl_real_time_is_limited(const char *path)
{
    int64_t share_us = 0;
    return !pl_read_kernel_number(path, "", &share_us) || share_us >= 0;
}

bool pl_priority_check(const struct pl_message_settings *messages, struct pl_error *error)
{
    if (messages->priority == 0 || !messages->polls || pl_real_time_is_limited(PL_REAL_TIME_SHARE_PATH))
        return true;
    return pl_error_set(
        error, PL_SETUP, "workers", 0,
        "--priority with --wait poll: spinning threads would take this host from all others, since "
        "kernel.sched_rt_runtime_us is -1: set that limit, or use --wait block");
}

void pl_priority_grant(struct pl_priority *priority, const struct pl_worker *workers, uint32_t count,
                       int64_t requested)
{
    const struct sched_param real_time = {.sched_priority = (int)requested};
    const struct sched_param above = {.sched_priority = (int)requested + 1};
    const struct sched_param ordinary = {.sched_priority = 0};
    if (requested == 0 ||
        pthread_getschedparam(pthread_self(), &priority->main_policy, &priority->main_before) != 0 ||
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &above) != 0)
        return;
    priority->granted = requested;
    bool granted = true;
    for (uint32_t i = 0; granted && i < count; i++)
        granted = pthread_setschedparam(workers[i].thread, SCHED_FIFO, &real_time) == 0;
    for (uint32_t i = 0; !granted && i < count; i++)
        (void)pthread_setschedparam(workers[i].thread, SCHED_OTHER, &ordinary);
    if (!granted)
        pl_priority_restore(priority);
}

void pl_priority_restore(struct pl_priority *priority)
{
    if (priority->granted > 0)
        (void)pthread_setschedparam(pthread_self(), priority->main_policy, &priority->main_before);
    priority->granted = 0;
}
