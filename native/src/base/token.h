/* The token of a trial, kept off the command line, where every user of the host could read it. */
#ifndef PL_TOKEN_H
#define PL_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define PL_TOKEN_BYTES 16

/* 32 hexadecimal digits to 16 bytes; false for anything else. */
bool pl_token_parse(const char *text, uint8_t token[PL_TOKEN_BYTES]);
/* Compares in a time that does not depend on where the tokens differ. */
bool pl_token_equal(const uint8_t a[PL_TOKEN_BYTES], const uint8_t b[PL_TOKEN_BYTES]);

/* Whether the value of `--token` is none (""), 32 hexadecimal digits, or "stdin"; else false with `error` set
 * (usage). Never quotes the value. */
bool pl_token_check(const char *text, struct pl_error *error);

/* The token itself: zeros of none, the digits, or of "stdin" the first line there, of which nothing more is
 * read: what follows is the controller's. False with `error` set: the line is no token (usage), or did not
 * come within ten seconds or before the end of file (ended). */
bool pl_token_read(const char *text, uint8_t token[PL_TOKEN_BYTES], struct pl_error *error);

#endif
