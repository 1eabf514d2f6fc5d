#include "messages/encoding.h"

#include <string.h>

#include "base/bytes.h"

/* Tags: field number << 3 | wire type; 0 is a varint, 2 has a length. */
#define NUMBER_TAG (1 << 3 | 0)
#define CONTENT_TAG (2 << 3 | 2)
#define VARINT_MAX_BYTES 10

const char *pl_encoding_name(enum pl_encoding encoding)
{
    static const char *const names[PL_ENCODINGS] = {"fixed", "protobuf"};
    return names[encoding];
}

size_t pl_encoded_max(enum pl_encoding encoding, size_t size)
{
    return encoding == PL_ENCODING_FIXED ? size : size - PL_NUMBER_BYTES + PL_PROTOBUF_EXTRA_BYTES;
}

static size_t put_varint(uint8_t *at, uint64_t value)
{
    size_t count = 0;
    for (; value > 0x7F; value >>= 7)
        at[count++] = (uint8_t)(value | 0x80);
    at[count++] = (uint8_t)value;
    return count;
}

/* The bytes of the varint; 0 when it is incomplete, -1 when it is longer than 64 bits. */
static ssize_t get_varint(const uint8_t *at, size_t have, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < have && i < VARINT_MAX_BYTES; i++) {
        *value |= (uint64_t)(at[i] & 0x7F) << (7 * i);
        if ((at[i] & 0x80) == 0)
            return (ssize_t)i + 1;
    }
    return have < VARINT_MAX_BYTES ? 0 : -1;
}

/* As proto3 has it, a field with its default value, 0 or empty, is left out. */
static size_t encode_fields(uint8_t *at, uint32_t number, const uint8_t *content, size_t count)
{
    size_t written = 0;
    if (number != 0) {
        at[written++] = NUMBER_TAG;
        written += put_varint(at + written, number);
    }
    if (count > 0) {
        at[written++] = CONTENT_TAG;
        written += put_varint(at + written, count);
        memcpy(at + written, content, count);
        written += count;
    }
    return written;
}

static size_t count_varint(uint64_t value)
{
    size_t count = 1;
    for (; value > 0x7F; value >>= 7)
        count++;
    return count;
}

static size_t encode_protobuf(uint8_t *at, uint32_t number, const uint8_t *content, size_t count)
{
    size_t length =
        (number != 0 ? 1 + count_varint(number) : 0) + (count > 0 ? 1 + count_varint(count) + count : 0);
    size_t head = put_varint(at, length);
    return head + encode_fields(at + head, number, content, count);
}

size_t pl_encode(enum pl_encoding encoding, uint8_t *at, uint32_t number, const uint8_t *content, size_t size)
{
    if (encoding == PL_ENCODING_PROTOBUF)
        return encode_protobuf(at, number, content, size - PL_NUMBER_BYTES);
    pl_put32(at, number);
    memcpy(at + PL_NUMBER_BYTES, content, size - PL_NUMBER_BYTES);
    return size;
}

/* One field's value: its length in bytes, and where it begins behind the head; -1 when it does not fit. */
static ssize_t read_field(const uint8_t *at, size_t have, uint64_t *tag, uint64_t *value, size_t *skip)
{
    ssize_t head = get_varint(at, have, tag);
    if (head <= 0)
        return -1;
    switch (*tag & 7) {
    case 0:
    case 2: {
        ssize_t number = get_varint(at + head, have - (size_t)head, value);
        *skip = (size_t)head + (number > 0 ? (size_t)number : 0);
        if (number <= 0 || ((*tag & 7) == 2 && *value > have - *skip))
            return -1;
        return (ssize_t)((*tag & 7) == 2 ? *skip + *value : *skip);
    }
    case 1:
    case 5: {
        size_t bytes = (*tag & 7) == 1 ? 8 : 4;
        return have - (size_t)head < bytes ? -1 : head + (ssize_t)bytes;
    }
    default:
        return -1;
    }
}

/* Fields may come in any order, and unknown ones are passed over, as every parser of the format does. */
static bool parse_fields(const uint8_t *at, size_t have, size_t count, uint32_t *number,
                         const uint8_t **content)
{
    size_t found = 0;
    *number = 0;
    *content = at;
    for (size_t used = 0; used < have;) {
        uint64_t tag;
        uint64_t value = 0;
        size_t skip = 0;
        ssize_t bytes = read_field(at + used, have - used, &tag, &value, &skip);
        if (bytes < 0)
            return false;
        if (tag == NUMBER_TAG)
            *number = (uint32_t)value;
        if (tag == CONTENT_TAG) {
            *content = at + used + skip;
            found = (size_t)value;
        }
        used += (size_t)bytes;
    }
    return found == count;
}

ssize_t pl_decode(enum pl_encoding encoding, const uint8_t *at, size_t have, size_t size, uint32_t *number,
                  const uint8_t **content)
{
    if (encoding == PL_ENCODING_FIXED) {
        if (have < size)
            return 0;
        *number = pl_get32(at);
        *content = at + PL_NUMBER_BYTES;
        return (ssize_t)size;
    }
    uint64_t length;
    ssize_t head = get_varint(at, have, &length);
    if (head <= 0)
        return head;
    if (length > pl_encoded_max(encoding, size) + PL_UNKNOWN_MAX_BYTES)
        return -1;
    if (have - (size_t)head < length)
        return 0;
    return parse_fields(at + head, (size_t)length, size - PL_NUMBER_BYTES, number, content)
               ? head + (ssize_t)length
               : -1;
}
