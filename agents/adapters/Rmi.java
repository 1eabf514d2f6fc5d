/*
pathlab-adapter
{
    "contract": 1,
    "name": "rmi",
    "title": "Java RMI",
    "language": "java",
    "beneath": "tcp",
    "baseline": "tcp-java",
    "adds": ["object serialization", "distributed garbage collection",
             "a ping before a call on a connection that was idle for some milliseconds"],
    "lacks": ["encryption"],
    "needs": [{"program": "javac", "debian": "default-jdk-headless"}],
    "build": [["javac", "-d", "{program}", "{source}", "{harness}"]],
    "port": "own",
    "protocol": "tcp"
}
end
*/

import java.io.IOException;
import java.io.ObjectInputFilter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.rmi.NotBoundException;
import java.rmi.Remote;
import java.rmi.RemoteException;
import java.rmi.registry.LocateRegistry;
import java.rmi.registry.Registry;
import java.rmi.server.RMISocketFactory;
import java.rmi.server.UnicastRemoteObject;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntConsumer;

/**
 * Java RMI. The server exports one object, and a registry that names it, on one port of one address. RMI keeps
 * the connection of a call for later ones; streams that ask at the same time have one each. Before a call it
 * pings the other end and waits, unless the connection was used a moment ago: of calls one after the other none
 * had a ping, of 100 in a second nearly each, which makes it two round trips (counted with OpenJDK 17).
 */
public final class Rmi implements Harness.Adapter {
    private static final int BACKLOG = 1024;

    /** What the server offers. */
    public interface Echo extends Remote {
        /** Returns its argument. */
        byte[] ask(byte[] request) throws RemoteException;
    }

    private static final class Server implements Echo {
        private Sockets sockets;

        @Override
        public byte[] ask(byte[] request) throws RemoteException {
            sockets.checkAccepted();
            return request;
        }
    }

    /** Anybody who reaches the port may send serialized objects; a request is an array of bytes. */
    private static ObjectInputFilter.Status filterRequest(ObjectInputFilter.FilterInfo info) {
        Class<?> type = info.serialClass();
        if (type == null) {
            return ObjectInputFilter.Status.UNDECIDED; // the size of the stream so far
        }
        return type == byte[].class ? ObjectInputFilter.Status.ALLOWED : ObjectInputFilter.Status.REJECTED;
    }

    /** Sockets of both ends, at the addresses of the settings. Keeps the latest of each kind. */
    private static final class Sockets extends RMISocketFactory {
        private final Harness.Settings settings;
        private volatile ServerSocket listener;
        private volatile Socket latest;
        private volatile Socket accepted; // the first; RMI may be about to set TCP_NODELAY for a later one
        private volatile boolean checked;

        Sockets(Harness.Settings settings) {
            this.settings = settings;
        }

        @Override
        public ServerSocket createServerSocket(int port) throws IOException {
            InetAddress address = InetAddress.getByName(settings.address);
            listener = new ServerSocket(port, BACKLOG, address) {
                @Override
                public Socket accept() throws IOException {
                    Socket socket = super.accept();
                    if (accepted == null) {
                        accepted = socket;
                    }
                    return socket;
                }
            };
            return listener;
        }

        /** The first connection that was accepted has TCP_NODELAY. */
        void checkAccepted() throws RemoteException {
            if (checked) {
                return;
            }
            try {
                if (!accepted.getTcpNoDelay()) {
                    throw new RemoteException("TCP_NODELAY is off at the server");
                }
            } catch (SocketException failure) {
                return; // it was closed
            }
            checked = true;
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            Socket socket = new Socket();
            if (!settings.localAddress.isEmpty()) {
                socket.bind(new InetSocketAddress(settings.localAddress, 0));
            }
            socket.connect(new InetSocketAddress(host, port));
            latest = socket;
            return socket;
        }
    }

    private static final class Client implements Harness.Client {
        private final Echo echo;

        Client(Echo echo) {
            this.echo = echo;
        }

        @Override
        public byte[] ask(byte[] request) {
            try {
                return echo.ask(request);
            } catch (RemoteException failure) {
                throw new Harness.AdapterError("reply", findCause(failure));
            }
        }

        /** Connections are RMI's: it closes those that nobody uses any more. */
        @Override
        public void close() {}
    }

    private final Server server = new Server(); // RMI itself would not keep it from the garbage collector
    private Sockets sockets;

    /** The text of a RemoteException has those of all its causes, on several lines. */
    private static String findCause(Throwable failure) {
        Throwable cause = failure;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause.getMessage() != null ? cause.getMessage() : cause.toString();
    }

    /** The factory of this process, which can be set once; all streams have the same addresses. */
    private synchronized void useSockets(Harness.Settings settings) throws IOException {
        if (sockets == null) {
            sockets = new Sockets(settings);
            RMISocketFactory.setSocketFactory(sockets);
        }
    }

    @Override
    public Harness.Client connect(Harness.Settings settings) {
        try {
            useSockets(settings);
            Registry registry = LocateRegistry.getRegistry(settings.address, settings.port);
            return new Client((Echo) registry.lookup(settings.scope));
        } catch (IOException | NotBoundException failure) {
            String where = settings.address + " port " + settings.port;
            throw new Harness.AdapterError("connect", where + ": " + findCause(failure));
        }
    }

    @Override
    public void answer(Harness.Settings settings, IntConsumer ready) throws Exception {
        System.setProperty("java.rmi.server.hostname", settings.address);
        sockets = new Sockets(settings);
        server.sockets = sockets;
        Registry registry = LocateRegistry.createRegistry(settings.port, null, sockets);
        Remote stub =
                UnicastRemoteObject.exportObject(server, settings.port, null, sockets, Rmi::filterRequest);
        registry.bind(settings.scope, stub);
        ready.accept(sockets.listener.getLocalPort());
        new CountDownLatch(1).await(); // RMI answers in threads of its own
    }

    @Override
    public String versions() {
        return "Java " + System.getProperty("java.version");
    }

    @Override
    public String settings(Harness.Client client) {
        try {
            return client == null ? "{}" : "{\"no_delay\":" + sockets.latest.getTcpNoDelay() + "}";
        } catch (SocketException failure) {
            throw new Harness.AdapterError("connect", failure.toString());
        }
    }

    public static void main(String[] args) {
        Harness.run(args, new Rmi());
    }
}
