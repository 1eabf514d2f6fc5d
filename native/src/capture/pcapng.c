#include "capture/pcapng.h"

#include <string.h>

enum block_type { INTERFACE_BLOCK = 1, STATISTICS_BLOCK = 5, PACKET_BLOCK = 6 };
static const uint32_t SECTION_BLOCK = 0x0a0d0d0a;
static const uint32_t BYTE_ORDER_MAGIC = 0x1a2b3c4d;

enum option {
    END_OF_OPTIONS = 0,
    SECTION_PROGRAM = 4,
    INTERFACE_NAME = 2,
    INTERFACE_RESOLUTION = 9,
    STATISTICS_START = 2,
    STATISTICS_END = 3,
    STATISTICS_ACCEPTED = 6,
    STATISTICS_DROPPED = 7,
    STATISTICS_RECORDED = 8,
};

enum { LINKTYPE_RAW = 101, NANOSECONDS = 9, LENGTH_AT = 4 };

/* A block that grows; its length is written at its end. */
struct block {
    uint8_t *begin;
    uint8_t *end;
};

static void put(struct block *block, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        *block->end++ = (uint8_t)(value >> (8 * i));
}

static void put_bytes(struct block *block, const void *from, size_t bytes)
{
    memcpy(block->end, from, bytes);
    block->end += bytes;
    put(block, 0, (0 - bytes) & 3);
}

static struct block begin(uint8_t *at, uint32_t type)
{
    struct block block = {.begin = at, .end = at};
    put(&block, type, 4);
    put(&block, 0, 4);
    return block;
}

static size_t end(struct block *block)
{
    size_t length = (size_t)(block->end - block->begin) + 4;
    put(block, length, 4);
    struct block header = {.end = block->begin + LENGTH_AT};
    put(&header, length, 4);
    return length;
}

static void put_option(struct block *block, enum option code, const void *value, size_t bytes)
{
    put(block, code, 2);
    put(block, bytes, 2);
    put_bytes(block, value, bytes);
}

static void put_text(struct block *block, enum option code, const char *text)
{
    put_option(block, code, text, strnlen(text, PL_PCAPNG_NAME_BYTES_MAX));
}

static void put_count(struct block *block, enum option code, uint64_t count)
{
    put(block, code, 2);
    put(block, 8, 2);
    put(block, count, 8);
}

/* Times have their high half first, whatever the order of bytes. */
static void put_time(struct block *block, pl_ns time_ns)
{
    put(block, (uint64_t)time_ns >> 32, 4);
    put(block, (uint64_t)time_ns, 4);
}

static void put_time_option(struct block *block, enum option code, pl_ns time_ns)
{
    put(block, code, 2);
    put(block, 8, 2);
    put_time(block, time_ns);
}

size_t pl_pcapng_section(uint8_t *at, const char *program)
{
    struct block block = begin(at, SECTION_BLOCK);
    put(&block, BYTE_ORDER_MAGIC, 4);
    put(&block, 1, 2); /* version 1.0 */
    put(&block, 0, 2);
    put(&block, UINT64_MAX, 8); /* the length of the section is not stated */
    put_text(&block, SECTION_PROGRAM, program);
    put(&block, END_OF_OPTIONS, 4);
    return end(&block);
}

size_t pl_pcapng_interface(uint8_t *at, const char *name, uint32_t snap_bytes)
{
    const uint8_t resolution = NANOSECONDS;
    struct block block = begin(at, INTERFACE_BLOCK);
    put(&block, LINKTYPE_RAW, 2);
    put(&block, 0, 2);
    put(&block, snap_bytes, 4);
    put_text(&block, INTERFACE_NAME, name);
    put_option(&block, INTERFACE_RESOLUTION, &resolution, 1);
    put(&block, END_OF_OPTIONS, 4);
    return end(&block);
}

size_t pl_pcapng_packet(uint8_t *at, const struct pl_pcapng_packet *packet)
{
    struct block block = begin(at, PACKET_BLOCK);
    put(&block, packet->interface, 4);
    put_time(&block, packet->time_ns);
    put(&block, packet->captured_bytes, 4);
    put(&block, packet->original_bytes, 4);
    put_bytes(&block, packet->data, packet->captured_bytes);
    return end(&block);
}

size_t pl_pcapng_statistics(uint8_t *at, const struct pl_pcapng_statistics *statistics)
{
    struct block block = begin(at, STATISTICS_BLOCK);
    put(&block, statistics->interface, 4);
    put_time(&block, statistics->end_ns);
    put_time_option(&block, STATISTICS_START, statistics->start_ns);
    put_time_option(&block, STATISTICS_END, statistics->end_ns);
    put_count(&block, STATISTICS_ACCEPTED, statistics->accepted);
    put_count(&block, STATISTICS_DROPPED, statistics->dropped);
    put_count(&block, STATISTICS_RECORDED, statistics->recorded);
    put(&block, END_OF_OPTIONS, 4);
    return end(&block);
}
