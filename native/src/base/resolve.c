#include "base/resolve.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_"

/* The first address that `getent ahosts NAME` prints; empty when there is none. */
static void run_getent(const char *name, char *line, size_t size)
{
    int ends[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    char given[256];
    char *const arguments[] = {"getent", "ahosts", given, NULL};
    line[0] = 0;
    if (snprintf(given, sizeof given, "%s", name) >= (int)sizeof given || pipe(ends) != 0)
        return;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_addclose(&actions, ends[0]);
    bool started = posix_spawnp(&child, "getent", &actions, NULL, arguments, environ) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    size_t length = 0;
    while (started && length + 1 < size) {
        ssize_t count = read(ends[0], line + length, size - 1 - length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        length += (size_t)count;
    }
    line[length] = 0;
    line[strcspn(line, " \t\n")] = 0;
    (void)close(ends[0]);
    while (started && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

bool pl_resolve(const char *text, uint16_t port, const char *flag, struct pl_address *address,
                struct pl_error *error)
{
    char found[256];
    if (strchr(text, ':') != NULL) /* a host name has none */
        return pl_address_parse(text, port, flag, address, error);
    if (pl_address_parse(text, port, flag, address, NULL))
        return true;
    /* Only valid host names are looked up. */
    if (text[0] != 0 && text[0] != '-' && text[strspn(text, NAME_CHARACTERS)] == 0)
        run_getent(text, found, sizeof found);
    else
        found[0] = 0;
    if (found[0] != 0 && pl_address_parse(found, port, flag, address, NULL))
        return true;
    return pl_error_usage(error,
                          "--%s: '%.60s' is neither a numeric address nor a name that getent ahosts resolves",
                          flag, text);
}
