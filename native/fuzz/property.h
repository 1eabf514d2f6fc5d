/* Properties that fuzz targets check in addition to the sanitizers. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The entry of every target, as libFuzzer calls it: `size` bytes, borrowed; always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts, which libFuzzer and the replay report together with the input. */
#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            (void)fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                    \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)
