#include "base/limits.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

/* A sanitizer's shadow memory exceeds every sensible limit of the program itself. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED false
#endif

bool pl_limit_memory(int64_t bytes, struct pl_error *error)
{
    if (SANITIZED)
        return true;
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= (rlim_t)bytes)
        return true;
    limit.rlim_cur = (rlim_t)bytes;
    if (setrlimit(RLIMIT_DATA, &limit) == 0)
        return true;
    return pl_error_set(error, PL_SETUP, "limits", errno, "--memory-limit-bytes cannot be set");
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
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed)
        return pl_error_set(
            error, PL_RESOURCES, "descriptors", 0,
            "%llu descriptors are needed and %llu are allowed: raise `ulimit -n` or use fewer streams",
            (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
    return true;
}

int64_t pl_count_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}
