#include "load/quiet.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/options.h"

/* Places of fields in a line. */
enum { MAJOR, MINOR, NAME, IN_FLIGHT = 11 };

#define LINE_BYTES 512
#define LOOK_NS (10 * PL_NS_PER_MS)
#define QUIET_NS (100 * PL_NS_PER_MS)
#define LONGEST_NS (5 * PL_NS_PER_S)

/* The fields of a line: major and minor number, name, and 11 numbers or more; false for another line. */
static bool read_line(char *line, uint64_t *major_number, uint64_t *minor_number, int64_t *in_flight)
{
    int field = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \n", &rest); word != NULL; word = strtok_r(NULL, " \n", &rest)) {
        int64_t value = -1;
        if (field != NAME && !pl_parse_int64(word, 0, INT64_MAX, &value))
            return false;
        if (field == MAJOR)
            *major_number = (uint64_t)value;
        else if (field == MINOR)
            *minor_number = (uint64_t)value;
        else if (field == IN_FLIGHT)
            *in_flight = value;
        field++;
    }
    return field > IN_FLIGHT;
}

int64_t pl_count_in_flight(const char *path, dev_t device)
{
    char line[LINE_BYTES];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    int64_t count = -1;
    while (fgets(line, sizeof line, file) != NULL) {
        uint64_t major_number = 0;
        uint64_t minor_number = 0;
        int64_t in_flight = 0;
        if (!read_line(line, &major_number, &minor_number, &in_flight))
            continue;
        if (major(device) != 0 && (major(device) != major_number || minor(device) != minor_number))
            continue;
        count = (count < 0 ? 0 : count) + in_flight;
    }
    (void)fclose(file);
    return count;
}

bool pl_await_quiet_disk(dev_t device, pl_ns *after_ns)
{
    pl_ns begin_ns = pl_now_ns();
    pl_ns since_ns = begin_ns;
    *after_ns = -1;
    for (pl_ns now_ns = begin_ns; now_ns - begin_ns < LONGEST_NS; now_ns = pl_now_ns()) {
        int64_t in_flight = pl_count_in_flight(PL_DISKSTATS_PATH, device);
        if (in_flight < 0)
            return true;
        if (in_flight > 0)
            since_ns = pl_now_ns();
        else if (now_ns - since_ns >= QUIET_NS) {
            *after_ns = since_ns - begin_ns;
            return true;
        }
        const struct timespec look = {.tv_nsec = LOOK_NS};
        (void)nanosleep(&look, NULL);
    }
    return false;
}
