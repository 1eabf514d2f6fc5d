/* Runs a fuzz target over every file of the given folders, each in its own process, so that all findings are
 * named. Status 1 after a finding, or for a folder without a file. */
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "property.h"

enum { MAX_BYTES = 1 << 20, MAX_SECONDS = 60 };

/* The file's bytes, in a block of exactly that size so that the sanitizers see a read beyond it; NULL when
 * the file cannot be read. The caller frees. */
static uint8_t *load_input(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *room = malloc(MAX_BYTES);
    uint8_t *input = NULL;
    if (file != NULL && room != NULL) {
        *size = fread(room, 1, MAX_BYTES, file);
        if (ferror(file) == 0 && feof(file) != 0)
            input = realloc(room, *size > 0 ? *size : 1);
    }
    if (input == NULL)
        free(room);
    if (file != NULL)
        (void)fclose(file);
    return input;
}

/* Does not return. exit() reports leaks. */
static void run_input(const char *path)
{
    size_t size = 0;
    uint8_t *input = load_input(path, &size);
    if (input == NULL) {
        (void)fprintf(stderr, "%s: cannot be read, or is larger than 1 MiB\n", path);
        exit(EXIT_FAILURE);
    }
    (void)alarm(MAX_SECONDS);
    (void)LLVMFuzzerTestOneInput(input, size);
    free(input);
    exit(EXIT_SUCCESS);
}

static bool replay_input(const char *program, const char *path)
{
    (void)fflush(NULL);
    pid_t child = fork();
    int status = -1;
    if (child == 0)
        run_input(path);
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    (void)fprintf(stderr, "%s: finding with %s (%s %d)\n", program, path,
                  WIFSIGNALED(status) ? "signal" : "exit status",
                  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return false;
}

static bool replay_folder(const char *program, const char *folder)
{
    struct dirent **entries = NULL;
    int found = scandir(folder, &entries, NULL, alphasort);
    int inputs = 0;
    int findings = 0;
    for (int i = 0; i < found; i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && length < (int)sizeof path) {
            inputs++;
            findings += replay_input(program, path) ? 0 : 1;
        }
        free(entries[i]);
    }
    free(entries);
    if (inputs == 0)
        (void)fprintf(stderr, "%s: %s: no inputs there\n", program, folder);
    else
        (void)printf("%s: %d inputs, %d findings\n", program, inputs, findings);
    return inputs > 0 && findings == 0;
}

int main(int argc, char **argv)
{
    bool sound = argc > 1;
    const char *slash = strrchr(argv[0], '/');
    const char *program = slash != NULL ? slash + 1 : argv[0];
    if (argc < 2)
        (void)fprintf(stderr, "usage: %s FOLDER ...\n", program);
    for (int i = 1; i < argc; i++)
        sound = replay_folder(program, argv[i]) && sound;
    return sound ? EXIT_SUCCESS : EXIT_FAILURE;
}
