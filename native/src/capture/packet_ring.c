#include "capture/packet_ring.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/kernel_file.h"

enum {
    FRAME_BYTES = 2048, /* only checked by the kernel: in this version packets have their own lengths */
    ADDRESS_AT =
        (sizeof(struct tpacket3_hdr) + TPACKET_ALIGNMENT - 1) / TPACKET_ALIGNMENT * TPACKET_ALIGNMENT,
};

struct pl_packet_ring {
    int fd;
    uint8_t *memory;
    size_t bytes;
    size_t block;  /* read now or next */
    uint32_t left; /* packets of it that were not read yet */
    const uint8_t *at;
    bool held; /* the block is ours until it is given back */
    struct pl_ring_counts counts;
};

/* ---------- privileges ---------- */

static void refuse_privilege(int cause, struct pl_error *error)
{
    char program[PATH_MAX] = "pathlab-engine";
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0)
        program[length] = 0;
    /* The initial user namespace maps all users onto themselves; "%10u %10u %10u" is the kernel's format. */
    int64_t users = 0;
    bool initial =
        pl_read_kernel_number("/proc/self/uid_map", "         0          0", &users) && users == UINT32_MAX;
    if (initial)
        pl_error_set(
            error, PL_SETUP, "privilege", cause,
            "recording packets needs CAP_NET_RAW; fix: run as root, or `sudo setcap cap_net_raw+ep %.110s`",
            program);
    else
        pl_error_set(error, PL_SETUP, "privilege", cause,
                     "recording packets needs CAP_NET_RAW, which a user namespace gives only over a network "
                     "namespace made in it; fix: `unshare --user --map-root-user --net`, or run outside it");
}

/* The socket is all that needed them. */
static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    (void)syscall(SYS_capset, &header, none);
}

/* ---------- opening ---------- */

static bool set_up(struct pl_packet_ring *ring, struct sock_filter *filter, size_t instructions,
                   struct pl_error *error)
{
    const struct sock_fprog program = {.len = (unsigned short)instructions, .filter = filter};
    const struct tpacket_req3 request = {
        .tp_block_size = PL_RING_BLOCK_BYTES,
        .tp_block_nr = (unsigned)(ring->bytes / PL_RING_BLOCK_BYTES),
        .tp_frame_size = FRAME_BYTES,
        .tp_frame_nr = (unsigned)(ring->bytes / FRAME_BYTES),
        .tp_retire_blk_tov = (unsigned)(PL_RING_WAIT_NS / PL_NS_PER_MS),
    };
    if (setsockopt(ring->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
        return pl_error_set(error, PL_SETUP, "filter", errno, "the kernel refuses the filter of packets");
    if (!pl_set_option(ring->fd, SOL_PACKET, PACKET_VERSION, TPACKET_V3) ||
        setsockopt(ring->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0)
        return pl_error_set(error, PL_SETUP, "ring", errno,
                            "the kernel refuses a ring of %zu bytes (--ring-bytes)", ring->bytes);
    void *memory = mmap(NULL, ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    if (memory == MAP_FAILED)
        return pl_error_set(error, PL_SETUP, "ring", errno, "cannot map a ring of %zu bytes (--ring-bytes)",
                            ring->bytes);
    ring->memory = memory;
    return true;
}

static bool bind_to(const struct pl_packet_ring *ring, unsigned interface_index, struct pl_error *error)
{
    const struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)interface_index};
    if (bind(ring->fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return true;
    return pl_error_set(error, PL_SETUP, "interface", errno, "cannot bind to the interface");
}

struct pl_packet_ring *pl_packet_ring_open(struct sock_filter *filter, size_t instructions,
                                           unsigned interface_index, size_t ring_bytes,
                                           struct pl_error *error)
{
    struct pl_packet_ring *ring = calloc(1, sizeof *ring);
    if (ring == NULL) {
        pl_error_set(error, PL_RESOURCES, "ring", ENOMEM, "no memory for the capture");
        return NULL;
    }
    ring->bytes = ring_bytes;
    /* Protocol 0: nothing is received before bind. SOCK_DGRAM: packets begin with the IP header. */
    ring->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (ring->fd < 0 && (errno == EPERM || errno == EACCES))
        refuse_privilege(errno, error);
    else if (ring->fd < 0)
        pl_error_set(error, PL_SETUP, "socket", errno, "cannot open a packet socket");
    else if (set_up(ring, filter, instructions, error) && bind_to(ring, interface_index, error)) {
        drop_capabilities();
        return ring;
    }
    pl_packet_ring_close(ring);
    return NULL;
}

void pl_packet_ring_close(struct pl_packet_ring *ring)
{
    if (ring == NULL)
        return;
    if (ring->memory != NULL)
        (void)munmap(ring->memory, ring->bytes);
    pl_close(ring->fd);
    free(ring);
}

int pl_packet_ring_fd(const struct pl_packet_ring *ring)
{
    return ring->fd;
}

/* ---------- reading ---------- */

static struct tpacket_hdr_v1 *block_header(const struct pl_packet_ring *ring)
{
    uint8_t *at = ring->memory + ring->block * PL_RING_BLOCK_BYTES;
    return &((struct tpacket_block_desc *)(void *)at)->hdr.bh1;
}

/* Gives the block back to the kernel and goes on to the next one, which may not be ready. */
static bool take_block(struct pl_packet_ring *ring)
{
    if (ring->held) {
        __atomic_store_n(&block_header(ring)->block_status, (uint32_t)TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        ring->block = (ring->block + 1) % (ring->bytes / PL_RING_BLOCK_BYTES);
        ring->held = false;
    }
    const struct tpacket_hdr_v1 *header = block_header(ring);
    if ((__atomic_load_n(&header->block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
        return false;
    ring->held = true;
    ring->left = header->num_pkts;
    ring->at = ring->memory + ring->block * PL_RING_BLOCK_BYTES + header->offset_to_first_pkt;
    return true;
}

bool pl_packet_ring_next(struct pl_packet_ring *ring, struct pl_packet *packet)
{
    while (ring->left == 0)
        if (!take_block(ring))
            return false;
    const struct tpacket3_hdr *header = (const struct tpacket3_hdr *)(const void *)ring->at;
    const struct sockaddr_ll *address = (const struct sockaddr_ll *)(const void *)(ring->at + ADDRESS_AT);
    *packet = (struct pl_packet){
        .time_ns = (pl_ns)header->tp_sec * PL_NS_PER_S + (pl_ns)header->tp_nsec,
        .interface_index = (unsigned)address->sll_ifindex,
        .captured_bytes = header->tp_snaplen,
        .original_bytes = header->tp_len,
        .data = ring->at + header->tp_net,
    };
    ring->left--;
    ring->at += header->tp_next_offset;
    return true;
}

int pl_packet_ring_failure(struct pl_packet_ring *ring)
{
    return pl_take_socket_error(ring->fd);
}

void pl_packet_ring_stop(struct pl_packet_ring *ring)
{
    struct sock_filter nothing = {.code = BPF_RET | BPF_K, .k = 0};
    const struct sock_fprog program = {.len = 1, .filter = &nothing};
    (void)setsockopt(ring->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

struct pl_ring_counts pl_packet_ring_counts(struct pl_packet_ring *ring)
{
    struct tpacket_stats_v3 statistics; /* reading them sets the kernel's to 0 */
    socklen_t length = sizeof statistics;
    if (getsockopt(ring->fd, SOL_PACKET, PACKET_STATISTICS, &statistics, &length) == 0) {
        ring->counts.accepted += statistics.tp_packets;
        ring->counts.dropped += statistics.tp_drops;
    }
    return ring->counts;
}
