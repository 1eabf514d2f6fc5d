/* The token of a trial. It need not be passed on the command line, which every user of the host can read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define PL_TOKEN_BYTES 16

/* 32 hexadecimal digits to 16 bytes; false for anything else. */
bool pl_token_parse(const char *text, uint8_t token[PL_TOKEN_BYTES]);
/* Compares in a time that does not depend on where the tokens differ. */
bool pl_token_equal(const uint8_t a[PL_TOKEN_BYTES], const uint8_t b[PL_TOKEN_BYTES]);

/* Checks the value of `--token`: none (""), 32 hexadecimal digits, or "stdin". Else false with `error` set
 * (usage), which never quotes the value. */
bool pl_token_check(const char *text, struct pl_error *error);

/* Reads the token: zeros for none, the digits, or for "stdin" the first line of stdin and nothing after it,
 * which belongs to the controller. False with `error` set: the line is no token (usage), or did not arrive
 * within ten seconds or before the end of file (ended). */
bool pl_token_read(const char *text, uint8_t token[PL_TOKEN_BYTES], struct pl_error *error);
