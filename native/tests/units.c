/* All native tests as one program: every test's main() has the name of its file. Arguments name tests to
 * leave out. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define UNIT(name) int name(void);
#include "units.def"
#undef UNIT

static const struct unit {
    const char *name;
    int (*run)(void);
} UNITS[] = {
#define UNIT(name) {#name, name},
#include "units.def"
};

static bool is_named(const char *name, char **names)
{
    while (*names != NULL)
        if (strcmp(name, *names++) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    int status = EXIT_SUCCESS;
    (void)argc;
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
        if (!is_named(UNITS[i].name, argv + 1) && UNITS[i].run() != EXIT_SUCCESS)
            status = EXIT_FAILURE;
    return status;
}
