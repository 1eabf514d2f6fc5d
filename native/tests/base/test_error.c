/* An error's text contains no control characters, whatever it quotes, and never overflows. */
#include <errno.h>

#include "base/error.h"
#include "check.h"

static void check_escaped(const char *text, const char *want)
{
    char out[64];
    pl_error_escape(text, out, sizeof out);
    CHECK_TEXT(out, want);
}

int main(void)
{
    check_escaped("", "");
    check_escaped("plain 'text' ~", "plain 'text' ~");
    check_escaped("\033]0;x\a\r\n\177", "\\x1b]0;x\\x07\\x0d\\x0a\\x7f");
    check_escaped("\233m\302\233", "\\x9bm\\xc2\\x9b");

    char small[6];
    pl_error_escape("ab\033cd", small, sizeof small);
    CHECK_TEXT(small, "ab"); /* an escape is complete or absent */
    pl_error_escape("abcdefgh", small, sizeof small);
    CHECK_TEXT(small, "abcde");

    struct pl_error error = {0};
    pl_error_set(&error, PL_SETUP, "socket", ENODEV, "--device %s cannot be used", "e\033[31m");
    CHECK_TEXT(error.text, "--device e\\x1b[31m cannot be used: No such device");
    CHECK_RETURN();
}
