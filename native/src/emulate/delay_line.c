#include "emulate/delay_line.h"

#include <stdlib.h>
#include <string.h>

enum { CAPACITY_FIRST = 64 };

static struct pl_delivery *slot(const struct pl_delay_line *line, size_t index)
{
    return &line->ring[index & (line->capacity - 1)];
}

void pl_delay_line_init(struct pl_delay_line *line, size_t maximum)
{
    memset(line, 0, sizeof *line);
    line->maximum = CAPACITY_FIRST;
    while (line->maximum <= maximum / 2)
        line->maximum *= 2;
}

void pl_delay_line_free(struct pl_delay_line *line)
{
    free(line->ring);
    line->ring = NULL;
    line->capacity = line->head = line->tail = 0;
}

static bool grow(struct pl_delay_line *line)
{
    size_t capacity = line->capacity == 0 ? CAPACITY_FIRST : line->capacity * 2;
    if (capacity > line->maximum)
        return false;
    struct pl_delivery *ring = calloc(capacity, sizeof *ring);
    if (ring == NULL)
        return false;
    size_t count = pl_delay_line_count(line);
    for (size_t i = 0; i < count; i++)
        ring[i] = *slot(line, line->head + i);
    free(line->ring);
    line->ring = ring;
    line->capacity = capacity;
    line->head = 0;
    line->tail = count;
    return true;
}

bool pl_delay_line_push(struct pl_delay_line *line, const struct pl_delivery *delivery)
{
    if (pl_delay_line_count(line) == line->capacity && !grow(line))
        return false;
    size_t at = line->tail++;
    while (at != line->head && slot(line, at - 1)->due_ns > delivery->due_ns) {
        *slot(line, at) = *slot(line, at - 1);
        at--;
    }
    *slot(line, at) = *delivery;
    return true;
}

const struct pl_delivery *pl_delay_line_peek(const struct pl_delay_line *line)
{
    return line->head == line->tail ? NULL : slot(line, line->head);
}

void pl_delay_line_pop(struct pl_delay_line *line)
{
    line->head++;
}

size_t pl_delay_line_count(const struct pl_delay_line *line)
{
    return line->tail - line->head;
}
