/* Messages from the wire in both encodings. The first two bytes select encoding and size; messages follow. */
#include <string.h>

#include "messages/encoding.h"
#include "property.h"

static uint8_t again[PL_MESSAGE_MAX_BYTES + PL_PROTOBUF_EXTRA_BYTES];

/* What was decoded is encoded and decoded to the same. */
static void check_again(enum pl_encoding encoding, uint32_t number, const uint8_t *content, size_t size)
{
    uint32_t found_number;
    const uint8_t *found;
    size_t bytes = pl_encode(encoding, again, number, content, size);
    REQUIRE(bytes <= pl_encoded_max(encoding, size));
    REQUIRE(pl_decode(encoding, again, bytes, size, &found_number, &found) == (ssize_t)bytes);
    REQUIRE(found_number == number && memcmp(found, content, size - PL_NUMBER_BYTES) == 0);
    REQUIRE(pl_decode(encoding, again, bytes - 1, size, &found_number, &found) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t sizes[] = {4, 5, 8, 64, 131, 132, 1000, 2000};
    if (size < 2)
        return 0;
    enum pl_encoding encoding = data[0] % 2 == 0 ? PL_ENCODING_FIXED : PL_ENCODING_PROTOBUF;
    size_t message_bytes = sizes[data[1] % (sizeof sizes / sizeof sizes[0])];
    const uint8_t *at = data + 2;
    size_t left = size - 2;
    for (;;) {
        uint32_t number;
        const uint8_t *content;
        ssize_t bytes = pl_decode(encoding, at, left, message_bytes, &number, &content);
        REQUIRE(bytes >= -1 && bytes <= (ssize_t)left);
        if (bytes <= 0)
            return 0;
        REQUIRE(content >= at && content + message_bytes - PL_NUMBER_BYTES <= at + bytes);
        check_again(encoding, number, content, message_bytes);
        at += bytes;
        left -= (size_t)bytes;
    }
}
