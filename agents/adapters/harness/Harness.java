import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;

/**
 * The harness of technologies in Java: loop, clock, histogram and records of CONTRACT.md. An adapter's main() calls
 * Harness.run(args, adapter). native/src/adapter is the same in C; both pass the vectors of tests/data.
 */
public final class Harness {
    /** What an adapter's file implements. */
    public interface Adapter {
        /** Opens a connection, which all requests of a stream use. */
        Client connect(Settings settings) throws Exception;

        /** The server, or the responder alongside one: calls ready with its port, then serves until the process ends. */
        default void answer(Settings settings, IntConsumer ready) throws Exception {
            throw new AdapterError("contract", settings.name + " has no answer()");
        }

        /** Versions, such as "Java 17.0.1". */
        String versions();

        /** A JSON object of the settings in use, as read back; the client is null at the answering end. */
        default String settings(Client client) {
            return "{}";
        }
    }

    /** One connection, used by one thread. */
    public interface Client {
        /** The request's bytes as they came back. The array of the request is used again. */
        byte[] ask(byte[] request) throws Exception;

        void close() throws Exception;
    }

    /** A failure of an adapter, with its stage as in CONTRACT.md. */
    public static final class AdapterError extends RuntimeException {
        private static final long serialVersionUID = 1;
        final String stage;

        public AdapterError(String stage, String text) {
            super(text);
            this.stage = stage;
        }
    }

    /** What the program was told. */
    public static final class Settings implements Cloneable {
        public String name = "adapter";
        public String variant = "";
        public String role;
        public String address = "127.0.0.1";
        public String localAddress = "";
        public String folder = "";
        public String scope = "pathlab";
        public int port;
        public int stream;
        public int streams;
        public int bytes;
        long intervalNs;
        long warmupNs;
        long durationNs;
        long stallNs;
        long ratePerS; // 0: one after the other
        long priority; // 0: none
        long requests; // 0: the trial ends by time
        List<Long> cores = new ArrayList<>();

        Settings ofStream(int number) {
            try {
                Settings copy = (Settings) clone();
                copy.stream = number;
                return copy;
            } catch (CloneNotSupportedException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    static final long SECOND_NS = 1_000_000_000L;
    static final long DAY_NS = 86_400 * SECOND_NS;
    static final long NEVER_NS = Long.MAX_VALUE / 2;
    static final long CONNECT_NS = 10 * SECOND_NS;
    static final long LOOK_NS = 50_000_000;
    static final long SETTLE_NS = 200_000_000; // for the other streams, after one has failed
    static final long LOOK_AGAIN_NS = 2 * SECOND_NS; // at most, between two looks at a reply that is late
    static final long SPIN_NS = 60_000;
    static final int CONTRACT = 1;
    static final int CONNECTING = 0;
    static final int FIRST_REPLY = 1;
    static final int WARMING = 2;
    static final int READY = 3;
    static final int RUNNING = 4;
    static final int DONE = 5;
    static final int CLOSED = 6;
    static final int FAILED = 7;
    static final int WARM_REQUESTS = 20_000; // on each stream, so that the JVMs of both ends have compiled what they run
    static final long WARM_NS = 3 * SECOND_NS; // at most for them
    static final Map<String, Integer> STATUSES =
            Map.of("contract", 2, "needs", 3, "start", 3, "port", 3, "connect", 3, "limit", 6);
    static final Map<String, String> REASONS =
            Map.of("stop", "stopped by the controller", "signal", "ended by a signal", "gone", "the controller is gone");

    private Harness() {}

    /** The answering end, until stop. */
    private static int answer(Adapter adapter, Settings settings) throws InterruptedException {
        HarnessEnd end = new HarnessEnd(adapter, settings);
        List<AdapterError> failures = new ArrayList<>();
        IntConsumer ready = port -> HarnessEnd.write("listening", ",\"port\":" + port + "," + end.describeAs(null));
        Thread server = new Thread(() -> {
            AdapterError failure = new AdapterError("exit", "the server ended by itself");
            try {
                adapter.answer(settings, ready);
            } catch (AdapterError error) {
                failure = error;
            } catch (Throwable error) {
                failure = new AdapterError("start", error.toString());
            }
            synchronized (failures) {
                failures.add(failure);
            }
            end.events.add("");
        });
        server.setDaemon(true);
        server.start();
        for (;;) {
            String command = end.events.take();
            if (REASONS.containsKey(command)) {
                boolean stopped = command.equals("stop");
                String reason = stopped ? "null" : HarnessEnd.quote(REASONS.get(command));
                HarnessEnd.write("result", ",\"complete\":" + stopped + ",\"reason\":" + reason);
                return stopped ? 0 : 5;
            }
            synchronized (failures) {
                if (failures.isEmpty()) continue;
                int status = HarnessEnd.writeError(settings.name, failures.get(0));
                HarnessEnd.write("result", ",\"complete\":false,\"reason\":" + HarnessEnd.quote(failures.get(0).getMessage()));
                return status;
            }
        }
    }

    /** Lives as the program "ask SETTINGS" or "answer SETTINGS" of an adapter; ends the process. */
    public static void run(String[] args, Adapter adapter) {
        System.setOut(System.err); // what anything else prints is not among the records
        if (args.length != 2 || !(args[0].equals("ask") || args[0].equals("answer"))) {
            System.err.println("usage: ask|answer SETTINGS, with settings as JSON");
            Runtime.getRuntime().halt(2);
        }
        Settings settings = null;
        AdapterError failure = null;
        try {
            settings = HarnessSettings.read(args[1], args[0]);
        } catch (AdapterError error) {
            failure = error;
        }
        String name = settings == null ? "adapter" : settings.name;
        HarnessEnd.write("hello", ",\"contract\":" + CONTRACT + ",\"program\":" + HarnessEnd.quote(name) + ",\"language\":\"java\""
                + ",\"monotonic_ns\":" + System.nanoTime() + ",\"pid\":" + ProcessHandle.current().pid());
        int status = 6;
        try {
            if (failure != null) status = HarnessEnd.writeError(name, failure);
            else status = args[0].equals("ask") ? new HarnessAsking(adapter, settings).live() : answer(adapter, settings);
        } catch (InterruptedException error) {
            status = 5;
        }
        Runtime.getRuntime().halt(status);
    }
}
