/* Sockets to a server on loopback: their address, and TCP_NODELAY as the kernel states it. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapter/harness.h"
#include "adapter/tcp_socket.h"
#include "base/address.h"
#include "check.h"

struct server {
    int fd;
    struct pl_adapter_settings settings;
};

static struct server start_server(void)
{
    struct server server = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct pl_address address;
    CHECK(pl_address_parse("127.0.0.1", 0, "", &address, NULL));
    CHECK(bind(server.fd, (struct sockaddr *)&address.storage, address.length) == 0);
    CHECK(listen(server.fd, 8) == 0);
    CHECK(pl_address_of_socket(server.fd, &address));
    server.settings = (struct pl_adapter_settings){
        .address = "127.0.0.1", .local_address = "", .port = (unsigned)pl_address_port(&address)};
    return server;
}

static void check_failure(const struct pl_adapter_error *error, const char *text)
{
    CHECK_TEXT(error->stage, "connect");
    CHECK(strstr(error->text, text) != NULL);
}

static void test_a_connection_has_no_delay_and_the_local_address(void)
{
    struct server server = start_server();
    struct pl_adapter_error error = {.stage = ""};
    bool no_delay = false;
    server.settings.local_address = "127.0.0.2";
    int fd = pl_adapter_connect_tcp(&server.settings, &error);
    CHECK(fd >= 0 && pl_adapter_has_no_delay(fd));
    CHECK(pl_adapter_inspect_sockets(&server.settings, &no_delay, &error) == 0 && no_delay);
    server.settings.local_address = "127.0.0.3";
    CHECK(pl_adapter_inspect_sockets(&server.settings, &no_delay, &error) == -1);
    check_failure(&error, "does not send from 127.0.0.3");
    close(fd);
    close(server.fd);
}

static void test_one_socket_with_nagle_is_enough(void)
{
    struct server server = start_server();
    struct pl_adapter_error error = {.stage = ""};
    bool no_delay = true;
    int good = pl_adapter_connect_tcp(&server.settings, &error);
    int other = pl_adapter_connect_tcp(&server.settings, &error);
    int off = 0;
    CHECK(setsockopt(other, IPPROTO_TCP, TCP_NODELAY, &off, sizeof off) == 0);
    CHECK(pl_adapter_inspect_sockets(&server.settings, &no_delay, &error) == 0);
    CHECK(!no_delay);
    close(other);
    CHECK(pl_adapter_inspect_sockets(&server.settings, &no_delay, &error) == 0);
    CHECK(no_delay);
    close(good);
    close(server.fd);
}

static void test_a_library_may_use_an_ipv6_socket(void)
{
    struct server server = start_server();
    struct pl_adapter_error error = {.stage = ""};
    bool no_delay = true;
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6,
                                  .sin6_port = htons((uint16_t)server.settings.port)};
    mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
    mapped.sin6_addr.s6_addr[12] = 127;
    mapped.sin6_addr.s6_addr[15] = 1;
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0); /* -1 in a kernel without IPv6 */
    if (fd >= 0) {
        server.settings.local_address = "127.0.0.1";
        CHECK(connect(fd, (struct sockaddr *)&mapped, sizeof mapped) == 0);
        CHECK(pl_adapter_inspect_sockets(&server.settings, &no_delay, &error) == 0);
        CHECK(!no_delay);
        close(fd);
    }
    close(server.fd);
}

static void test_failures_name_their_cause(void)
{
    struct server server = start_server();
    struct pl_adapter_error none = {.stage = ""}, refused = none, local = none, text = none;
    bool no_delay;
    CHECK(pl_adapter_inspect_sockets(&server.settings, &no_delay, &none) == -1);
    check_failure(&none, "no TCP connection to 127.0.0.1 port");
    close(server.fd);
    CHECK(pl_adapter_connect_tcp(&server.settings, &refused) == -1);
    check_failure(&refused, "Connection refused");
    server.settings.local_address = "192.0.2.1";
    CHECK(pl_adapter_connect_tcp(&server.settings, &local) == -1);
    check_failure(&local, "cannot send from 192.0.2.1");
    server.settings.address = "host";
    CHECK(pl_adapter_connect_tcp(&server.settings, &text) == -1);
    check_failure(&text, "'host' is not a numeric address");
}

static void test_an_endpoint_has_brackets_around_ipv6(void)
{
    char text[PL_ADAPTER_ENDPOINT_BYTES];
    pl_adapter_format_endpoint("10.0.0.2", 7000, text);
    CHECK_TEXT(text, "10.0.0.2:7000");
    pl_adapter_format_endpoint("fe80::1%eth0", 65535, text);
    CHECK_TEXT(text, "[fe80::1%eth0]:65535");
}

static void test_a_responder_with_nagle_is_refused(void)
{
    struct server server = start_server();
    struct pl_adapter_error error = {.stage = ""}, refused = {.stage = ""};
    int off = 0, fd = pl_adapter_connect_tcp(&server.settings, &error);
    CHECK(pl_adapter_require_no_delay(&server.settings, &error) == 0);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &off, sizeof off) == 0);
    CHECK(pl_adapter_require_no_delay(&server.settings, &refused) == -1);
    check_failure(&refused, "TCP_NODELAY is off at the responder");
    close(fd);
    close(server.fd);
}

static void test_accepted_connections_are_those_with_the_port(void)
{
    struct server server = start_server(), other = start_server();
    struct pl_adapter_error error = {.stage = ""};
    int on = 1, elsewhere = pl_adapter_connect_tcp(&other.settings, &error);
    CHECK(!pl_adapter_accepts_no_delay(server.settings.port));
    int asking = pl_adapter_connect_tcp(&server.settings, &error);
    int accepted = accept(server.fd, NULL, NULL);
    CHECK(!pl_adapter_accepts_no_delay(server.settings.port));
    CHECK(setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
    int next = pl_adapter_connect_tcp(&server.settings, &error);
    int late = accept(server.fd, NULL, NULL);
    CHECK(pl_adapter_accepts_no_delay(server.settings.port));
    close(late);
    close(next);
    close(accepted);
    close(asking);
    close(elsewhere);
    close(server.fd);
    close(other.fd);
}

int main(void)
{
    test_an_endpoint_has_brackets_around_ipv6();
    test_a_responder_with_nagle_is_refused();
    test_accepted_connections_are_those_with_the_port();
    test_a_connection_has_no_delay_and_the_local_address();
    test_one_socket_with_nagle_is_enough();
    test_a_library_may_use_an_ipv6_socket();
    test_failures_name_their_cause();
    CHECK_RETURN();
}
