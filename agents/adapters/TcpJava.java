/* pathlab-adapter
 * {
 *   "contract": 1, "name": "tcp-java", "title": "TCP in Java", "language": "java", "beneath": "tcp",
 *   "lacks": ["a format of messages"],
 *   "needs": [{"program": "javac", "debian": "default-jdk-headless"}],
 *   "build": [["javac", "-XDignore.symbol.file", "-d", "{program}", "{harness}", "{source}"]],
 *   "port": "own", "protocol": "tcp"
 * }
 * end */

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.function.IntConsumer;

/** TCP by Java's standard library alone: the baseline of all technologies in Java. */
public final class TcpJava implements Harness.Adapter {
    private static final class TcpClient implements Harness.Client {
        private final Socket socket = new Socket();
        private final InputStream input;
        private final OutputStream output;
        private final byte[] reply;

        TcpClient(Harness.Settings settings) throws IOException {
            socket.setTcpNoDelay(true);
            if (!settings.localAddress.isEmpty()) socket.bind(new InetSocketAddress(settings.localAddress, 0));
            socket.connect(new InetSocketAddress(settings.address, settings.port));
            input = socket.getInputStream();
            output = socket.getOutputStream();
            reply = new byte[settings.bytes];
        }

        @Override
        public byte[] ask(byte[] request) throws IOException {
            output.write(request);
            for (int have = 0; have < reply.length; ) {
                int count = input.read(reply, have, reply.length - have);
                if (count < 0) throw new EOFException("the server has closed the connection");
                have += count;
            }
            return reply;
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    @Override
    public Harness.Client connect(Harness.Settings settings) throws IOException {
        return new TcpClient(settings);
    }

    @Override
    public void answer(Harness.Settings settings, IntConsumer ready) throws IOException {
        try (ServerSocket listener = listen(settings)) {
            ready.accept(listener.getLocalPort());
            while (true) {
                Socket connection = listener.accept();
                Thread server = new Thread(() -> serve(connection));
                server.setDaemon(true);
                server.start();
            }
        }
    }

    private static ServerSocket listen(Harness.Settings settings) throws IOException {
        try {
            return new ServerSocket(settings.port, 1024, InetAddress.getByName(settings.address));
        } catch (BindException error) {
            String where = settings.address + " port " + settings.port;
            throw new Harness.AdapterError("port", where + ": " + error.getMessage());
        }
    }

    private static void serve(Socket connection) {
        byte[] data = new byte[65536];
        try (connection) {
            connection.setTcpNoDelay(true);
            InputStream input = connection.getInputStream();
            OutputStream output = connection.getOutputStream();
            for (int count = input.read(data); count > 0; count = input.read(data)) output.write(data, 0, count);
        } catch (IOException error) {
            // the client is gone
        }
    }

    @Override
    public String versions() {
        return "Java " + System.getProperty("java.version");
    }

    @Override
    public String settings(Harness.Client client) {
        try {
            return client == null ? "{}" : "{\"no_delay\":" + ((TcpClient) client).socket.getTcpNoDelay() + "}";
        } catch (IOException error) {
            return "{}";
        }
    }

    public static void main(String[] args) {
        Harness.run(args, new TcpJava());
    }
}
