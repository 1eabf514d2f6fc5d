#include "base/kernel_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 512

bool pl_read_kernel_number(const char *path, const char *key, int64_t *number)
{
    char line[LINE_BYTES];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        char *end;
        long long value = strtoll(line + strlen(key), &end, 10);
        found = end != line + strlen(key);
        if (found)
            *number = value;
    }
    if (file != NULL)
        (void)fclose(file);
    return found;
}
