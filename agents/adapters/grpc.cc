/* pathlab-adapter
 * {"contract": 1, "name": "grpc", "title": "gRPC, unary calls", "language": "c++", "beneath": "tcp",
 *  "adds": ["HTTP/2 framing", "header compression", "flow control", "a pool of answering threads"],
 *  "lacks": ["encryption", "Protocol Buffers: the message is a string of bytes"],
 *  "needs": [{"program": "c++", "debian": "g++"},
 *            {"header": "grpcpp/grpcpp.h", "debian": "libgrpc++-dev"}],
 *  "build": [["c++", "-std=c++17", "-O2", "-o", "{program}", "{source}", "{harness}",
 *             "-Wl,--copy-dt-needed-entries", "-lgrpc++", "-lgrpc", "-lgpr"]],
 *  "port": "own"}
 * end
 *
 * A generic stub on a completion queue of the asking thread; a generic service with callbacks. Windows are
 * gRPC's own: it widens them by its estimate of the bandwidth-delay product. At 65536 B and an RTT of 10 ms
 * the median is 10.6 ms, with windows of 1 MiB as well.
 */
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "adapter/adapter.h"
#include "adapter/tcp_socket.h"

namespace
{

constexpr std::chrono::seconds CONNECT_TIMEOUT(5);
const std::string METHOD = "/pathlab.Echo/Ask";

struct Connection {
    explicit Connection(std::shared_ptr<grpc::Channel> to) : channel(std::move(to)), stub(channel)
    {
    }

    std::shared_ptr<grpc::Channel> channel;
    grpc::GenericStub stub;
    grpc::CompletionQueue queue;
    grpc::Slice reply;
    bool no_delay = false;
};

void *open_connection(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1); // streams would share one TCP connection
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    char target[PL_ADAPTER_ENDPOINT_BYTES];
    pl_adapter_format_endpoint(settings->address, settings->port, target);
    auto connection = std::make_unique<Connection>(
        grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments));
    if (!connection->channel->WaitForConnected(std::chrono::system_clock::now() + CONNECT_TIMEOUT)) {
        pl_adapter_fail(error, "connect", "%s: no connection within %d s", target,
                        static_cast<int>(CONNECT_TIMEOUT.count()));
        return nullptr;
    }
    if (pl_adapter_inspect_sockets(settings, &connection->no_delay, error) != 0)
        return nullptr;
    return connection.release();
}

int ask(void *connection, const uint8_t *request, size_t bytes, const uint8_t **reply, size_t *reply_bytes,
        struct pl_adapter_error *error)
{
    auto *c = static_cast<Connection *>(connection);
    grpc::ClientContext context;
    const grpc::Slice content(request, bytes, grpc::Slice::STATIC_SLICE); // not copied
    grpc::ByteBuffer received;
    grpc::Status status;
    const auto call = c->stub.PrepareUnaryCall(&context, METHOD, grpc::ByteBuffer(&content, 1), &c->queue);
    void *tag;
    bool ok;
    call->StartCall();
    call->Finish(&received, &status, nullptr);
    c->queue.Next(&tag, &ok);
    if (!status.ok())
        return pl_adapter_fail(error, "reply", "gRPC status %d: %s", static_cast<int>(status.error_code()),
                               status.error_message().c_str());
    if (!received.TrySingleSlice(&c->reply).ok() && !received.DumpToSingleSlice(&c->reply).ok())
        return pl_adapter_fail(error, "reply", "the reply cannot be read");
    *reply = c->reply.begin();
    *reply_bytes = c->reply.size();
    return 0;
}

void close_connection(void *connection)
{
    delete static_cast<Connection *>(connection);
}

int server_port = 0;

/* One call: returns the message as it came. */
class Call : public grpc::ServerGenericBidiReactor
{
  public:
    Call()
    {
        StartRead(&message_);
    }

    void OnReadDone(bool ok) override
    {
        if (ok && !pl_adapter_accepts_no_delay(static_cast<unsigned>(server_port)))
            Finish(grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "TCP_NODELAY is off at the server"));
        else if (ok)
            StartWriteAndFinish(&message_, grpc::WriteOptions(), grpc::Status::OK);
        else
            Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "a call without a message"));
    }

    void OnDone() override
    {
        delete this;
    }

  private:
    grpc::ByteBuffer message_;
};

class Service : public grpc::CallbackGenericService
{
    grpc::ServerGenericBidiReactor *CreateReactor(grpc::GenericCallbackServerContext *) override
    {
        return new Call;
    }
};

int answer(const struct pl_adapter_settings *settings, void (*ready)(unsigned port),
           struct pl_adapter_error *error)
{
    Service service;
    grpc::ServerBuilder builder;
    char endpoint[PL_ADAPTER_ENDPOINT_BYTES];
    pl_adapter_format_endpoint(settings->address, settings->port, endpoint);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0); // a port that is taken is an error
    builder.AddListeningPort(endpoint, grpc::InsecureServerCredentials(), &server_port);
    builder.RegisterCallbackGenericService(&service);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (server == nullptr || server_port == 0)
        return pl_adapter_fail(error, "port", "gRPC cannot listen on %s", endpoint);
    ready(static_cast<unsigned>(server_port));
    server->Wait();
    return pl_adapter_fail(error, "exit", "the server ended");
}

void describe(void *connection, char *versions, size_t versions_room, char *settings_json,
              size_t settings_room)
{
    const auto *c = static_cast<const Connection *>(connection);
    std::snprintf(versions, versions_room, "gRPC %s", grpc::Version().c_str());
    if (c == nullptr)
        std::snprintf(settings_json, settings_room, "{}");
    else
        std::snprintf(settings_json, settings_room, "{\"no_delay\":%s}", c->no_delay ? "true" : "false");
}

} // namespace

const struct pl_adapter pl_adapter = {open_connection, ask, close_connection, answer, describe};
