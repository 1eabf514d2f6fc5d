/* `echo`: sends UDP probes back to whoever knows the token, never more than came. */
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "events.h"
#include "json.h"
#include "options.h"
#include "program.h"
#include "subcommands.h"
#include "wire.h"

#define DATAGRAM_BYTES 65536
#define ANSWERS_PER_TURN 256

struct echo {
    const char *bind;
    const char *token_text;
    const char *control;
    int64_t port;
    uint8_t token[PL_TOKEN_BYTES];
    int fd;
    uint64_t echoed, refused;
    uint8_t datagram[DATAGRAM_BYTES];
};

static enum pl_options_outcome parse(struct echo *echo, int argc, char **argv, struct pl_error *error)
{
    const struct pl_option table[] = {
        {.name = "bind", .kind = PL_OPTION_STRING, .target = &echo->bind, .help = "own numeric address"},
        {.name = "port",
         .kind = PL_OPTION_INT64,
         .target = &echo->port,
         .maximum = 65535,
         .help = "port; 0: any"},
        {.name = "token",
         .kind = PL_OPTION_STRING,
         .target = &echo->token_text,
         .required = true,
         .help = "token that a probe begins with, 32 hexadecimal digits"},
        {.name = "control",
         .kind = PL_OPTION_STRING,
         .target = &echo->control,
         .help = "stdin: read the command stop from there"},
    };
    const struct pl_options options = {
        .subcommand = "echo",
        .about = "Answers the UDP probes of `pathlab-engine ping --method udp`.",
        .table = table,
        .count = sizeof table / sizeof table[0],
    };
    enum pl_options_outcome outcome = pl_options_parse(&options, argc, argv, error);
    if (outcome == PL_OPTIONS_OK && !pl_token_parse(echo->token_text, echo->token)) {
        pl_error_set(error, PL_USAGE, "options", 0, "--token must be 32 hexadecimal digits");
        return PL_OPTIONS_WRONG;
    }
    return outcome;
}

static bool open_socket(struct echo *echo, struct pl_address *own, struct pl_error *error)
{
    struct pl_address address;
    if (!pl_address_parse(echo->bind, (uint16_t)echo->port, "bind", &address, error))
        return false;
    echo->fd = socket(pl_address_family(&address), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
    if (echo->fd < 0) {
        pl_error_set(error, PL_SETUP, "socket", errno, "cannot open a UDP socket");
        return false;
    }
    if (bind(echo->fd, (const struct sockaddr *)&address.storage, address.length) != 0) {
        pl_error_set(error, PL_SETUP, "bind", errno,
                     errno == EADDRINUSE ? "port %lld of %.64s is already taken"
                                         : "cannot use port %lld of %.64s",
                     (long long)echo->port, echo->bind);
        return false;
    }
    return pl_address_of_socket(echo->fd, own);
}

static void answer_some(struct echo *echo)
{
    for (int i = 0; i < ANSWERS_PER_TURN; i++) {
        struct sockaddr_storage from;
        socklen_t length = sizeof from;
        ssize_t count = recvfrom(echo->fd, echo->datagram, sizeof echo->datagram, MSG_DONTWAIT,
                                 (struct sockaddr *)&from, &length);
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (count < 0)
            continue; /* the ICMP error of an earlier answer */
        if (count < PL_TOKEN_BYTES || !pl_token_equal(echo->datagram, echo->token))
            echo->refused++;
        else if (sendto(echo->fd, echo->datagram, (size_t)count, MSG_DONTWAIT | MSG_NOSIGNAL,
                        (const struct sockaddr *)&from, length) == count)
            echo->echoed++;
    }
}

static bool write_listening(const struct pl_address *own)
{
    struct pl_json j = {0};
    char text[PL_ADDRESS_TEXT_BYTES];
    pl_address_text(own, text);
    pl_json_begin_object(&j, NULL);
    pl_json_string(&j, "type", "listening");
    pl_json_string(&j, "address", text);
    pl_json_i64(&j, "port", pl_address_port(own));
    pl_json_end_object(&j);
    bool written = pl_json_flush_line(&j);
    pl_json_release(&j);
    return written;
}

static bool write_result(const struct echo *echo, const char *reason)
{
    struct pl_json j = {0};
    pl_json_begin_object(&j, NULL);
    pl_json_string(&j, "type", "result");
    pl_json_bool(&j, "complete", reason == NULL);
    pl_json_string(&j, "reason", reason);
    pl_json_u64(&j, "echoed", echo->echoed);
    pl_json_u64(&j, "refused", echo->refused);
    pl_json_end_object(&j);
    bool written = pl_json_flush_line(&j);
    pl_json_release(&j);
    return written;
}

static int answer_all(struct echo *echo, struct pl_events *events, const struct pl_address *own)
{
    if (!write_listening(own))
        return PL_RESOURCES;
    struct pl_wait wait = {.deadline_ns = PL_NEVER, .fds = {echo->fd, -1}};
    for (;;) {
        enum pl_command command = pl_events_wait(events, &wait);
        answer_some(echo);
        if (!pl_command_ends(command))
            continue;
        const char *reason = command == PL_COMMAND_STOP ? NULL : pl_command_reason(command);
        if (!write_result(echo, reason))
            return PL_RESOURCES;
        return reason == NULL ? PL_OK : PL_ENDED;
    }
}

int pl_echo_main(int argc, char **argv)
{
    struct pl_error error = {0};
    struct pl_address own;
    struct echo echo = {.bind = "0.0.0.0", .token_text = "", .control = "", .fd = -1};
    switch (parse(&echo, argc, argv, &error)) {
    case PL_OPTIONS_HELP:
        return PL_OK;
    case PL_OPTIONS_WRONG:
        return pl_error_report(&error, "echo");
    case PL_OPTIONS_OK:
        break;
    }
    if (!pl_program_hello("echo"))
        return PL_RESOURCES;
    struct pl_events *events = pl_events_open(echo.control, &error);
    int status = events != NULL && open_socket(&echo, &own, &error) ? answer_all(&echo, events, &own)
                                                                    : pl_error_report(&error, "echo");
    pl_events_close(events);
    if (echo.fd >= 0)
        (void)close(echo.fd);
    return status;
}
