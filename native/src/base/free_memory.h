/* The memory that this process can still take: of the host and of its control groups. */
#pragma once

#include <stdint.h>

/* The bytes that can be taken before the kernel ends a process for want of memory: the least of MemAvailable
 * and, for each control group (version 1 or 2) around this process, its limit less its use, of which cached
 * files can be dropped. What cannot be read does not count; INT64_MAX where nothing can. `root` is put before
 * the paths of /proc and /sys: "". */
int64_t pl_read_free_memory(const char *root);
