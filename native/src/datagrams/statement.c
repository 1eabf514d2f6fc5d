#include "datagrams/statement.h"

#include <string.h>

#include "base/bytes.h"

static const struct {
    uint8_t name;
    uint8_t numbers;
} kinds[PL_STATEMENT_KINDS] = {
    [PL_STATEMENT_START] = {'g', 0}, [PL_STATEMENT_END] = {'e', 2}, [PL_STATEMENT_RECEIPT] = {'r', 4}};

static size_t size_of(enum pl_statement_kind kind)
{
    return 1 + 8 * (size_t)kinds[kind].numbers;
}

size_t pl_statement_encode(const struct pl_statement *statement, uint8_t bytes[PL_STATEMENT_MAX_BYTES])
{
    bytes[0] = kinds[statement->kind].name;
    if (statement->kind == PL_STATEMENT_END) {
        for (size_t p = 0; p < PL_DATAGRAM_PHASES; p++)
            pl_put64(bytes + 1 + 8 * p, statement->sent[p]);
    } else if (statement->kind == PL_STATEMENT_RECEIPT) {
        pl_put64(bytes + 1, statement->bytes);
        pl_put64(bytes + 9, statement->received);
        pl_put64(bytes + 17, statement->duplicates);
        pl_put64(bytes + 25, statement->reordered);
    }
    return size_of(statement->kind);
}

/* PL_STATEMENT_KINDS for a byte that names none. */
static enum pl_statement_kind find_kind(uint8_t name)
{
    int kind = 0;
    while (kind < PL_STATEMENT_KINDS && kinds[kind].name != name)
        kind++;
    return (enum pl_statement_kind)kind;
}

static void decode(enum pl_statement_kind kind, const uint8_t *bytes, struct pl_statement *statement)
{
    *statement = (struct pl_statement){.kind = kind};
    if (kind == PL_STATEMENT_END) {
        for (size_t p = 0; p < PL_DATAGRAM_PHASES; p++)
            statement->sent[p] = pl_get64(bytes + 1 + 8 * p);
    } else if (kind == PL_STATEMENT_RECEIPT) {
        statement->bytes = pl_get64(bytes + 1);
        statement->received = pl_get64(bytes + 9);
        statement->duplicates = pl_get64(bytes + 17);
        statement->reordered = pl_get64(bytes + 25);
    }
}

ssize_t pl_statement_read(struct pl_statement_reader *reader, const uint8_t *bytes, size_t count,
                          struct pl_statement *statement, bool *complete)
{
    *complete = false;
    if (count == 0)
        return 0;
    enum pl_statement_kind kind = find_kind(reader->have > 0 ? reader->bytes[0] : bytes[0]);
    if (kind == PL_STATEMENT_KINDS)
        return -1;
    size_t missing = size_of(kind) - reader->have;
    size_t taken = count < missing ? count : missing;
    memcpy(reader->bytes + reader->have, bytes, taken);
    reader->have += taken;
    if (taken == missing) {
        decode(kind, reader->bytes, statement);
        reader->have = 0;
        *complete = true;
    }
    return (ssize_t)taken;
}
