#include "datagrams/datagram_header.h"

#include "base/bytes.h"
#include "base/siphash.h"
#include "datagrams/sequence_meter.h"

#define SENT_AT 8
#define CHECK_AT 16
#define PHASE_AT 20

uint32_t pl_datagram_check(const uint8_t token[PL_TOKEN_BYTES], uint32_t stream, bool forward)
{
    uint8_t text[5];
    pl_put32(text, stream);
    text[4] = forward ? 1 : 2;
    return (uint32_t)pl_siphash(token, text, sizeof text);
}

void pl_datagram_header_encode(const struct pl_datagram_header *header,
                               uint8_t bytes[PL_DATAGRAM_HEADER_BYTES])
{
    pl_put64(bytes, header->sequence);
    pl_put64(bytes + SENT_AT, (uint64_t)header->sent_ns);
    pl_put32(bytes + CHECK_AT, header->check);
    bytes[PHASE_AT] = (uint8_t)header->phase;
}

bool pl_datagram_header_decode(const uint8_t bytes[PL_DATAGRAM_HEADER_BYTES], uint32_t check,
                               struct pl_datagram_header *header)
{
    if (pl_get32(bytes + CHECK_AT) != check || bytes[PHASE_AT] >= PL_DATAGRAM_PHASES ||
        pl_get64(bytes) >= PL_SEQUENCE_NUMBER_END)
        return false;
    *header = (struct pl_datagram_header){.sequence = pl_get64(bytes),
                                          .sent_ns = (int64_t)pl_get64(bytes + SENT_AT),
                                          .check = check,
                                          .phase = (enum pl_datagram_phase)bytes[PHASE_AT]};
    return true;
}
