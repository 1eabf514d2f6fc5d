/* pathlab-adapter
 * {"contract": 1, "name": "quic", "title": "QUIC (ngtcp2)", "language": "c", "beneath": "udp",
 *  "adds": ["TLS 1.3 encryption", "acknowledgements", "congestion control", "flow control",
 *           "one answering thread for all streams"],
 *  "lacks": ["authentication of the server"],
 *  "needs": [{"program": "cc", "debian": "gcc"},
 *            {"header": "ngtcp2/ngtcp2.h", "debian": "libngtcp2-dev"},
 *            {"header": "ngtcp2/ngtcp2_crypto_gnutls.h", "debian": "libngtcp2-crypto-gnutls-dev"},
 *            {"header": "gnutls/gnutls.h", "debian": "libgnutls28-dev"}],
 *  "build": [["cc", "-std=gnu11", "-O2", "-D_GNU_SOURCE", "-o", "{program}", "{source}", "{harness}",
 *             "-pthread", "-lm", "-lngtcp2_crypto_gnutls", "-lngtcp2", "-lgnutls"]],
 *  "port": "own", "protocol": "udp"}
 * end
 *
 * Each stream of a trial is a QUIC connection with one bidirectional stream, on which requests and replies
 * follow each other. The answering end returns the bytes as they come. Its certificate is made at the start
 * and is not verified. There is no 0-RTT, and no segmentation offload: each packet is handed over as a
 * datagram of its own. */
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "adapter/adapter.h"
#include "base/address.h"
#include "base/clock.h"

#define ALPN "pathlab"
#define PRIORITY                                                                                             \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:"                \
    "%DISABLE_TLS13_COMPAT_MODE"
#define CID_BYTES 16
#define RING_BYTES (4 * (uint64_t)PL_ADAPTER_BYTES_MAX) /* a power of two */
#define PACKET_BYTES 2048
#define BATCH_PACKETS 64 /* a message of 64 KiB in one system call */
#define RECEIVE_BUFFER_BYTES (4 << 20)
#define ACKNOWLEDGE_NS (20 * NGTCP2_MILLISECONDS) /* less than the 25 ms that the peer allows for */
#define HANDSHAKE_NS (5 * NGTCP2_SECONDS)
#define CONNECTIONS_MAX 1024
#define SYSTEM_CALL_FAILED 1 /* errno says why; errors of the library are negative */

/* Datagrams that one system call sends or receives. */
struct batch {
    uint8_t packets[BATCH_PACKETS][PACKET_BYTES];
    struct pl_address peers[BATCH_PACKETS];
    struct iovec parts[BATCH_PACKETS];
    struct mmsghdr messages[BATCH_PACKETS];
};

/* A connection of either end. */
struct quic_connection {
    ngtcp2_conn *conn;
    ngtcp2_crypto_conn_ref reference;
    gnutls_session_t tls;
    gnutls_certificate_credentials_t credentials; /* NULL at the answering end, which has one for all */
    int descriptor;
    struct pl_address local, remote;
    struct batch *batch;
    int64_t stream; /* -1: none yet */
    /* What is to be sent stays in its place until it is acknowledged. Offsets count from the stream's begin.
     */
    uint8_t ring[RING_BYTES];
    uint64_t written, sent, acknowledged;
    uint64_t credited; /* what the peer may send beyond the first ring */
    bool asks;
    uint8_t reply[PL_ADAPTER_BYTES_MAX];
    size_t reply_bytes;
    uint64_t returned_ns; /* when the last reply had come */
    bool confirmed, touched;
};

static uint64_t read_clock_ns(void)
{
    return (uint64_t)pl_now_ns();
}

/* ---- callbacks of the library; they return 0, or NGTCP2_ERR_CALLBACK_FAILURE ---- */

static ngtcp2_conn *get_conn(ngtcp2_crypto_conn_ref *reference)
{
    return ((struct quic_connection *)reference->user_data)->conn;
}

static void fill_random(uint8_t *bytes, size_t count, const ngtcp2_rand_ctx *context)
{
    (void)context;
    (void)gnutls_rnd(GNUTLS_RND_NONCE, bytes, count);
}

static int make_connection_id(ngtcp2_conn *conn, ngtcp2_cid *cid, uint8_t *token, size_t bytes, void *user)
{
    (void)conn, (void)user;
    cid->datalen = bytes;
    if (gnutls_rnd(GNUTLS_RND_NONCE, cid->data, bytes) ||
        gnutls_rnd(GNUTLS_RND_NONCE, token, NGTCP2_STATELESS_RESET_TOKENLEN))
        return NGTCP2_ERR_CALLBACK_FAILURE;
    return 0;
}

/* False: there is no room. */
static bool append_to_ring(struct quic_connection *connection, const uint8_t *bytes, size_t count)
{
    if (connection->written + count - connection->acknowledged > RING_BYTES)
        return false;
    uint64_t begin = connection->written % RING_BYTES;
    size_t first = count < RING_BYTES - begin ? count : (size_t)(RING_BYTES - begin);
    memcpy(connection->ring + begin, bytes, first);
    memcpy(connection->ring, bytes + first, count - first);
    connection->written += count;
    return true;
}

/* The peer may send as many bytes more. Told when there is something to send: a packet of its own would be
 * answered when nobody asks, and its acknowledgement read late. */
static int extend_credit(struct quic_connection *connection, uint64_t upto)
{
    uint64_t count = upto - connection->credited;
    connection->credited = upto;
    ngtcp2_conn_extend_max_offset(connection->conn, count);
    return ngtcp2_conn_extend_max_stream_offset(connection->conn, connection->stream, count);
}

/* The asking end keeps what comes as its reply. The other one sends it back; its peer has credit for what the
 * ring has room for. */
static int on_data(ngtcp2_conn *conn, uint32_t flags, int64_t stream, uint64_t offset, const uint8_t *bytes,
                   size_t count, void *user, void *stream_user)
{
    (void)conn, (void)flags, (void)offset, (void)stream_user;
    struct quic_connection *connection = user;
    if (connection->asks) {
        size_t room = sizeof connection->reply - connection->reply_bytes;
        memcpy(connection->reply + connection->reply_bytes, bytes, count < room ? count : room);
        connection->reply_bytes += count < room ? count : room;
        return 0;
    }
    connection->stream = stream;
    if (extend_credit(connection, connection->acknowledged) || !append_to_ring(connection, bytes, count))
        return NGTCP2_ERR_CALLBACK_FAILURE;
    return 0;
}

static int on_acknowledged(ngtcp2_conn *conn, int64_t stream, uint64_t offset, uint64_t count, void *user,
                           void *stream_user)
{
    (void)conn, (void)stream, (void)offset, (void)stream_user;
    ((struct quic_connection *)user)->acknowledged += count;
    return 0;
}

static int on_confirmed(ngtcp2_conn *conn, void *user)
{
    (void)conn;
    ((struct quic_connection *)user)->confirmed = true;
    return 0;
}

static const ngtcp2_callbacks callbacks = {
    .client_initial = ngtcp2_crypto_client_initial_cb,
    .recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
    .recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
    .encrypt = ngtcp2_crypto_encrypt_cb,
    .decrypt = ngtcp2_crypto_decrypt_cb,
    .hp_mask = ngtcp2_crypto_hp_mask_cb,
    .recv_stream_data = on_data,
    .acked_stream_data_offset = on_acknowledged,
    .recv_retry = ngtcp2_crypto_recv_retry_cb,
    .rand = fill_random,
    .get_new_connection_id = make_connection_id,
    .handshake_confirmed = on_confirmed,
    .update_key = ngtcp2_crypto_update_key_cb,
    .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
    .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
    .get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
    .version_negotiation = ngtcp2_crypto_version_negotiation_cb,
};

/* ---- datagrams ---- */

static void wait_for_datagram(int descriptor, uint64_t until_ns)
{
    struct pollfd watched = {.fd = descriptor, .events = POLLIN};
    struct timespec left = {0};
    if (until_ns != UINT64_MAX) {
        uint64_t now_ns = read_clock_ns(), rest_ns = until_ns > now_ns ? until_ns - now_ns : 0;
        left = (struct timespec){.tv_sec = (time_t)(rest_ns / NGTCP2_SECONDS),
                                 .tv_nsec = (long)(rest_ns % NGTCP2_SECONDS)};
    }
    (void)ppoll(&watched, 1, until_ns == UINT64_MAX ? NULL : &left, NULL);
}

/* How many there were, without waiting for one; -1 with errno. */
static int receive_datagrams(int descriptor, struct batch *batch)
{
    for (int i = 0; i < BATCH_PACKETS; i++) {
        batch->parts[i] = (struct iovec){batch->packets[i], PACKET_BYTES};
        batch->messages[i].msg_hdr = (struct msghdr){.msg_name = &batch->peers[i].storage,
                                                     .msg_namelen = sizeof batch->peers[i].storage,
                                                     .msg_iov = &batch->parts[i],
                                                     .msg_iovlen = 1};
    }
    int count = recvmmsg(descriptor, batch->messages, BATCH_PACKETS, MSG_DONTWAIT, NULL);
    for (int i = 0; i < count; i++)
        batch->peers[i].length = batch->messages[i].msg_hdr.msg_namelen;
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : count;
}

/* A probe of the path's MTU that does not fit counts as lost. -1 with errno. */
static int send_datagrams(struct quic_connection *connection, unsigned count)
{
    struct batch *batch = connection->batch;
    for (unsigned done = 0; done < count;) {
        int sent = sendmmsg(connection->descriptor, batch->messages + done, count - done, 0);
        if (sent < 0 && errno != EINTR && errno != EMSGSIZE)
            return -1;
        done += sent >= 0 ? (unsigned)sent : errno == EMSGSIZE ? 1U : 0U;
    }
    return 0;
}

/* ---- packets ---- */

static size_t list_unsent(struct quic_connection *connection, ngtcp2_vec parts[2])
{
    uint64_t begin = connection->sent % RING_BYTES;
    size_t count = (size_t)(connection->written - connection->sent);
    size_t first = count < RING_BYTES - begin ? count : (size_t)(RING_BYTES - begin);
    parts[0] = (ngtcp2_vec){connection->ring + begin, first};
    parts[1] = (ngtcp2_vec){connection->ring, count - first};
    return count == 0 ? 0 : first < count ? 2 : 1;
}

/* Next packet's bytes, 0 where nothing may be sent now, or an error of the library. */
static ngtcp2_ssize write_packet(struct quic_connection *connection, uint8_t *packet, uint64_t now_ns)
{
    ngtcp2_vec parts[2];
    ngtcp2_pkt_info info = {0};
    ngtcp2_ssize taken = -1, bytes = NGTCP2_ERR_STREAM_DATA_BLOCKED;
    size_t count = list_unsent(connection, parts);
    if (count > 0 && connection->stream >= 0)
        bytes = ngtcp2_conn_writev_stream(connection->conn, NULL, &info, packet, PACKET_BYTES, &taken, 0,
                                          connection->stream, parts, count, now_ns);
    if (taken > 0)
        connection->sent += (uint64_t)taken;
    if (bytes == NGTCP2_ERR_STREAM_DATA_BLOCKED)
        bytes = ngtcp2_conn_write_pkt(connection->conn, NULL, &info, packet, PACKET_BYTES, now_ns);
    return bytes;
}

/* Sends all that may be sent now. 0, an error of the library, or SYSTEM_CALL_FAILED. */
static int write_packets(struct quic_connection *connection)
{
    struct batch *batch = connection->batch;
    uint64_t now_ns = read_clock_ns();
    for (unsigned count = BATCH_PACKETS; count == BATCH_PACKETS;) {
        for (count = 0; count < BATCH_PACKETS; count++) {
            ngtcp2_ssize bytes = write_packet(connection, batch->packets[count], now_ns);
            if (bytes < 0)
                return (int)bytes;
            if (bytes == 0)
                break;
            batch->parts[count] = (struct iovec){batch->packets[count], (size_t)bytes};
            batch->messages[count].msg_hdr =
                (struct msghdr){.msg_iov = &batch->parts[count],
                                .msg_iovlen = 1,
                                .msg_name = connection->asks ? NULL : &connection->remote.storage,
                                .msg_namelen = connection->asks ? 0 : connection->remote.length};
        }
        if (send_datagrams(connection, count))
            return SYSTEM_CALL_FAILED;
    }
    ngtcp2_conn_update_pkt_tx_time(connection->conn, now_ns);
    return 0;
}

static ngtcp2_path make_path(struct quic_connection *connection)
{
    return (ngtcp2_path){
        .local = {(ngtcp2_sockaddr *)&connection->local.storage, connection->local.length},
        .remote = {(ngtcp2_sockaddr *)&connection->remote.storage, connection->remote.length},
    };
}

static int read_packet(struct quic_connection *connection, const uint8_t *packet, size_t bytes,
                       uint64_t now_ns)
{
    ngtcp2_path path = make_path(connection);
    ngtcp2_pkt_info info = {0};
    connection->touched = true;
    return ngtcp2_conn_read_pkt(connection->conn, &path, &info, packet, bytes, now_ns);
}

/* ---- connections ---- */

static void set_parameters(ngtcp2_settings *settings, ngtcp2_transport_params *parameters)
{
    ngtcp2_settings_default(settings);
    settings->initial_ts = read_clock_ns();
    settings->handshake_timeout = HANDSHAKE_NS;
    settings->cc_algo = NGTCP2_CC_ALGO_CUBIC;
    settings->ack_thresh = 1; /* with each reply, so that none has a packet of its own later */
    ngtcp2_transport_params_default(parameters);
    parameters->initial_max_stream_data_bidi_local = RING_BYTES;
    parameters->initial_max_stream_data_bidi_remote = RING_BYTES;
    parameters->initial_max_data = RING_BYTES;
    parameters->initial_max_streams_bidi = 1;
    parameters->disable_active_migration = 1;
}

/* 0, or an error of GnuTLS. */
static int start_tls(struct quic_connection *connection, gnutls_certificate_credentials_t credentials)
{
    const gnutls_datum_t protocol = {(unsigned char *)ALPN, sizeof ALPN - 1};
    int error;
    (void)((error = gnutls_init(&connection->tls, connection->asks ? GNUTLS_CLIENT : GNUTLS_SERVER)) ||
           (error = gnutls_priority_set_direct(connection->tls, PRIORITY, NULL)) ||
           (error = gnutls_credentials_set(connection->tls, GNUTLS_CRD_CERTIFICATE, credentials)) ||
           (error = gnutls_alpn_set_protocols(connection->tls, &protocol, 1, GNUTLS_ALPN_MANDATORY)));
    if (!error && (connection->asks ? ngtcp2_crypto_gnutls_configure_client_session(connection->tls)
                                    : ngtcp2_crypto_gnutls_configure_server_session(connection->tls)))
        error = GNUTLS_E_INTERNAL_ERROR;
    if (error)
        return error;
    connection->reference = (ngtcp2_crypto_conn_ref){get_conn, connection};
    gnutls_session_set_ptr(connection->tls, &connection->reference);
    ngtcp2_conn_set_tls_native_handle(connection->conn, connection->tls);
    return 0;
}

static void free_connection(struct quic_connection *connection)
{
    if (connection->conn != NULL)
        ngtcp2_conn_del(connection->conn);
    if (connection->tls != NULL)
        gnutls_deinit(connection->tls);
    if (connection->credentials != NULL)
        gnutls_certificate_free_credentials(connection->credentials);
    free(connection);
}

/* ---- sockets ---- */

static int parse_address(const char *text, unsigned port, struct pl_address *address,
                         struct pl_adapter_error *error)
{
    if (pl_address_parse(text, (uint16_t)port, "", address, NULL))
        return 0;
    return pl_adapter_fail(error, "connect", "'%s' is no numeric address", text);
}

/* A UDP socket, bound to `own` unless that is empty. -1 with errno. */
static int open_socket(int family, const struct pl_address *own)
{
    int size = RECEIVE_BUFFER_BYTES, probe = IP_PMTUDISC_PROBE;
    int descriptor = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return -1;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    /* Packets are not fragmented, so that the library's probes find the path's MTU. */
    if (family == AF_INET6)
        (void)setsockopt(descriptor, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe, sizeof probe);
    else
        (void)setsockopt(descriptor, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof probe);
    if (own->length > 0 && bind(descriptor, (const struct sockaddr *)&own->storage, own->length)) {
        int reason = errno;
        close(descriptor);
        errno = reason;
        return -1;
    }
    return descriptor;
}

/* ---- the asking end ---- */

static int fail_with(struct pl_adapter_error *error, const char *stage, int code)
{
    return pl_adapter_fail(error, stage, "QUIC: %s",
                           code == SYSTEM_CALL_FAILED ? strerror(errno) : ngtcp2_strerror(code));
}

/* Reads the datagrams that have come, as of the time `now_ns`. 0, or the code of an error. */
static int read_waiting(struct quic_connection *connection, uint64_t now_ns)
{
    struct batch *batch = connection->batch;
    int count = receive_datagrams(connection->descriptor, batch);
    if (count < 0)
        return SYSTEM_CALL_FAILED;
    for (int i = 0; i < count; i++) {
        int code = read_packet(connection, batch->packets[i], batch->messages[i].msg_len, now_ns);
        if (code)
            return code;
    }
    return 0;
}

/* Waits for a datagram or a timer. 0, or the code of an error. */
static int take_turn(struct quic_connection *connection)
{
    wait_for_datagram(connection->descriptor, ngtcp2_conn_get_expiry(connection->conn));
    uint64_t now_ns = read_clock_ns();
    int code = read_waiting(connection, now_ns);
    return code ? code : ngtcp2_conn_handle_expiry(connection->conn, now_ns);
}

static int connect_socket(struct quic_connection *connection, const struct pl_adapter_settings *settings,
                          struct pl_adapter_error *error)
{
    struct pl_address own = {0};
    if (parse_address(settings->address, settings->port, &connection->remote, error) ||
        (settings->local_address[0] != '\0' && parse_address(settings->local_address, 0, &own, error)))
        return -1;
    connection->descriptor = open_socket(pl_address_family(&connection->remote), &own);
    if (connection->descriptor < 0 ||
        connect(connection->descriptor, (struct sockaddr *)&connection->remote.storage,
                connection->remote.length))
        return pl_adapter_fail(error, "connect", "UDP socket: %s", strerror(errno));
    if (!pl_address_of_socket(connection->descriptor, &connection->local))
        return pl_adapter_fail(error, "connect", "UDP socket: %s", strerror(errno));
    return 0;
}

/* Until the peer has confirmed the handshake, and has the acknowledgement of that. 0, or the code of an
 * error. */
static int shake_hands(struct quic_connection *connection)
{
    int code = write_packets(connection);
    while (!code && !connection->confirmed) {
        code = take_turn(connection);
        if (!code)
            code = write_packets(connection);
    }
    return code ? code : ngtcp2_conn_open_bidi_stream(connection->conn, &connection->stream, NULL);
}

static int start_client(struct quic_connection *connection, struct pl_adapter_error *error)
{
    ngtcp2_settings settings;
    ngtcp2_transport_params parameters;
    ngtcp2_path path = make_path(connection);
    ngtcp2_cid source = {.datalen = CID_BYTES}, destination = {.datalen = CID_BYTES};
    (void)gnutls_rnd(GNUTLS_RND_NONCE, source.data, CID_BYTES);
    (void)gnutls_rnd(GNUTLS_RND_NONCE, destination.data, CID_BYTES);
    set_parameters(&settings, &parameters);
    int code = ngtcp2_conn_client_new(&connection->conn, &destination, &source, &path, NGTCP2_PROTO_VER_V1,
                                      &callbacks, &settings, &parameters, NULL, connection);
    if (code)
        return fail_with(error, "connect", code);
    int problem = gnutls_certificate_allocate_credentials(&connection->credentials);
    if (!problem)
        problem = start_tls(connection, connection->credentials);
    if (problem)
        return pl_adapter_fail(error, "connect", "TLS: %s", gnutls_strerror(problem));
    code = shake_hands(connection);
    return code ? fail_with(error, "connect", code) : 0;
}

static void quic_close(void *given)
{
    struct quic_connection *connection = given;
    if (connection->descriptor >= 0)
        close(connection->descriptor);
    free(connection->batch);
    free_connection(connection);
}

static void *quic_connect(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    struct quic_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL || (connection->batch = malloc(sizeof *connection->batch)) == NULL) {
        free(connection);
        (void)pl_adapter_fail(error, "limit", "out of memory");
        return NULL;
    }
    connection->asks = true;
    connection->descriptor = -1;
    connection->stream = -1;
    if (connect_socket(connection, settings, error) || start_client(connection, error)) {
        quic_close(connection);
        return NULL;
    }
    connection->returned_ns = read_clock_ns();
    return connection;
}

/* The acknowledgement of a reply goes with the next request. Where requests are rare it is sent at once, and
 * what came after the reply is read as if it had been then: both ends would take the wait for a long round
 * trip, and would space their packets by that. */
static int quic_ask(void *given, const uint8_t *request, size_t bytes, const uint8_t **reply,
                    size_t *reply_bytes, struct pl_adapter_error *error)
{
    struct quic_connection *connection = given;
    bool rare = read_clock_ns() - connection->returned_ns > ACKNOWLEDGE_NS;
    int code = rare ? read_waiting(connection, connection->returned_ns) : 0;
    if (!code)
        code = extend_credit(connection, connection->credited + connection->reply_bytes);
    connection->reply_bytes = 0;
    bool queued = append_to_ring(connection, request, bytes);
    while (!code && connection->reply_bytes < bytes) {
        code = write_packets(connection);
        if (!code)
            code = take_turn(connection);
        if (!queued)
            queued = append_to_ring(connection, request, bytes);
    }
    if (!code && rare)
        code = write_packets(connection);
    if (code)
        return fail_with(error, "reply", code);
    connection->returned_ns = read_clock_ns();
    *reply = connection->reply;
    *reply_bytes = connection->reply_bytes;
    return 0;
}

/* ---- the answering end ---- */

struct server {
    int descriptor;
    struct pl_address own;
    gnutls_certificate_credentials_t credentials;
    struct quic_connection *connections[CONNECTIONS_MAX];
    size_t count;
    struct batch batch;
};

/* Its own, for a day. 0, or an error of GnuTLS. */
static int make_certificate(gnutls_certificate_credentials_t *credentials)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crt_t certificate = NULL;
    time_t now = time(NULL);
    const unsigned curve = GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1);
    int error;
    (void)((error = gnutls_certificate_allocate_credentials(credentials)) ||
           (error = gnutls_x509_privkey_init(&key)) ||
           (error = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, curve, 0)) ||
           (error = gnutls_x509_crt_init(&certificate)) ||
           (error = gnutls_x509_crt_set_dn(certificate, "CN=pathlab", NULL)) ||
           (error = gnutls_x509_crt_set_version(certificate, 3)) ||
           (error = gnutls_x509_crt_set_serial(certificate, "\1", 1)) ||
           (error = gnutls_x509_crt_set_activation_time(certificate, now - 3600)) ||
           (error = gnutls_x509_crt_set_expiration_time(certificate, now + 86400)) ||
           (error = gnutls_x509_crt_set_key(certificate, key)) ||
           (error = gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0)) ||
           (error = gnutls_certificate_set_x509_key(*credentials, &certificate, 1, key)));
    gnutls_x509_crt_deinit(certificate);
    gnutls_x509_privkey_deinit(key);
    return error;
}

/* A new connection, if the packet begins one and there is room; else NULL. */
static struct quic_connection *accept_connection(struct server *server, const struct pl_address *peer,
                                                 const uint8_t *packet, size_t bytes)
{
    ngtcp2_pkt_hd header;
    ngtcp2_settings settings;
    ngtcp2_transport_params parameters;
    ngtcp2_cid own = {.datalen = CID_BYTES};
    if (server->count == CONNECTIONS_MAX || ngtcp2_accept(&header, packet, bytes))
        return NULL;
    struct quic_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        return NULL;
    connection->descriptor = server->descriptor;
    connection->batch = &server->batch;
    connection->stream = -1;
    connection->local = server->own;
    connection->remote = *peer;
    set_parameters(&settings, &parameters);
    parameters.original_dcid = header.dcid;
#if NGTCP2_VERSION_NUM >= 0x010000
    parameters.original_dcid_present = 1;
#endif
    ngtcp2_path path = make_path(connection);
    if (gnutls_rnd(GNUTLS_RND_NONCE, own.data, CID_BYTES) ||
        ngtcp2_conn_server_new(&connection->conn, &header.scid, &own, &path, header.version, &callbacks,
                               &settings, &parameters, NULL, connection) ||
        start_tls(connection, server->credentials)) {
        free_connection(connection);
        return NULL;
    }
    return server->connections[server->count++] = connection;
}

/* A peer has one socket for each connection, and does not move: its address is the connection. Bytes are
 * compared, since pl_address_equal() formats text, which would add 6 % to a message of 64 KiB. */
static struct quic_connection *find_connection(struct server *server, const struct pl_address *peer)
{
    for (size_t i = 0; i < server->count; i++) {
        const struct pl_address *remote = &server->connections[i]->remote;
        if (remote->length == peer->length && memcmp(&remote->storage, &peer->storage, peer->length) == 0)
            return server->connections[i];
    }
    return NULL;
}

static void drop_connection(struct server *server, struct quic_connection *connection)
{
    size_t i = 0;
    while (server->connections[i] != connection)
        i++;
    server->connections[i] = server->connections[--server->count];
    free_connection(connection);
}

static void read_datagrams(struct server *server, int count)
{
    struct batch *batch = &server->batch;
    uint64_t now_ns = read_clock_ns();
    for (int i = 0; i < count; i++) {
        size_t bytes = batch->messages[i].msg_len;
        struct quic_connection *connection = find_connection(server, &batch->peers[i]);
        if (connection == NULL)
            connection = accept_connection(server, &batch->peers[i], batch->packets[i], bytes);
        if (connection == NULL)
            continue;
        if (read_packet(connection, batch->packets[i], bytes, now_ns))
            drop_connection(server, connection);
    }
}

/* Packets and timers of every connection that has any; returns when the next timer expires. */
static uint64_t serve_connections(struct server *server)
{
    uint64_t next_ns = UINT64_MAX, now_ns = read_clock_ns();
    for (size_t i = server->count; i-- > 0;) {
        struct quic_connection *connection = server->connections[i];
        uint64_t expiry_ns = ngtcp2_conn_get_expiry(connection->conn);
        if (connection->touched || expiry_ns <= now_ns) {
            connection->touched = false;
            if (ngtcp2_conn_handle_expiry(connection->conn, now_ns) || write_packets(connection)) {
                drop_connection(server, connection);
                continue;
            }
            expiry_ns = ngtcp2_conn_get_expiry(connection->conn);
        }
        if (expiry_ns < next_ns)
            next_ns = expiry_ns;
    }
    return next_ns;
}

static int quic_answer(const struct pl_adapter_settings *settings, void (*ready)(unsigned port),
                       struct pl_adapter_error *error)
{
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return pl_adapter_fail(error, "limit", "out of memory");
    int problem = make_certificate(&server->credentials), count = 0;
    if (problem)
        return pl_adapter_fail(error, "start", "certificate: %s", gnutls_strerror(problem));
    if (parse_address(settings->address, settings->port, &server->own, error))
        return -1;
    server->descriptor = open_socket(pl_address_family(&server->own), &server->own);
    if (server->descriptor < 0 || !pl_address_of_socket(server->descriptor, &server->own))
        return pl_adapter_fail(error, "port", "UDP port %u of %s: %s", settings->port, settings->address,
                               strerror(errno));
    ready((unsigned)pl_address_port(&server->own));
    while (count >= 0) {
        wait_for_datagram(server->descriptor, serve_connections(server));
        count = receive_datagrams(server->descriptor, &server->batch);
        read_datagrams(server, count);
    }
    return pl_adapter_fail(error, "exit", "UDP socket: %s", strerror(errno));
}

static void quic_describe(void *given, char *versions, size_t versions_room, char *settings_json, size_t room)
{
    struct quic_connection *connection = given;
    int buffer = 0;
    socklen_t bytes = sizeof buffer;
    (void)snprintf(versions, versions_room, "ngtcp2 %s, GnuTLS %s", ngtcp2_version(0)->version_str,
                   gnutls_check_version(NULL));
    if (connection == NULL)
        return;
    (void)getsockopt(connection->descriptor, SOL_SOCKET, SO_RCVBUF, &buffer, &bytes);
    (void)snprintf(settings_json, room,
                   "{\"tls\":\"%s\",\"cipher\":\"%s\",\"congestion_control\":\"cubic\","
                   "\"datagram_bytes\":%zu,\"receive_buffer_bytes\":%d,\"segmentation_offload\":false}",
                   gnutls_protocol_get_name(gnutls_protocol_get_version(connection->tls)),
                   gnutls_cipher_get_name(gnutls_cipher_get(connection->tls)),
                   ngtcp2_conn_get_path_max_tx_udp_payload_size(connection->conn), buffer);
}

const struct pl_adapter pl_adapter = {
    .connect = quic_connect,
    .ask = quic_ask,
    .close = quic_close,
    .answer = quic_answer,
    .describe = quic_describe,
};
