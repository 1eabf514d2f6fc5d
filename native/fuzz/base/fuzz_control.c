/* The controller's command lines, written to a pipe in fragments of the size in the first byte. The lines
 * read are compared with the lines written. */
#include <string.h>
#include <unistd.h>

#include "base/control.h"
#include "property.h"

enum { MAX_BYTES = 8192 }; /* below a pipe's capacity, so that no write blocks */

/* The next written line and its length; NULL without a complete one. */
static const uint8_t *extract_line(const uint8_t **at, const uint8_t *end, size_t *length)
{
    const uint8_t *line = *at;
    const uint8_t *newline = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    if (newline == NULL)
        return NULL;
    *length = (size_t)(newline - line);
    *at = newline + 1;
    return line;
}

/* Reads the available events; false at the end of the input. */
static bool read_lines(struct pl_control *control, const uint8_t **at, const uint8_t *end)
{
    char line[PL_CONTROL_LINE_BYTES + 1];
    /* Each event but the last consumes at least one byte. */
    for (int events = 0;; events++) {
        REQUIRE(events <= MAX_BYTES);
        size_t length = 0;
        enum pl_control_event event = pl_control_next(control, line);
        if (event == PL_CONTROL_NONE || event == PL_CONTROL_END)
            return event == PL_CONTROL_NONE;
        const uint8_t *written = extract_line(at, end, &length);
        REQUIRE(written != NULL);
        REQUIRE((event == PL_CONTROL_TOO_LONG) == (length > PL_CONTROL_LINE_BYTES));
        if (event == PL_CONTROL_TOO_LONG)
            continue;
        if (length > 0 && written[length - 1] == '\r')
            length--;
        REQUIRE(memcmp(line, written, length) == 0 && line[length] == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    struct pl_error error = {0};
    if (size == 0 || size > MAX_BYTES || pipe(ends) != 0)
        return 0;
    /* Few wake-ups for long inputs: fragments of 1, 9, 17 ... bytes. */
    size_t fragment = 1 + (size_t)data[0] * 8;
    const uint8_t *at = data + 1;
    const uint8_t *end = data + size;
    struct pl_control *control = pl_control_open(ends[0], &error);
    REQUIRE(control != NULL && pl_control_fd(control) == ends[0]);
    for (const uint8_t *next = at; next < end;) {
        size_t bytes = (size_t)(end - next) < fragment ? (size_t)(end - next) : fragment;
        REQUIRE(write(ends[1], next, bytes) == (ssize_t)bytes);
        next += bytes;
        REQUIRE(read_lines(control, &at, next));
    }
    (void)close(ends[1]);
    REQUIRE(!read_lines(control, &at, end) && !read_lines(control, &at, end));
    /* Every complete line was read. */
    REQUIRE(at == end || memchr(at, '\n', (size_t)(end - at)) == NULL);
    pl_control_close(control);
    (void)close(ends[0]);
    return 0;
}
