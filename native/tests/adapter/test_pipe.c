/* Replies of a program behind a pipe, complete and in parts, and a program that is asked. */
#include <stdlib.h>

#include "adapter/pipe.h"
#include "base/bytes.h"
#include "check.h"

enum { BYTES = 8 };

static void check_decoding(void)
{
    uint8_t data[PL_PIPE_PREFIX_BYTES + BYTES + 1] = {0};
    pl_put32(data, BYTES);
    const uint8_t *reply = NULL;
    struct pl_adapter_error error = {0};
    for (size_t have = 0; have < PL_PIPE_PREFIX_BYTES + BYTES; have++)
        CHECK_EQUAL(pl_pipe_decode(data, have, BYTES, &reply, &error), 0);
    CHECK_EQUAL(pl_pipe_decode(data, PL_PIPE_PREFIX_BYTES + BYTES, BYTES, &reply, &error), 1);
    CHECK(reply == data + PL_PIPE_PREFIX_BYTES);
    CHECK_EQUAL(pl_pipe_decode(data, PL_PIPE_PREFIX_BYTES + BYTES + 1, BYTES, &reply, &error), -1);
    CHECK_TEXT(error.text, "1 bytes behind the reply");
}

static void check_lengths(void)
{
    uint8_t data[PL_PIPE_PREFIX_BYTES + BYTES] = {0};
    const uint8_t *reply = NULL;
    struct pl_adapter_error error = {0};
    CHECK_EQUAL(pl_pipe_decode(data, PL_PIPE_PREFIX_BYTES, 0, &reply, &error), 1); /* the null request */
    pl_put32(data, BYTES);
    CHECK_EQUAL(pl_pipe_decode(data, sizeof data, 0, &reply, &error), -1);
    CHECK_TEXT(error.stage, "contract");
    error = (struct pl_adapter_error){0};
    CHECK_EQUAL(pl_pipe_decode(data, PL_PIPE_PREFIX_BYTES, BYTES + 1, &reply, &error), -1);
    CHECK_TEXT(error.stage, "reply");
    CHECK_TEXT(error.text, "a reply of length 8, expected 9");
}

/* cat returns whatever it is asked, also of the largest size. */
static void check_program(void)
{
    static char *const words[] = {"cat", NULL};
    static uint8_t request[PL_ADAPTER_BYTES_MAX];
    const struct pl_adapter_settings settings = {.streams = 1, .bytes = sizeof request};
    struct pl_adapter_error error = {0};
    pl_fill_incompressible(request, sizeof request);
    pl_pipe_set_command(words);
    void *client = pl_pipe_adapter.connect(&settings, &error);
    CHECK(client != NULL);
    if (client == NULL)
        return;
    const uint8_t *reply = NULL;
    size_t reply_bytes = 0;
    CHECK_EQUAL(pl_pipe_adapter.ask(client, request, sizeof request, &reply, &reply_bytes, &error), 0);
    CHECK_EQUAL(reply_bytes, sizeof request);
    CHECK(reply != NULL && memcmp(reply, request, sizeof request) == 0);
    double hop_ns = -1;
    CHECK_EQUAL(pl_pipe_extras.measure_hop(client, &hop_ns, &error), 0);
    CHECK(hop_ns > 100);
    pl_ns user_ns = 0;
    pl_ns system_ns = 0;
    pl_pipe_extras.add_usage(client, &user_ns, &system_ns);
    CHECK(user_ns >= 0 && system_ns >= 0 && user_ns + system_ns > 0);
    pl_pipe_adapter.close(client);
}

static void check_no_program(void)
{
    static char *const words[] = {"/no/such/program", NULL};
    const struct pl_adapter_settings settings = {.streams = 1, .bytes = BYTES};
    struct pl_adapter_error error = {0};
    pl_pipe_set_command(words);
    CHECK(pl_pipe_adapter.connect(&settings, &error) == NULL);
    CHECK_TEXT(error.stage, "start");
    CHECK_TEXT(error.text, "'/no/such/program' does not start: No such file or directory");
}

int main(void)
{
    check_decoding();
    check_lengths();
    check_program();
    check_no_program();
    CHECK_RETURN();
}
