/* Numbers in files of /proc and /sys. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The number in the first line that begins with `key` ("": any), behind that. False, and `number` as before,
 * where there is none or the file cannot be read. */
bool pl_read_kernel_number(const char *path, const char *key, int64_t *number);
