#include "base/free_memory.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static char root[] = "/tmp/pathlab-memory-XXXXXX";

/* Makes a file below the root, with the folders that lead to it. */
static void make(const char *name, const char *text)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s%s", root, name);
    for (char *at = path + sizeof root; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = 0;
        (void)mkdir(path, 0700);
    }
    FILE *file = fopen(path, "we");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

int main(void)
{
    char command[PATH_MAX];
    CHECK(mkdtemp(root) != NULL);
    CHECK_EQUAL(pl_read_free_memory(root), INT64_MAX);
    make("/proc/meminfo", "MemTotal:       16000 kB\nMemAvailable:    8000 kB\n");
    CHECK_EQUAL(pl_read_free_memory(root), 8000 << 10);
    /* A group of version 2 without a limit, in one with a limit: cached files can be dropped. */
    make("/proc/self/cgroup", "0::/outer/inner\n");
    make("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
    make("/sys/fs/cgroup/outer/inner/memory.current", "5000\n");
    CHECK_EQUAL(pl_read_free_memory(root), 8000 << 10);
    make("/sys/fs/cgroup/outer/memory.max", "1000000\n");
    make("/sys/fs/cgroup/outer/memory.current", "600000\n");
    CHECK_EQUAL(pl_read_free_memory(root), 400000);
    make("/sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 100000\nactive_file 20000\n");
    CHECK_EQUAL(pl_read_free_memory(root), 520000);
    make("/sys/fs/cgroup/outer/memory.max", "100\n");
    CHECK_EQUAL(pl_read_free_memory(root), 0);
    /* Version 1; the path is the host's, and the container's group is at the root. */
    make("/proc/self/cgroup", "5:cpu:/far\n4:memory:/far/away\n0::/\n");
    make("/sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000\n");
    make("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000\n");
    make("/sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 5\n");
    CHECK_EQUAL(pl_read_free_memory(root), 2000005);
    (void)snprintf(command, sizeof command, "rm -r %s", root);
    CHECK_EQUAL(system(command), 0);
    CHECK_RETURN();
}
