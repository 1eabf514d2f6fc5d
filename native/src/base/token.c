#include "base/token.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"

#define READ_TIMEOUT_NS (10 * PL_NS_PER_S)

static int read_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool pl_token_parse(const char *text, uint8_t token[PL_TOKEN_BYTES])
{
    if (text == NULL || strlen(text) != 2UL * PL_TOKEN_BYTES)
        return false;
    for (size_t i = 0; i < PL_TOKEN_BYTES; i++) {
        int high = read_hex_digit(text[2 * i]);
        int low = read_hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        token[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool pl_token_equal(const uint8_t a[PL_TOKEN_BYTES], const uint8_t b[PL_TOKEN_BYTES])
{
    volatile uint8_t difference = 0;
    for (size_t i = 0; i < PL_TOKEN_BYTES; i++)
        difference = (uint8_t)(difference | (a[i] ^ b[i]));
    return difference == 0;
}

static bool is_stdin(const char *text)
{
    return strcmp(text, "stdin") == 0;
}

bool pl_token_check(const char *text, struct pl_error *error)
{
    uint8_t token[PL_TOKEN_BYTES];
    if (text[0] == 0 || is_stdin(text) || pl_token_parse(text, token))
        return true;
    return pl_error_usage(error, "--token must be 32 hexadecimal digits, or stdin to read them from there");
}

/* Reads one line without its end, byte by byte, since a command may follow. False when the line is longer
 * than `size` - 1 bytes, of which that many were read, or with `error` set when it does not arrive in time.
 */
static bool read_line(char *line, size_t size, struct pl_error *error)
{
    pl_ns deadline_ns = pl_now_ns() + READ_TIMEOUT_NS;
    size_t length = 0;
    while (length + 1 < size) {
        if (pl_wait_ready(STDIN_FILENO, POLLIN, deadline_ns) != 0)
            return pl_error_set(error, PL_ENDED, "token", 0, "no --token was read from stdin within 10 s");
        ssize_t count = read(STDIN_FILENO, line + length, 1);
        if (count < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (count <= 0)
            return pl_error_set(error, PL_ENDED, "token", 0,
                                "stdin ended before a complete --token: write it as the first line");
        if (line[length] == '\n') {
            line[length > 0 && line[length - 1] == '\r' ? length - 1 : length] = 0;
            return true;
        }
        length++;
    }
    line[length] = 0;
    return false;
}

bool pl_token_read(const char *text, uint8_t token[PL_TOKEN_BYTES], struct pl_error *error)
{
    memset(token, 0, PL_TOKEN_BYTES);
    if (!is_stdin(text))
        return text[0] == 0 || pl_token_parse(text, token);
    char line[2 * PL_TOKEN_BYTES + 3] = {0}; /* plus "\r\n" */
    bool valid = read_line(line, sizeof line, error) && pl_token_parse(line, token);
    if (!valid)
        pl_error_set(error, PL_USAGE, "token", 0,
                     "the first line of stdin must be the --token, 32 hexadecimal digits");
    explicit_bzero(line, sizeof line);
    return valid;
}
