/* What a program behind a pipe writes, in fragments of the size in the first byte; the second is the expected
 * size. A reply is found once all of it has come, and not when anything else has. */
#include <string.h>

#include "adapter/pipe.h"
#include "base/bytes.h"
#include "property.h"
#include <stdbool.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t fragment = 1 + (size_t)data[0];
    size_t expected = data[1];
    const uint8_t *written = data + 2;
    size_t bytes = size - 2;
    for (size_t have = 0; have < bytes;) {
        have += bytes - have < fragment ? bytes - have : fragment;
        const uint8_t *reply = NULL;
        struct pl_adapter_error error = {0};
        int found = pl_pipe_decode(written, have, expected, &reply, &error);
        bool right = have < PL_PIPE_PREFIX_BYTES || pl_get32(written) == expected;
        REQUIRE(found == (!right || have > PL_PIPE_PREFIX_BYTES + expected ? -1
                          : have == PL_PIPE_PREFIX_BYTES + expected        ? 1
                                                                           : 0));
        REQUIRE((found < 0) == (error.stage[0] != 0));
        REQUIRE(found != 1 || reply == written + PL_PIPE_PREFIX_BYTES);
        if (found != 0)
            break;
    }
    return 0;
}
