/* The writer of records: structure, escaping, ill-formed UTF-8, growth, and an output that is gone. */
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "base/json.h"
#include "check.h"

/* The written text, as a string owned by the writer. */
static const char *written(struct pl_json *j)
{
    CHECK(!j->failed);
    CHECK(j->length < j->capacity);
    j->data[j->length] = 0;
    return j->data;
}

static void check_structure(void)
{
    struct pl_json j = {0};
    pl_json_begin_object(&j, NULL);
    pl_json_string(&j, "type", "try");
    pl_json_begin_array(&j, "numbers");
    pl_json_i64(&j, NULL, INT64_MIN);
    pl_json_u64(&j, NULL, UINT64_MAX);
    pl_json_null(&j, NULL);
    pl_json_end_array(&j);
    pl_json_begin_array(&j, "empty");
    pl_json_end_array(&j);
    pl_json_begin_object(&j, "inner");
    pl_json_end_object(&j);
    pl_json_bool(&j, "yes", true);
    pl_json_bool(&j, "no", false);
    pl_json_string(&j, "none", NULL);
    /* A text that ends like an opening bracket must not swallow the comma after it. */
    pl_json_string(&j, "open[", "{");
    pl_json_i64(&j, "last", 0);
    pl_json_end_object(&j);
    CHECK_TEXT(written(&j), "{\"type\":\"try\",\"numbers\":[-9223372036854775808,18446744073709551615,null],"
                            "\"empty\":[],\"inner\":{},\"yes\":true,\"no\":false,\"none\":null,"
                            "\"open[\":\"{\",\"last\":0}");
    pl_json_release(&j);
    CHECK(j.data == NULL && j.length == 0 && j.capacity == 0);
}

static void check_string(const char *text, const char *want)
{
    struct pl_json j = {0};
    pl_json_string(&j, NULL, text);
    CHECK_TEXT(written(&j), want);
    pl_json_release(&j);
}

static void check_escaping(void)
{
    check_string("", "\"\"");
    check_string("a\"b\\c/", "\"a\\\"b\\\\c/\"");
    check_string("\x01\x1f\n\t\r\x7f", "\"\\u0001\\u001f\\u000a\\u0009\\u000d\\u007f\"");
    struct pl_json j = {0};
    pl_json_begin_object(&j, NULL);
    pl_json_null(&j, "a\"\n");
    pl_json_end_object(&j);
    CHECK_TEXT(written(&j), "{\"a\\\"\\u000a\":null}");
    pl_json_release(&j);
}

#define BAD "\\ufffd"

static void check_utf8(void)
{
    check_string("\xC2\x80 \xDF\xBF", "\"\xC2\x80 \xDF\xBF\"");
    check_string("\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF",
                 "\"\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\"");
    check_string("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", "\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\"");

    check_string("a\xFF"
                 "b",
                 "\"a" BAD "b\"");
    check_string("\x80", "\"" BAD "\"");
    check_string("\xC0\xAF", "\"" BAD BAD "\"");                 /* over-long */
    check_string("\xE0\x9F\xBF", "\"" BAD BAD BAD "\"");         /* over-long */
    check_string("\xED\xA0\x80", "\"" BAD BAD BAD "\"");         /* surrogate */
    check_string("\xF4\x90\x80\x80", "\"" BAD BAD BAD BAD "\""); /* beyond U+10FFFF */
    check_string("\xF5\x80", "\"" BAD BAD "\"");
    /* Truncated sequences: nothing is read beyond the end, and the text after a bad byte is kept. */
    check_string("\xC3", "\"" BAD "\"");
    check_string("\xE2\x82", "\"" BAD BAD "\"");
    check_string("\xF0\x9F\x98", "\"" BAD BAD BAD "\"");
    check_string("\xE2\x82\"", "\"" BAD BAD "\\\"\"");
}

static void check_doubles(void)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.1, "0.1"},       {-2.5, "-2.5"}, {0.1 + 0.2, "0.30000000000000004"},
                 {1e300, "1e+300"},  {NAN, "null"},  {INFINITY, "null"},
                 {-INFINITY, "null"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pl_json j = {0};
        pl_json_double(&j, NULL, cases[i].value);
        CHECK_TEXT(written(&j), cases[i].text);
        pl_json_release(&j);
    }
}

static void check_growth(void)
{
    enum { COUNT = 50000 };
    struct pl_json j = {0};
    pl_json_begin_array(&j, NULL);
    for (int i = 0; i < COUNT; i++)
        pl_json_i64(&j, NULL, 10000 + i);
    pl_json_end_array(&j);
    CHECK_EQUAL(j.length, 2 + 6 * COUNT - 1); /* five digits and a comma each, the last without a comma */
    const char *text = written(&j);
    bool right = true;
    for (int i = 0; i < COUNT; i++)
        right = right && atoi(text + 1 + 6 * (ptrdiff_t)i) == 10000 + i;
    CHECK(right);

    /* One piece that is larger than several doublings. */
    enum { LONG = 100000 };
    char *long_text = malloc(LONG + 1);
    CHECK(long_text != NULL);
    memset(long_text, 'x', LONG);
    long_text[LONG] = 0;
    struct pl_json k = {0};
    pl_json_string(&k, NULL, long_text);
    CHECK_EQUAL(k.length, LONG + 2);
    CHECK_EQUAL(k.data[0], '"');
    CHECK_EQUAL(strncmp(k.data + 1, long_text, LONG), 0);
    CHECK_EQUAL(k.data[LONG + 1], '"');
    free(long_text);
    pl_json_release(&j);
    pl_json_release(&k);
}

/* Stdout is a pipe meanwhile; it is restored before any check. */
static void check_flush(void)
{
    int ends[2];
    int kept = dup(STDOUT_FILENO);
    (void)fflush(stdout);
    CHECK(kept >= 0 && pipe(ends) == 0 && dup2(ends[1], STDOUT_FILENO) >= 0);
    struct pl_json j = {0};
    pl_json_i64(&j, NULL, 1);
    bool first = pl_json_flush_line(&j);
    size_t emptied = j.length;
    size_t capacity = j.capacity;
    pl_json_i64(&j, NULL, 2); /* the next line begins without a comma */
    bool second = pl_json_flush_line(&j);
    char got[16] = "";
    ssize_t count = read(ends[0], got, sizeof got - 1);
    (void)close(ends[0]);
    pl_json_i64(&j, NULL, 3);
    bool third = pl_json_flush_line(&j); /* the reader is gone */
    (void)dup2(kept, STDOUT_FILENO);
    (void)close(ends[1]);
    (void)close(kept);
    CHECK(first && second && !third);
    CHECK_EQUAL(emptied, 0);
    CHECK(capacity > 0);
    CHECK_EQUAL(count, 4);
    CHECK_TEXT(got, "1\n2\n");
    pl_json_release(&j);
}

/* The vectors of RFC 4648, section 10, each also written in two pieces. */
static void check_base64(void)
{
    static const char *const vectors[][2] = {{"", ""},
                                             {"f", "Zg=="},
                                             {"fo", "Zm8="},
                                             {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="},
                                             {"foobar", "Zm9vYmFy"},
                                             {"\xFB\xFF\xFE", "+//+"}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const uint8_t *bytes = (const uint8_t *)vectors[i][0];
        size_t length = strlen(vectors[i][0]);
        for (size_t cut = 0; cut <= length; cut++) {
            char want[32];
            struct pl_json j = {0};
            pl_json_begin_base64(&j, NULL);
            pl_json_base64(&j, bytes, cut);
            pl_json_base64(&j, bytes + cut, length - cut);
            pl_json_end_base64(&j);
            (void)snprintf(want, sizeof want, "\"%s\"", vectors[i][1]);
            CHECK_EQUAL(j.length, strlen(want));
            CHECK_EQUAL(strncmp(j.data, want, j.length), 0);
            pl_json_release(&j);
        }
    }
}

static void check_failed(void)
{
    struct pl_json j = {.failed = true}; /* as after an allocation failure */
    pl_json_begin_object(&j, NULL);
    pl_json_string(&j, "key", "value");
    pl_json_end_object(&j);
    CHECK_EQUAL(j.length, 0);
    CHECK(!pl_json_flush_line(&j));
    pl_json_release(&j);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    check_structure();
    check_escaping();
    check_utf8();
    check_doubles();
    check_growth();
    check_flush();
    check_base64();
    check_failed();
    CHECK_RETURN();
}
