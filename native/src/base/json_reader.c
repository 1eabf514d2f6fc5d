#include "base/json_reader.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void skip_space(struct pl_json_reader *reader)
{
    reader->at += strspn(reader->at, " \t\r\n");
}

bool pl_json_read_mark(struct pl_json_reader *reader, char mark)
{
    struct pl_json_reader next = *reader;
    skip_space(&next);
    if (*next.at != mark || mark == 0)
        return false;
    reader->at = next.at + 1;
    return true;
}

bool pl_json_at_end(struct pl_json_reader *reader)
{
    skip_space(reader);
    return *reader->at == 0;
}

static bool read_hex4(const char **at, uint32_t *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++, (*at)++) {
        const char *digits = "0123456789abcdef";
        int lower = tolower((unsigned char)**at);
        const char *digit = lower == 0 ? NULL : strchr(digits, lower);
        if (digit == NULL)
            return false;
        *unit = *unit << 4 | (uint32_t)(digit - digits);
    }
    return true;
}

/* The code point behind "\u"; surrogates only in pairs, and not 0. */
static bool read_code_point(const char **at, uint32_t *point)
{
    uint32_t low;
    if (!read_hex4(at, point) || *point == 0 || (*point >= 0xDC00 && *point < 0xE000))
        return false;
    if (*point < 0xD800 || *point >= 0xE000)
        return true;
    if ((*at)[0] != '\\' || (*at)[1] != 'u')
        return false;
    *at += 2;
    if (!read_hex4(at, &low) || low < 0xDC00 || low >= 0xE000)
        return false;
    *point = 0x10000 + ((*point - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

static size_t encode_utf8(uint32_t point, char bytes[4])
{
    if (point < 0x80) {
        bytes[0] = (char)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, point >>= 6)
        bytes[i] = (char)(0x80 | (point & 0x3F));
    bytes[0] = (char)((0xF00 >> length & 0xFF) | point);
    return length;
}

/* One character of a string, as UTF-8; its length, or 0 for an invalid one. */
static size_t read_character(const char **at, char bytes[4])
{
    static const char escapes[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    uint32_t point;
    if ((unsigned char)**at < 0x20)
        return 0;
    if (**at != '\\') {
        bytes[0] = *(*at)++;
        return 1;
    }
    char kind = *++*at;
    if (kind == 0)
        return 0;
    ++*at;
    if (kind == 'u')
        return read_code_point(at, &point) ? encode_utf8(point, bytes) : 0;
    const char *escape = strchr(escapes, kind);
    if (escape == NULL)
        return 0;
    bytes[0] = values[escape - escapes];
    return 1;
}

bool pl_json_read_string(struct pl_json_reader *reader, char *text, size_t room)
{
    struct pl_json_reader next = *reader;
    size_t used = 0;
    if (!pl_json_read_mark(&next, '"'))
        return false;
    while (*next.at != '"') {
        char bytes[4];
        size_t length = read_character(&next.at, bytes);
        if (length == 0 || (text != NULL && used + length >= room))
            return false;
        if (text != NULL)
            memcpy(text + used, bytes, length);
        used += length;
    }
    if (text != NULL)
        text[used] = 0;
    reader->at = next.at + 1;
    return true;
}

/* The end of a number in JSON's form, which is narrower than strtod's; NULL for none. */
static const char *find_number_end(const char *at)
{
    static const char digits[] = "0123456789";
    at += *at == '-';
    size_t whole = strspn(at, digits);
    if (whole == 0 || (whole > 1 && *at == '0'))
        return NULL;
    at += whole;
    if (*at == '.') {
        size_t fraction = strspn(at + 1, digits);
        if (fraction == 0)
            return NULL;
        at += 1 + fraction;
    }
    if (*at == 'e' || *at == 'E') {
        at += at[1] == '+' || at[1] == '-' ? 2 : 1;
        size_t exponent = strspn(at, digits);
        if (exponent == 0)
            return NULL;
        at += exponent;
    }
    return at;
}

bool pl_json_read_integer(struct pl_json_reader *reader, int64_t *value)
{
    struct pl_json_reader next = *reader;
    skip_space(&next);
    const char *end = find_number_end(next.at);
    if (end == NULL)
        return false;
    if (strcspn(next.at, ".eE") >= (size_t)(end - next.at)) {
        /* Beyond 64 bits strtoll() gives the nearest that fits, which no range of a setting contains. */
        *value = strtoll(next.at, NULL, 10);
    } else {
        double number = strtod(next.at, NULL);
        if (fabs(number) > 0x1p53 || floor(number) < number)
            return false;
        *value = (int64_t)number;
    }
    reader->at = end;
    return true;
}

static bool read_word(struct pl_json_reader *reader, const char *word)
{
    struct pl_json_reader next = *reader;
    skip_space(&next);
    if (strncmp(next.at, word, strlen(word)) != 0)
        return false;
    reader->at = next.at + strlen(word);
    return true;
}

bool pl_json_read_null(struct pl_json_reader *reader)
{
    return read_word(reader, "null");
}

static bool skip_number(struct pl_json_reader *reader)
{
    struct pl_json_reader next = *reader;
    skip_space(&next);
    const char *end = find_number_end(next.at);
    if (end != NULL)
        reader->at = end;
    return end != NULL;
}

static bool skip_scalar(struct pl_json_reader *reader)
{
    return pl_json_read_string(reader, NULL, 0) || skip_number(reader) || read_word(reader, "true") ||
           read_word(reader, "false") || read_word(reader, "null");
}

/* What is before a value: in an object its key. */
static bool skip_key(struct pl_json_reader *reader, char opening)
{
    return opening == '[' || (pl_json_read_string(reader, NULL, 0) && pl_json_read_mark(reader, ':'));
}

bool pl_json_skip(struct pl_json_reader *reader)
{
    struct pl_json_reader next = *reader;
    char openings[PL_JSON_DEPTH_MAX] = {0};
    size_t depth = 0;
    for (;;) {
        char opening = '\0';
        if (pl_json_read_mark(&next, '{'))
            opening = '{';
        else if (pl_json_read_mark(&next, '['))
            opening = '[';
        if (opening != 0) {
            if (depth == PL_JSON_DEPTH_MAX)
                return false;
            openings[depth++] = opening;
            if (!pl_json_read_mark(&next, opening == '{' ? '}' : ']')) {
                if (!skip_key(&next, opening))
                    return false;
                continue;
            }
            depth--;
        } else if (!skip_scalar(&next)) {
            return false;
        }
        while (depth > 0 && !pl_json_read_mark(&next, ',')) {
            if (!pl_json_read_mark(&next, openings[depth - 1] == '{' ? '}' : ']'))
                return false;
            depth--;
        }
        if (depth == 0) {
            reader->at = next.at;
            return true;
        }
        if (!skip_key(&next, openings[depth - 1]))
            return false;
    }
}

bool pl_json_is_object(const char *text)
{
    struct pl_json_reader reader = {.at = text};
    struct pl_json_reader first = reader;
    return pl_json_read_mark(&first, '{') && pl_json_skip(&reader) && pl_json_at_end(&reader);
}
