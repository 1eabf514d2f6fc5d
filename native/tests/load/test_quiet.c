/* The requests under way in text like that of /proc/diskstats. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "load/quiet.h"

static const char STATS[] =
    " 254       0 vda 3754105 340612 108546162 5594979 11933510 8801293 717410864 2840318 "
    "3 1984444 10195292 8345091 293 601148960 1537463 2933263 222531\n"
    "   8       1 sda1 1 2 3 4 5 6 7 8 2 10 11\n"
    "   8      16 sdb 0 0 0 0 0 0 0 0 0 0 0\n"
    "no line of numbers\n";

static int64_t count(const char *text, dev_t device)
{
    char path[] = "/tmp/pathlab-diskstats-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    (void)fputs(text, file);
    (void)fclose(file);
    int64_t in_flight = pl_count_in_flight(path, device);
    (void)unlink(path);
    return in_flight;
}

int main(void)
{
    CHECK_EQUAL(count(STATS, makedev(254, 0)), 3);
    CHECK_EQUAL(count(STATS, makedev(8, 1)), 2);
    CHECK_EQUAL(count(STATS, makedev(8, 16)), 0);
    CHECK_EQUAL(count(STATS, makedev(0, 41)), 5); /* made up by the file system: all together */
    CHECK_EQUAL(count(STATS, makedev(9, 0)), -1);
    CHECK_EQUAL(count("", makedev(254, 0)), -1);
    CHECK_EQUAL(pl_count_in_flight("/nonexistent", makedev(254, 0)), -1);
    pl_ns after_ns = 0;
    CHECK(pl_await_quiet_disk(makedev(9, 99), &after_ns)); /* not known: no wait */
    CHECK_EQUAL(after_ns, -1);
    CHECK_RETURN();
}
