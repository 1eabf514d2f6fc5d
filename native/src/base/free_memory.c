#include "base/free_memory.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/kernel_file.h"

#define LINE_BYTES 512

/* The files and fields of one version of control groups. */
struct group_files {
    const char *folder;
    const char *limit;
    const char *use;
    const char *cached[2];
};

static const struct group_files version_1 = {"/sys/fs/cgroup/memory",
                                             "memory.limit_in_bytes",
                                             "memory.usage_in_bytes",
                                             {"total_inactive_file ", "total_active_file "}};
static const struct group_files version_2 = {
    "/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file ", "active_file "}};

/* Lowers `bytes` to what the group leaves. */
static void apply_group(const char *root, const struct group_files *files, const char *group, int64_t *bytes)
{
    char path[PATH_MAX];
    int64_t limit;
    int64_t use;
    int64_t cached;
    (void)snprintf(path, sizeof path, "%s%s%s/%s", root, files->folder, group, files->limit);
    if (!pl_read_kernel_number(path, "", &limit))
        return;
    (void)snprintf(path, sizeof path, "%s%s%s/%s", root, files->folder, group, files->use);
    if (!pl_read_kernel_number(path, "", &use))
        return;
    (void)snprintf(path, sizeof path, "%s%s%s/memory.stat", root, files->folder, group);
    for (int i = 0; i < 2; i++)
        if (pl_read_kernel_number(path, files->cached[i], &cached))
            use -= cached;
    int64_t left = limit > use ? limit - use : 0;
    *bytes = left < *bytes ? left : *bytes;
}

/* Whether a line of /proc/self/cgroup is of the memory of a group; NUMBER:CONTROLLERS:PATH, the last two of
 * version 2 without a controller. */
static const struct group_files *find_files(const char *line)
{
    const char *controllers = strchr(line, ':');
    if (controllers == NULL)
        return NULL;
    if (strncmp(controllers, "::", 2) == 0)
        return &version_2;
    return strncmp(controllers, ":memory:", 8) == 0 ? &version_1 : NULL;
}

int64_t pl_read_free_memory(const char *root)
{
    char path[PATH_MAX];
    char line[LINE_BYTES];
    int64_t bytes = INT64_MAX;
    int64_t available_kib;
    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (pl_read_kernel_number(path, "MemAvailable:", &available_kib))
        bytes = available_kib << 10;
    (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const struct group_files *files = find_files(line);
        char *group = files != NULL ? strchr(strchr(line, ':') + 1, ':') + 1 : NULL;
        if (group == NULL)
            continue;
        group[strcspn(group, "\n")] = 0;
        /* The limits of the groups around it hold as well. In a container the path is often that of the
         * host, whose inner part does not exist. */
        for (char *end = group + strlen(group); end != NULL; end = strrchr(group, '/')) {
            *end = 0;
            apply_group(root, files, group, &bytes);
        }
    }
    if (file != NULL)
        (void)fclose(file);
    return bytes;
}
