/* Command lines for tests of flags. */
#pragma once

#include <string.h>

#define MAX_ARGUMENTS 16

/* Splits at spaces, in place, and puts a program name first. */
static inline int split(char *line, char *argv[MAX_ARGUMENTS])
{
    int argc = 1;
    argv[0] = "try";
    for (char *word = strtok(line, " "); word != NULL && argc < MAX_ARGUMENTS; word = strtok(NULL, " "))
        argv[argc++] = word;
    return argc;
}
