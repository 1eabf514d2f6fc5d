/* The token from stdin: only its line is read, and an invalid token is not quoted. */
#include <unistd.h>

#include "base/token.h"
#include "check.h"

#define DIGITS "00112233445566778899aAbBcCdDeEfF"

static const uint8_t golden[PL_TOKEN_BYTES] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                               0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF};

/* Makes `text` the whole content of stdin. */
static void feed(const char *text)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], text, strlen(text)) == (ssize_t)strlen(text));
    CHECK(close(ends[1]) == 0);
    CHECK(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
    CHECK(close(ends[0]) == 0);
}

static void check_taken(const char *input, const char *rest)
{
    uint8_t token[PL_TOKEN_BYTES];
    char left[64] = "";
    struct pl_error error = {0};
    feed(input);
    CHECK(pl_token_read("stdin", token, &error));
    CHECK_EQUAL(error.status, PL_OK);
    CHECK(memcmp(token, golden, sizeof token) == 0);
    ssize_t count = read(STDIN_FILENO, left, sizeof left - 1);
    CHECK_EQUAL(count, strlen(rest));
    CHECK_TEXT(left, rest);
}

static void check_refused(const char *input, enum pl_status status, const char *words)
{
    uint8_t token[PL_TOKEN_BYTES];
    struct pl_error error = {0};
    feed(input);
    CHECK(!pl_token_read("stdin", token, &error));
    CHECK_EQUAL(error.status, status);
    CHECK(strstr(error.text, words) != NULL);
    CHECK(strstr(error.text, "0011") == NULL);
}

static void check_flag(void)
{
    struct pl_error error = {0};
    uint8_t token[PL_TOKEN_BYTES];
    static const uint8_t none[PL_TOKEN_BYTES];
    CHECK(pl_token_check("", &error));
    CHECK(pl_token_check("stdin", &error));
    CHECK(pl_token_check(DIGITS, &error));
    CHECK(pl_token_read(DIGITS, token, &error) && memcmp(token, golden, sizeof token) == 0);
    CHECK(pl_token_read("", token, &error) && memcmp(token, none, sizeof token) == 0);
    CHECK_EQUAL(error.status, PL_OK);
    CHECK(!pl_token_check("0011", &error));
    CHECK_EQUAL(error.status, PL_USAGE);
    CHECK(strstr(error.text, "0011") == NULL);
}

static void check_token_parsing(void)
{
    uint8_t token[PL_TOKEN_BYTES];
    memset(token, 0xA5, sizeof token);
    CHECK(pl_token_parse(DIGITS, token));
    CHECK(memcmp(token, golden, sizeof token) == 0);

    static const char *const wrong[] = {
        NULL,
        "",
        "00112233445566778899aabbccddeef",   /* a digit short */
        "00112233445566778899aabbccddeeff0", /* a digit more */
        "0x112233445566778899aabbccddeeff",  /* not a digit */
        "00112233445566778899aabbccddeefg",
        "00112233445566778899aabbccddeef ",
        " 0112233445566778899aabbccddeeff",
        "+0112233445566778899aabbccddeeff",
        "00112233445566778899aabbccddee\xFF\xFF",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!pl_token_parse(wrong[i], token));
}

/* A difference in any single bit is found. */
static void check_token_equality(void)
{
    uint8_t a[PL_TOKEN_BYTES];
    uint8_t b[PL_TOKEN_BYTES];
    CHECK(pl_token_parse(DIGITS, a));
    memcpy(b, a, sizeof b);
    CHECK(pl_token_equal(a, b));
    CHECK(pl_token_equal(a, a));
    for (unsigned bit = 0; bit < 8 * PL_TOKEN_BYTES; bit++) {
        b[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(!pl_token_equal(a, b));
        CHECK(!pl_token_equal(b, a));
        b[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    /* Two differences that cancel under addition or exclusive or. */
    b[0] ^= 0x80;
    b[15] ^= 0x80;
    CHECK(!pl_token_equal(a, b));
    const uint8_t none[PL_TOKEN_BYTES] = {0};
    uint8_t all[PL_TOKEN_BYTES];
    memset(all, 0xFF, sizeof all);
    CHECK(!pl_token_equal(none, all));
}

int main(void)
{
    check_token_parsing();
    check_token_equality();
    check_flag();
    check_taken(DIGITS "\n", "");
    check_taken(DIGITS "\r\ngo\n", "go\n");
    check_taken(DIGITS "\ngo\nstop\n", "go\nstop\n");
    check_refused("", PL_ENDED, "stdin ended");
    check_refused(DIGITS, PL_ENDED, "stdin ended");
    check_refused("\n", PL_USAGE, "32 hexadecimal digits");
    check_refused("go\n", PL_USAGE, "32 hexadecimal digits");
    check_refused(DIGITS "0\n", PL_USAGE, "32 hexadecimal digits");
    check_refused(DIGITS "00112233445566\n", PL_USAGE, "32 hexadecimal digits");
    check_refused("x" DIGITS "\n", PL_USAGE, "32 hexadecimal digits");
    CHECK_RETURN();
}
