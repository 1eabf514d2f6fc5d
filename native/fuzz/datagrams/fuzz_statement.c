/* Statements from the wire, in fragments, and headers of datagrams. The first byte is the size of a fragment.
 */
#include <string.h>

#include "datagrams/datagram_header.h"
#include "datagrams/sequence_meter.h"
#include "datagrams/statement.h"
#include "property.h"

/* What was read is encoded to the bytes that it was read from. */
static void check_statement(const struct pl_statement *statement, const uint8_t *end, size_t have)
{
    uint8_t again[PL_STATEMENT_MAX_BYTES];
    REQUIRE(statement->kind < PL_STATEMENT_KINDS);
    size_t size = pl_statement_encode(statement, again);
    REQUIRE(size <= sizeof again && size <= have);
    REQUIRE(memcmp(again, end - size, size) == 0);
}

static void check_header(const uint8_t *bytes)
{
    uint8_t again[PL_DATAGRAM_HEADER_BYTES];
    struct pl_datagram_header header;
    uint32_t check =
        (uint32_t)bytes[16] << 24 | (uint32_t)bytes[17] << 16 | (uint32_t)bytes[18] << 8 | bytes[19];
    REQUIRE(!pl_datagram_header_decode(bytes, check + 1, &header));
    if (!pl_datagram_header_decode(bytes, check, &header))
        return;
    REQUIRE(header.sequence < PL_SEQUENCE_NUMBER_END && header.phase < PL_DATAGRAM_PHASES);
    pl_datagram_header_encode(&header, again);
    REQUIRE(memcmp(bytes, again, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_statement_reader reader = {.have = 0};
    if (size < 1)
        return 0;
    const uint8_t *begin = data + 1;
    const uint8_t *end = data + size;
    if (size > PL_DATAGRAM_HEADER_BYTES)
        check_header(begin);
    for (const uint8_t *at = begin; at < end;) {
        struct pl_statement statement;
        bool complete;
        size_t count = (size_t)(end - at) < data[0] + (size_t)1 ? (size_t)(end - at) : data[0] + (size_t)1;
        ssize_t taken = pl_statement_read(&reader, at, count, &statement, &complete);
        REQUIRE(reader.have < sizeof reader.bytes);
        if (taken < 0)
            return 0;
        REQUIRE(taken > 0 && (size_t)taken <= count);
        at += taken;
        if (complete)
            check_statement(&statement, at, (size_t)(at - begin));
    }
    return 0;
}
