/* The statements against the bytes that PROTOCOL.md gives, and in every fragmentation. */
#include "check.h"
#include "datagrams/statement.h"

static const uint8_t golden_end[17] = {'e', 0, 0, 0, 0, 0, 0, 0x05, 0x35, 1, 2, 3, 4, 5, 6, 7, 8};
static const uint8_t golden_receipt[33] = {'r', 0, 0, 0, 0, 0, 0x07, 0xD0, 0x00, 0, 0, 0, 0, 0, 0, 0x1A, 0x0B,
                                           0,   0, 0, 0, 0, 0, 0,    1,    0,    0, 0, 0, 0, 0, 0, 2};

static void check_bytes(void)
{
    uint8_t bytes[PL_STATEMENT_MAX_BYTES];
    const struct pl_statement start = {.kind = PL_STATEMENT_START};
    const struct pl_statement end = {.kind = PL_STATEMENT_END, .sent = {1333, 0x0102030405060708}};
    const struct pl_statement receipt = {
        .kind = PL_STATEMENT_RECEIPT, .bytes = 512000, .received = 6667, .duplicates = 1, .reordered = 2};
    CHECK_EQUAL(pl_statement_encode(&start, bytes), 1);
    CHECK_EQUAL(bytes[0], 'g');
    CHECK_EQUAL(pl_statement_encode(&end, bytes), sizeof golden_end);
    CHECK(memcmp(bytes, golden_end, sizeof golden_end) == 0);
    CHECK_EQUAL(pl_statement_encode(&receipt, bytes), sizeof golden_receipt);
    CHECK(memcmp(bytes, golden_receipt, sizeof golden_receipt) == 0);
    CHECK_EQUAL(sizeof golden_receipt, PL_STATEMENT_MAX_BYTES);
}

static void check_fragments(size_t fragment)
{
    uint8_t all[1 + sizeof golden_end + sizeof golden_receipt];
    struct pl_statement_reader reader = {.have = 0};
    struct pl_statement found[3];
    size_t count = 0;
    all[0] = 'g';
    memcpy(all + 1, golden_end, sizeof golden_end);
    memcpy(all + 1 + sizeof golden_end, golden_receipt, sizeof golden_receipt);
    for (size_t at = 0; at < sizeof all && count < 3;) {
        bool complete;
        size_t size = sizeof all - at < fragment ? sizeof all - at : fragment;
        ssize_t taken = pl_statement_read(&reader, all + at, size, &found[count], &complete);
        CHECK(taken > 0 && (size_t)taken <= size);
        at += (size_t)taken;
        count += complete ? 1 : 0;
    }
    CHECK_EQUAL(count, 3);
    CHECK_EQUAL(found[0].kind, PL_STATEMENT_START);
    CHECK_EQUAL(found[1].kind, PL_STATEMENT_END);
    CHECK_EQUAL(found[1].sent[PL_DATAGRAM_WARMUP], 1333);
    CHECK_EQUAL(found[1].sent[PL_DATAGRAM_STEADY], 0x0102030405060708);
    CHECK_EQUAL(found[2].kind, PL_STATEMENT_RECEIPT);
    CHECK_EQUAL(found[2].bytes, 512000);
    CHECK_EQUAL(found[2].received, 6667);
    CHECK_EQUAL(found[2].duplicates, 1);
    CHECK_EQUAL(found[2].reordered, 2);
}

static void check_unknown(void)
{
    struct pl_statement_reader reader = {.have = 0};
    struct pl_statement statement;
    bool complete = true;
    CHECK_EQUAL(pl_statement_read(&reader, (const uint8_t *)"x", 1, &statement, &complete), -1);
    CHECK(!complete);
    CHECK_EQUAL(pl_statement_read(&reader, (const uint8_t *)"x", 0, &statement, &complete), 0);
    CHECK(!complete);
}

int main(void)
{
    check_bytes();
    for (size_t fragment = 1; fragment <= 52; fragment++)
        check_fragments(fragment);
    check_unknown();
    CHECK_RETURN();
}
