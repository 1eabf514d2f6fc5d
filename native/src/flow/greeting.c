#include "flow/greeting.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/events.h"
#include "base/message.h"
#include "base/program.h"
#include "base/wire.h"

#define NOBODY UINT32_MAX
#define ACCEPTS_PER_TURN 64

/* A connection whose hello is not whole yet. All have the same time, so the list by age is the list by
 * deadline: the head is the oldest. A free guest has fd -1 and is linked by `next` alone. */
struct guest {
    int fd;
    uint32_t previous;
    uint32_t next;
    uint32_t got;
    pl_ns deadline_ns;
    uint8_t bytes[PL_HELLO_BYTES];
};

struct pl_door {
    struct pl_flow *flow;
    struct pl_stream *streams;
    int listen_fd;
    int epoll_fd;
    uint32_t admitted;
    uint64_t rejected;
    struct guest *guests;
    uint32_t waiting;
    uint32_t oldest, newest, vacant;
};

/* Streams that are still to come; as many as there may be while no hello has said. */
static uint32_t expected(const struct pl_door *door)
{
    uint32_t streams = door->flow->streams > 0 ? (uint32_t)door->flow->streams : PL_MAX_STREAMS;
    return streams - door->admitted;
}

struct pl_door *pl_door_open(int listen_fd, struct pl_flow *flow, struct pl_stream *streams,
                             struct pl_error *error)
{
    struct pl_door *door = calloc(1, sizeof *door);
    uint32_t capacity = (flow->streams > 0 ? (uint32_t)flow->streams : PL_MAX_STREAMS) + PL_GREETING_SPARE;
    if (door != NULL)
        door->guests = calloc(capacity, sizeof *door->guests);
    if (door == NULL || door->guests == NULL) {
        pl_error_set(error, PL_RESOURCES, "listen", ENOMEM, "no memory for the expected connections");
        free(door);
        return NULL;
    }
    door->flow = flow;
    door->streams = streams;
    door->listen_fd = listen_fd;
    door->oldest = door->newest = NOBODY;
    for (uint32_t i = 0; i < capacity; i++)
        door->guests[i] = (struct guest){.fd = -1, .next = i + 1 < capacity ? i + 1 : NOBODY};
    door->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = NOBODY};
    if (door->epoll_fd < 0 || epoll_ctl(door->epoll_fd, EPOLL_CTL_ADD, listen_fd, &event) != 0) {
        pl_error_set(error, PL_RESOURCES, "listen", errno, "no descriptor for the event loop");
        pl_door_close(door);
        return NULL;
    }
    return door;
}

/* Takes a guest off the list; its descriptor is the caller's. */
static int release_guest(struct pl_door *door, uint32_t index)
{
    struct guest *guest = &door->guests[index];
    int fd = guest->fd;
    (void)epoll_ctl(door->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    if (guest->previous != NOBODY)
        door->guests[guest->previous].next = guest->next;
    else
        door->oldest = guest->next;
    if (guest->next != NOBODY)
        door->guests[guest->next].previous = guest->previous;
    else
        door->newest = guest->previous;
    *guest = (struct guest){.fd = -1, .next = door->vacant};
    door->vacant = index;
    door->waiting--;
    return fd;
}

static void reject(struct pl_door *door, uint32_t index)
{
    (void)close(release_guest(door, index));
    door->rejected++;
}

void pl_door_close(struct pl_door *door)
{
    if (door == NULL)
        return;
    while (door->oldest != NOBODY)
        (void)close(release_guest(door, door->oldest));
    if (door->epoll_fd >= 0)
        (void)close(door->epoll_fd);
    free(door->guests);
    free(door);
}

int pl_door_fd(const struct pl_door *door)
{
    return door->epoll_fd;
}

pl_ns pl_door_deadline_ns(const struct pl_door *door)
{
    return door->oldest != NOBODY ? door->guests[door->oldest].deadline_ns : PL_NEVER;
}

uint32_t pl_door_admitted(const struct pl_door *door)
{
    return door->admitted;
}

bool pl_door_is_complete(const struct pl_door *door)
{
    return door->flow->streams > 0 && (int64_t)door->admitted == door->flow->streams;
}

uint64_t pl_door_rejected(const struct pl_door *door)
{
    return door->rejected;
}

uint32_t pl_door_waiting(const struct pl_door *door)
{
    return door->waiting;
}

static bool send_answer(int fd, enum pl_answer_status status, uint32_t stream)
{
    uint8_t bytes[PL_ANSWER_BYTES];
    pl_answer_encode(
        &(struct pl_answer){.version = PL_PROTOCOL, .status = (uint16_t)status, .stream = stream}, bytes);
    return pl_message_send(fd, bytes, sizeof bytes, true) == 0;
}

static void refuse_version(struct pl_door *door, uint32_t index)
{
    int fd = door->guests[index].fd;
    (void)send_answer(fd, PL_ANSWER_WRONG_VERSION, 0);
    /* Closing with unread bytes would reset the connection and take the answer with it. */
    uint8_t scratch[512];
    (void)shutdown(fd, SHUT_WR);
    (void)!recv(fd, scratch, sizeof scratch, 0);
    reject(door, index);
}

static void judge(struct pl_door *door, uint32_t index)
{
    struct guest *guest = &door->guests[index];
    struct pl_hello hello;
    bool known = pl_hello_decode(guest->bytes, &hello);
    /* The token is always compared, so that the time taken says nothing about the other fields. */
    known = pl_token_equal(hello.token, door->flow->token) && known;
    if (!known || !pl_flow_adopt(door->flow, &hello) || door->streams[hello.stream].fd >= 0 ||
        !send_answer(guest->fd, PL_ANSWER_ADMITTED, hello.stream)) {
        reject(door, index);
        return;
    }
    door->streams[hello.stream].fd = release_guest(door, index);
    door->admitted++;
}

static void hear(struct pl_door *door, uint32_t index)
{
    struct guest *guest = &door->guests[index];
    ssize_t count = recv(guest->fd, guest->bytes + guest->got, sizeof guest->bytes - guest->got, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        reject(door, index);
        return;
    }
    guest->got += (uint32_t)count;
    uint16_t version = PL_PROTOCOL;
    if (guest->got >= PL_HELLO_COMMON_BYTES && !pl_hello_peek(guest->bytes, &version))
        reject(door, index);
    else if (version != PL_PROTOCOL)
        refuse_version(door, index);
    else if (guest->got == sizeof guest->bytes)
        judge(door, index);
}

static void seat(struct pl_door *door, int fd)
{
    /* Those expected and 64 more; with the flow complete, 64. */
    if (door->waiting >= expected(door) + PL_GREETING_SPARE)
        reject(door, door->oldest);
    uint32_t index = door->vacant;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = index};
    if (epoll_ctl(door->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        (void)close(fd);
        door->rejected++;
        return;
    }
    struct guest *guest = &door->guests[index];
    door->vacant = guest->next;
    *guest = (struct guest){
        .fd = fd, .previous = door->newest, .next = NOBODY, .deadline_ns = pl_now_ns() + PL_GREETING_NS};
    if (door->newest != NOBODY)
        door->guests[door->newest].next = index;
    else
        door->oldest = index;
    door->newest = index;
    door->waiting++;
}

static bool accept_some(struct pl_door *door, struct pl_error *error)
{
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(door->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            seat(door, fd);
            continue;
        }
        bool full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (full && door->oldest == NOBODY) {
            pl_error_set(error, PL_RESOURCES, "accept", errno, "cannot accept a connection");
            return false;
        }
        if (full)
            reject(door, door->oldest);
        /* Every other errno concerns the one connection that went away before it was accepted. */
        if (errno == EAGAIN || full)
            return true;
    }
    return true;
}

bool pl_door_serve(struct pl_door *door, struct pl_error *error)
{
    struct epoll_event events[64];
    int count = epoll_wait(door->epoll_fd, events, (int)(sizeof events / sizeof events[0]), 0);
    bool knock = false;
    for (int i = 0; i < count; i++) {
        uint32_t index = events[i].data.u32;
        if (index == NOBODY)
            knock = true;
        else if (door->guests[index].fd >= 0)
            hear(door, index);
    }
    /* After the hearing, because a new guest may take the place of one that is in `events`. */
    if (knock && !accept_some(door, error))
        return false;
    pl_ns now_ns = pl_now_ns();
    while (door->oldest != NOBODY && door->guests[door->oldest].deadline_ns <= now_ns)
        reject(door, door->oldest);
    return true;
}
