#include "limits.h"

#include <errno.h>
#include <sys/resource.h>

bool pl_limit_memory(int64_t bytes, struct pl_error *error)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= (rlim_t)bytes)
        return true;
    limit.rlim_cur = (rlim_t)bytes;
    if (setrlimit(RLIMIT_DATA, &limit) == 0)
        return true;
    pl_error_set(error, PL_SETUP, "limits", errno, "--memory-limit-bytes cannot be set");
    return false;
}

bool pl_raise_descriptor_limit(uint64_t needed, struct pl_error *error)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed) {
        pl_error_set(
            error, PL_RESOURCES, "descriptors", 0,
            "%llu descriptors are needed and %llu are allowed: raise `ulimit -n` or ask for fewer streams",
            (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
        return false;
    }
    return true;
}
