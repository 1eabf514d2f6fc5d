#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "flow/priority.h"

/* Whether the kernel's text says that real-time threads are limited. */
static bool read_share(const char *text)
{
    char path[] = "/tmp/pathlab-share-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    (void)fputs(text, file);
    (void)fclose(file);
    bool limited = pl_real_time_is_limited(path);
    (void)unlink(path);
    return limited;
}

int main(void)
{
    CHECK(read_share("950000\n"));
    CHECK(read_share("0\n"));
    CHECK(!read_share("-1\n"));
    CHECK(read_share(""));
    CHECK(pl_real_time_is_limited("/nonexistent"));
    CHECK_RETURN();
}
