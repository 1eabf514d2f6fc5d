#include "flow/run_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* Three numbers of 20 digits, their spaces and the end of the line. */
#define TEXT_BYTES 80

int pl_run_queue_open(void)
{
    return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

int64_t pl_run_queue_waiting_ns(int fd)
{
    char text[TEXT_BYTES];
    if (fd < 0)
        return -1;
    ssize_t size = pread(fd, text, sizeof text - 1, 0);
    if (size <= 0)
        return -1;
    text[size] = '\0';
    return pl_run_queue_parse(text);
}

static bool parse_number(const char **text, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(*text, &end, 10);
    bool valid = end != *text && errno == 0 && *number >= 0 && (*end == ' ' || *end == '\n' || *end == '\0');
    *text = end;
    return valid;
}

int64_t pl_run_queue_parse(const char *text)
{
    int64_t running_ns;
    int64_t waiting_ns;
    int64_t turns;
    if (!parse_number(&text, &running_ns) || !parse_number(&text, &waiting_ns) ||
        !parse_number(&text, &turns))
        return -1;
    return turns > 0 ? waiting_ns : -1;
}
