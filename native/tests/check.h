/* Assertions for native tests: a failed one is printed and makes the program end with status 1. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int pl_check_failures;
static int pl_check_count;

static inline void pl_check_that(int holds, const char *text, const char *file, int line)
{
    pl_check_count++;
    if (!holds) {
        pl_check_failures++;
        (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
    }
}

static inline void pl_check_equal(int64_t got, int64_t want, const char *text, const char *file, int line)
{
    pl_check_count++;
    if (got != want) {
        pl_check_failures++;
        (void)fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", file, line, text, (long long)got,
                      (long long)want);
    }
}

static inline void pl_check_text(const char *got, const char *want, const char *file, int line)
{
    pl_check_count++;
    if (strcmp(got, want) != 0) {
        pl_check_failures++;
        (void)fprintf(stderr, "%s:%d: text is\n  %s\nnot\n  %s\n", file, line, got, want);
    }
}

#define CHECK(condition) pl_check_that((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(got, want) pl_check_equal((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
#define CHECK_TEXT(got, want) pl_check_text((got), (want), __FILE__, __LINE__)

/* The last statement of main(). A program without a single check fails as well. */
#define CHECK_RETURN()                                                                                       \
    do {                                                                                                     \
        (void)printf("%s: %d checks, %d failed\n", __FILE__, pl_check_count, pl_check_failures);             \
        return pl_check_failures == 0 && pl_check_count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;                   \
    } while (0)
