/* Whether a disk has finished what was asked of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

#define PL_DISKSTATS_PATH "/proc/diskstats"

/* Requests that the kernel has given to this device and that are not done, from a file like /proc/diskstats.
 * `device` 0, or one that the file system made up (Btrfs, overlay): of all devices. -1: not known. */
int64_t pl_count_in_flight(const char *path, dev_t device);

/* Waits until a device has had nothing to do for 100 ms, for 5 s at most. True with the time from now until
 * it became so in `after_ns`; -1 there where the kernel does not tell, which takes no time. */
bool pl_await_quiet_disk(dev_t device, pl_ns *after_ns);
