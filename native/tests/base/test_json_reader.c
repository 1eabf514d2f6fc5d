/* JSON in memory: strings, integers, what is no JSON, and how deep. */
#include "base/json_reader.h"
#include "check.h"

static void check_string(const char *json, const char *text)
{
    char got[64] = "before";
    struct pl_json_reader reader = {.at = json};
    bool read = pl_json_read_string(&reader, got, sizeof got);
    CHECK_EQUAL(read, text != NULL);
    CHECK_TEXT(got[0] != 0 && text == NULL ? "" : got, text == NULL ? "" : text);
    CHECK(read || reader.at == json); /* what failed was not read */
}

static void check_strings(void)
{
    check_string(" \"plain\"", "plain");
    check_string("\"\"", "");
    check_string("\"a\\\"b\\\\c\\/d\\n\\t\\u00e9\"", "a\"b\\c/d\n\t\xc3\xa9");
    check_string("\"\\u20ac\\ud83d\\ude00\"", "\xe2\x82\xac\xf0\x9f\x98\x80");
    static const char *const wrong[] = {"plain",
                                        "\"open",
                                        "\"\\x\"",
                                        "\"\\u12\"",
                                        "\"\\ud800\"",
                                        "\"\\ud800\\u0041\"",
                                        "\"\\udc00\"",
                                        "\"\\u0000\"",
                                        "\"a\nb\"",
                                        "\"\\",
                                        "",
                                        "null",
                                        "'a'"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        check_string(wrong[i], NULL);
    char small[4];
    struct pl_json_reader reader = {.at = "\"abc\""};
    CHECK(pl_json_read_string(&reader, small, sizeof small));
    reader.at = "\"abcd\"";
    CHECK(!pl_json_read_string(&reader, small, sizeof small));
}

static void check_integers(void)
{
    static const struct {
        const char *json;
        int64_t value;
    } right[] = {{"0", 0},
                 {" -17", -17},
                 {"5000.0", 5000},
                 {"2e9", 2000000000},
                 {"1.5E3", 1500},
                 {"9223372036854775807", INT64_MAX},
                 {"99999999999999999999", INT64_MAX}};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        struct pl_json_reader reader = {.at = right[i].json};
        int64_t value = 0;
        CHECK(pl_json_read_integer(&reader, &value));
        CHECK_EQUAL(value, right[i].value);
        CHECK(pl_json_at_end(&reader));
    }
    static const char *const wrong[] = {"",      "x",  "01",   "-",  "1.",   "1e", "0.5",
                                        "1e300", "+1", "0x10", ".5", "true", "NaN"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct pl_json_reader reader = {.at = wrong[i]};
        int64_t value = 42;
        bool read = pl_json_read_integer(&reader, &value);
        CHECK(!read || !pl_json_at_end(&reader)); /* "0x10" begins with a 0 */
    }
}

static void check_objects(void)
{
    static const char *const right[] = {"{}", " {\"a\": [1, 2, {\"b\": null}], \"c\": \"d\", \"e\": true} ",
                                        "{\"no_delay\":true,\"bytes\":65536.5e-3}"};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++)
        CHECK(pl_json_is_object(right[i]));
    static const char *const wrong[] = {"",
                                        "[]",
                                        "1",
                                        "{",
                                        "{}}",
                                        "{}{}",
                                        "{\"a\"}",
                                        "{\"a\":}",
                                        "{\"a\":1,}",
                                        "{a:1}",
                                        "{\"a\":[1,]}",
                                        "{\"a\":[1}",
                                        "{\"a\":tru}",
                                        "{\"a\" 1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!pl_json_is_object(wrong[i]));
    char deep[2 * PL_JSON_DEPTH_MAX + 16];
    for (int extra = 0; extra < 2; extra++) {
        size_t depth = PL_JSON_DEPTH_MAX - 1 + (size_t)extra; /* with the object's own */
        memset(deep, 0, sizeof deep);
        memcpy(deep, "{\"a\":", 5);
        memset(deep + 5, '[', depth);
        memset(deep + 5 + depth, ']', depth);
        deep[5 + 2 * depth] = '}';
        CHECK_EQUAL(pl_json_is_object(deep), extra == 0);
    }
}

int main(void)
{
    check_strings();
    check_integers();
    check_objects();
    CHECK_RETURN();
}
