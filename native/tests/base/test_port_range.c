/* `--port` of a listening end: accepted values, and the error when every port is taken. */
#include <errno.h>

#include "base/port_range.h"
#include "check.h"

static void check_accepted(const char *text, int64_t first, int64_t last)
{
    struct pl_port_range range = {.first = -7, .last = -7};
    struct pl_error error = {0};
    CHECK(pl_port_range_parse(text, &range, &error));
    CHECK_EQUAL(error.status, PL_OK);
    CHECK_EQUAL(range.first, first);
    CHECK_EQUAL(range.last, last);
}

static void check_refused(const char *text)
{
    struct pl_port_range range = {.first = 5, .last = 6};
    struct pl_error error = {0};
    CHECK(!pl_port_range_parse(text, &range, &error));
    CHECK_EQUAL(error.status, PL_USAGE);
    CHECK(strstr(error.text, "--port") != NULL);
    CHECK_EQUAL(range.first, 5);
    CHECK_EQUAL(range.last, 6);
}

static void check_words(const char *text, int64_t port, int cause, const char *words)
{
    struct pl_port_range range;
    struct pl_error error = {0};
    CHECK(pl_port_range_parse(text, &range, NULL));
    CHECK(!pl_port_range_refuse(&range, port, "10.0.0.2", cause, &error));
    CHECK_EQUAL(error.status, PL_SETUP);
    CHECK_EQUAL(error.errno_value, cause);
    CHECK_TEXT(error.stage, "bind");
    CHECK(strstr(error.text, words) == error.text);
}

int main(void)
{
    check_accepted("0", 0, 0);
    check_accepted("5210", 5210, 5210);
    check_accepted("65535", 65535, 65535);
    check_accepted("5201-5300", 5201, 5300);
    check_accepted("7-7", 7, 7);
    check_accepted("1-65535", 1, 65535);
    static const char *const wrong[] = {"",          "-",     "65536",       "-1",         "0-9", "9-8",
                                        "1-65536",   "5201-", "-5201",       "5201--5300", "a",   "1-2-3",
                                        "5201 5300", "1,2",   "99999999999", "5201-x",     "0-0"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        check_refused(wrong[i]);
    check_words("80", 80, EADDRINUSE, "port 80 of 10.0.0.2 is already taken");
    check_words("80-82", 82, EADDRINUSE, "ports 80-82 of 10.0.0.2 are all taken: widen --port");
    check_words("80-82", 81, EACCES, "cannot use port 81 of 10.0.0.2");
    CHECK_RETURN();
}
