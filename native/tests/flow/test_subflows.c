/* Subflows of MPTCP: both ways to read them, what a plain connection has, and the record. */
#include "flow/subflows.h"

#include <netinet/in.h>
#include <unistd.h>

#include "check.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

struct pair {
    int listener;
    int connected;
    int accepted;
};

/* 100 bytes have been carried; `connected` -1 where the kernel lacks the protocol. */
static struct pair connect_pair(int protocol)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    struct pair pair = {.listener = socket(AF_INET, SOCK_STREAM, protocol),
                        .connected = socket(AF_INET, SOCK_STREAM, protocol),
                        .accepted = -1};
    if (pair.listener < 0 || pair.connected < 0)
        return pair;
    CHECK_EQUAL(bind(pair.listener, (const struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQUAL(listen(pair.listener, 1), 0);
    CHECK_EQUAL(getsockname(pair.listener, (struct sockaddr *)&address, &length), 0);
    CHECK_EQUAL(connect(pair.connected, (const struct sockaddr *)&address, length), 0);
    pair.accepted = accept(pair.listener, NULL, NULL);
    char scratch[100] = {0};
    CHECK_EQUAL(send(pair.connected, scratch, sizeof scratch, 0), sizeof scratch);
    CHECK_EQUAL(recv(pair.accepted, scratch, sizeof scratch, MSG_WAITALL), sizeof scratch);
    return pair;
}

static void close_pair(const struct pair *pair)
{
    (void)close(pair->accepted);
    (void)close(pair->connected);
    (void)close(pair->listener);
}

static uint64_t find(const struct pl_subflow *subflow, const char *name)
{
    uint64_t value = UINT64_MAX;
    CHECK(pl_tcp_info_find(&subflow->info, name, &value));
    return value;
}

static void check_plain_tcp(void)
{
    struct pair pair = connect_pair(IPPROTO_TCP);
    static struct pl_subflows subflows;
    subflows = (struct pl_subflows){.known = true, .count = 3};
    pl_subflows_read(pair.connected, &subflows);
    CHECK(!subflows.known);
    CHECK_EQUAL(subflows.count, 0);
    pl_subflows_read(-1, &subflows);
    CHECK(!subflows.known);
    struct pl_json j = {0};
    pl_json_begin_object(&j, NULL);
    pl_subflows_write(&j, "subflows", &subflows, 1);
    pl_json_end_object(&j);
    j.data[j.length] = '\0';
    CHECK_TEXT(j.data, "{\"subflows\":null}");
    pl_json_release(&j);
    close_pair(&pair);
}

static void check_record(const struct pl_subflows *streams)
{
    struct pl_json j = {0};
    pl_json_begin_object(&j, NULL);
    pl_subflows_write(&j, "subflows", streams, 2);
    pl_json_end_object(&j);
    j.data[j.length] = '\0';
    static const char begin[] = "{\"subflows\":[{\"stream\":1,\"id\":";
    CHECK_EQUAL(strncmp(j.data, begin, sizeof begin - 1), 0);
    CHECK(strstr(j.data, "\"local\":\"127.0.0.1\",\"local_port\":") != NULL);
    CHECK(strstr(j.data, "\"bytes_retrans\":0,") != NULL);
    pl_json_release(&j);
}

static void check_mptcp(void)
{
    struct pair pair = connect_pair(IPPROTO_MPTCP);
    static struct pl_subflows streams[2];
    static struct pl_subflows parts;
    if (pair.accepted >= 0)
        pl_subflows_read(pair.connected, &streams[1]);
    if (streams[1].known) { /* else a kernel without MPTCP, or before 5.16 */
        struct pl_address local;
        struct pl_address remote;
        const struct pl_subflow *first = &streams[1].list[0];
        CHECK_EQUAL(streams[1].count, 1);
        CHECK(pl_address_of_socket(pair.connected, &local) && pl_address_equal(&first->local, &local));
        CHECK(pl_address_of_peer(pair.connected, &remote) && pl_address_equal(&first->remote, &remote));
        CHECK_EQUAL(find(first, "bytes_sent"), 100);
        CHECK_EQUAL(find(first, "rcv_ooopack_segments"), 0);
        pl_subflows_read_parts(pair.connected, &parts);
        CHECK(parts.known);
        CHECK_EQUAL(parts.count, 1);
        CHECK_EQUAL(parts.list[0].id, -1);
        CHECK(pl_address_equal(&parts.list[0].local, &local));
        CHECK(pl_address_equal(&parts.list[0].remote, &remote));
        CHECK_EQUAL(find(&parts.list[0], "bytes_sent"), 100);
        check_record(streams);
    }
    close_pair(&pair);
}

int main(void)
{
    check_plain_tcp();
    check_mptcp();
    CHECK_RETURN();
}
