/* pathlab-adapter
 * {"contract": 1, "name": "corba", "title": "CORBA, omniORB", "language": "c++", "beneath": "tcp",
 *  "adds": ["marshalling", "object adapter"],
 *  "lacks": ["encryption", "name service: the client knows the object's address",
 *            "link-local addresses of IPv6"],
 *  "needs": [{"program": "c++", "debian": "g++"}, {"program": "omniidl", "debian": "omniidl"},
 *            {"header": "omniORB4/CORBA.h", "debian": "libomniorb4-dev"}],
 *  "build": [["omniidl", "-bcxx", "-Wbh=.hh", "-Wbs=_stub.cc", "-C{folder}", "{folder}/echo.idl"],
 *            ["c++", "-std=c++17", "-O2", "-I{folder}", "-o", "{program}", "{source}",
 *             "{folder}/echo_stub.cc", "{harness}", "-lomniORB4", "-lomnithread"]],
 *  "files": {"echo.idl":
 *   "module PathLab { typedef sequence<octet> Bytes; interface Echo { Bytes ask(in Bytes sent); }; };"}}
 * end
 *
 * All streams of a program share its ORB, which has one connection for each call that is under way.
 */
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "echo.hh"
#include <omniORB4/acconfig.h>

#include "adapter/adapter.h"
#include "adapter/tcp_socket.h"

namespace
{

std::mutex orb_lock;
unsigned orb_users = 0; /* connections; the last one that closes destroys the ORB */

struct Connection {
    CORBA::ORB_var orb;
    PathLab::Echo_var echo;
    PathLab::Bytes_var reply;
    bool no_delay = false;
};

std::string format_endpoint(const struct pl_adapter_settings *settings)
{
    char text[PL_ADAPTER_ENDPOINT_BYTES];
    pl_adapter_format_endpoint(settings->address, settings->port, text);
    return text;
}

CORBA::ORB_ptr start_orb(const char *(*options)[2])
{
    int no_arguments = 0;
    return CORBA::ORB_init(no_arguments, nullptr, "omniORB4", options);
}

int fail(struct pl_adapter_error *error, const char *stage, const CORBA::Exception &exception)
{
    const auto *system = CORBA::SystemException::_downcast(&exception);
    const char *minor = system == nullptr ? nullptr : system->NP_minorString();
    return pl_adapter_fail(error, stage, "CORBA exception %s%s%s", exception._name(),
                           minor == nullptr ? "" : ", ", minor == nullptr ? "" : minor);
}

/* omniORB would try again for ever to reach a server that is gone. */
CORBA::Boolean do_not_retry(void *, CORBA::ULong, const CORBA::TRANSIENT &)
{
    return 0;
}

void close_connection(void *connection)
{
    const std::unique_ptr<Connection> c(static_cast<Connection *>(connection));
    const std::lock_guard<std::mutex> guard(orb_lock);
    c->echo = PathLab::Echo::_nil();
    if (--orb_users == 0 && !CORBA::is_nil(c->orb))
        c->orb->destroy();
}

void *open_connection(const struct pl_adapter_settings *settings, struct pl_adapter_error *error)
{
    const std::string streams = std::to_string(settings->streams);
    const std::string location = "corbaloc:iiop:" + format_endpoint(settings) + "/echo";
    const char *options[][2] = {{"maxGIOPConnectionPerServer", streams.c_str()},
                                {"clientConnectTimeOutPeriod", "5000"},
                                {nullptr, nullptr}};
    auto *c = new Connection;
    try {
        {
            const std::lock_guard<std::mutex> guard(orb_lock);
            orb_users++;
            c->orb = start_orb(options);
        }
        omniORB::installTransientExceptionHandler(nullptr, do_not_retry);
        const CORBA::Object_var object = c->orb->string_to_object(location.c_str());
        c->echo = PathLab::Echo::_narrow(object);
        if (CORBA::is_nil(c->echo))
            pl_adapter_fail(error, "connect", "%s is no PathLab::Echo", location.c_str());
        else if (pl_adapter_inspect_sockets(settings, &c->no_delay, error) == 0)
            return c;
    } catch (const CORBA::Exception &exception) {
        fail(error, "connect", exception);
    }
    close_connection(c);
    return nullptr;
}

int ask(void *connection, const uint8_t *request, size_t bytes, const uint8_t **reply, size_t *reply_bytes,
        struct pl_adapter_error *error)
{
    auto *c = static_cast<Connection *>(connection);
    const auto length = static_cast<CORBA::ULong>(bytes);
    try {
        /* The sequence borrows the request. */
        c->reply = c->echo->ask(PathLab::Bytes(length, length, const_cast<CORBA::Octet *>(request), 0));
    } catch (const CORBA::Exception &exception) {
        return fail(error, "reply", exception);
    }
    *reply = c->reply->get_buffer();
    *reply_bytes = c->reply->length();
    return 0;
}

class Servant : public POA_PathLab::Echo
{
  public:
    explicit Servant(unsigned port) : port_(port)
    {
    }

  private:
    PathLab::Bytes *ask(const PathLab::Bytes &request) override
    {
        if (!pl_adapter_accepts_no_delay(port_))
            throw CORBA::BAD_QOS(0, CORBA::COMPLETED_NO);
        return new PathLab::Bytes(request);
    }

    const unsigned port_;
};

int answer(const struct pl_adapter_settings *settings, void (*ready)(unsigned port),
           struct pl_adapter_error *error)
{
    const std::string endpoint = "giop:tcp:" + format_endpoint(settings);
    const char *options[][2] = {{"endPoint", endpoint.c_str()}, {nullptr, nullptr}};
    try {
        const CORBA::ORB_var orb = start_orb(options);
        const CORBA::Object_var object = orb->resolve_initial_references("omniINSPOA");
        const PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
        const PortableServer::POAManager_var manager = poa->the_POAManager();
        const PortableServer::ObjectId_var identity = PortableServer::string_to_ObjectId("echo");
        Servant servant(settings->port);
        poa->activate_object_with_id(identity, &servant);
        manager->activate();
        ready(settings->port);
        orb->run();
        orb->destroy();
    } catch (const CORBA::INITIALIZE &exception) {
        return pl_adapter_fail(error, "port", "omniORB cannot listen on %s", endpoint.c_str());
    } catch (const CORBA::Exception &exception) {
        return fail(error, "start", exception);
    }
    return pl_adapter_fail(error, "exit", "the ORB ended");
}

void describe(void *connection, char *versions, size_t versions_room, char *settings_json,
              size_t settings_room)
{
    const auto *c = static_cast<const Connection *>(connection);
    std::snprintf(versions, versions_room, "omniORB %s", PACKAGE_VERSION);
    if (c == nullptr)
        std::snprintf(settings_json, settings_room, "{}");
    else
        std::snprintf(settings_json, settings_room, "{\"no_delay\":%s}", c->no_delay ? "true" : "false");
}

} // namespace

const struct pl_adapter pl_adapter = {open_connection, ask, close_connection, answer, describe};
