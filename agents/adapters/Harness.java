import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The harness of technologies in Java: loop, clock, histogram and records of CONTRACT.md. An adapter's main() calls
 * Harness.run(args, adapter). native/src/adapter is the same in C; both pass the vectors of tests/data.
 */
public final class Harness {
    /** What an adapter's file implements. */
    public interface Adapter {
        /** Opens a connection, which all requests of a stream use. */
        Client connect(Settings settings) throws Exception;

        /** The server, or the responder beside one: calls ready with its port, then serves until the process ends. */
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
    static final long SETTLE_NS = 200_000_000;
    static final long SPIN_NS = 60_000;
    static final int CONTRACT = 1;
    static final int CONNECTING = 0;
    static final int FIRST_REPLY = 1;
    static final int READY = 2;
    static final int RUNNING = 3;
    static final int DONE = 4;
    static final int CLOSED = 5;
    static final int FAILED = 6;
    private static final Map<String, Integer> STATUSES =
            Map.of("contract", 2, "needs", 3, "start", 3, "port", 3, "connect", 3, "limit", 6);
    private static final Map<String, String> REASONS =
            Map.of("stop", "stopped by the controller", "signal", "ended by a signal", "gone", "the controller is gone");

    private Harness() {}

    /** Reads the settings. AdapterError of stage "contract" names the key. */
    static final class SettingsReader {
        private static final Pattern MEMBER =
                Pattern.compile("\\s*\"([^\"\\\\]*)\"\\s*:\\s*(\"(?:[^\"\\\\]|\\\\.)*\"|\\[[^\\]]*\\]|[^\\s,}\\[\\]]+)\\s*");
        private final Map<String, String> values = new HashMap<>();
        private static final List<String> KNOWN =
                List.of(
                        "contract", "name", "variant", "role", "address", "port", "local_address", "folder", "bytes",
                        "streams", "interval_ns", "warmup_ns", "duration_ns", "rate_per_s", "stall_ns", "priority",
                        "cores", "requests");

        static Settings read(String json, String role) {
            SettingsReader reader = new SettingsReader();
            reader.split(json);
            Settings settings = new Settings();
            settings.name = reader.text("name", settings.name);
            settings.variant = reader.text("variant", "");
            settings.role = reader.text("role", role);
            settings.address = reader.text("address", settings.address);
            settings.localAddress = reader.text("local_address", "");
            settings.folder = reader.text("folder", "");
            settings.port = (int) reader.integer("port", 0, 0, 65535);
            settings.bytes = (int) reader.integer("bytes", 64, 4, 65536);
            settings.streams = (int) reader.integer("streams", 1, 1, 1024);
            settings.intervalNs = reader.integer("interval_ns", SECOND_NS, SECOND_NS / 100, 10 * SECOND_NS);
            settings.warmupNs = reader.integer("warmup_ns", 0, 0, DAY_NS);
            settings.durationNs = reader.integer("duration_ns", 2 * SECOND_NS, 1, DAY_NS);
            settings.ratePerS = reader.integer("rate_per_s", -1, 1, 100_000_000);
            settings.stallNs = reader.integer("stall_ns", SECOND_NS, SECOND_NS / 1000, DAY_NS);
            settings.priority = reader.integer("priority", -1, 1, 98);
            settings.requests = reader.integer("requests", -1, 1, Long.MAX_VALUE / 2);
            reader.cores(settings.cores);
            long contract = reader.integer("contract", CONTRACT, Long.MIN_VALUE, Long.MAX_VALUE);
            if (contract != CONTRACT)
                throw refuse("this program has contract " + CONTRACT + ", its settings have " + contract);
            if (!settings.role.equals(role))
                throw refuse("settings: role is '" + settings.role + "', the command line has '" + role + "'");
            if (settings.requests > 0 && settings.requests < settings.streams)
                throw refuse("settings: " + settings.requests + " requests for " + settings.streams + " streams");
            return settings;
        }

        private static AdapterError refuse(String text) {
            return new AdapterError("contract", text);
        }

        private void split(String json) {
            String body = json.strip();
            if (!body.startsWith("{") || !body.endsWith("}") || body.length() < 2)
                throw refuse("settings: not a JSON object: '" + cut(json) + "'");
            body = body.substring(1, body.length() - 1);
            Matcher matcher = MEMBER.matcher(body);
            int at = 0;
            while (at < body.length() && !(values.isEmpty() && body.isBlank())) {
                if (!matcher.find(at) || matcher.start() != at)
                    throw refuse("settings: not a JSON object, at '" + cut(body.substring(at)) + "'");
                if (!KNOWN.contains(matcher.group(1)))
                    throw refuse("settings: unknown key '" + cut(matcher.group(1)) + "'");
                values.put(matcher.group(1), matcher.group(2));
                at = matcher.end();
                if (at < body.length() && (body.charAt(at) != ',' || ++at == body.length()))
                    throw refuse("settings: not a JSON object, at '" + cut(body.substring(at - 1)) + "'");
            }
        }

        private static String cut(String text) {
            return text.substring(0, Math.min(text.length(), 20));
        }

        private String text(String key, String absent) {
            String value = values.get(key);
            if (value == null) return absent;
            if (!value.startsWith("\"")) throw refuse("settings: " + key + " must be a text");
            return unescape(value.substring(1, value.length() - 1));
        }

        private static String unescape(String text) {
            StringBuilder plain = new StringBuilder();
            for (int i = 0; i < text.length(); i++) {
                char here = text.charAt(i);
                if (here != '\\') {
                    plain.append(here);
                } else if (text.charAt(++i) == 'u') {
                    if (i + 4 >= text.length()) throw refuse("settings: an escape is incomplete");
                    plain.append((char) Integer.parseInt(text.substring(i + 1, i + 5), 16));
                    i += 4;
                } else {
                    int known = "\"\\/bfnrt".indexOf(text.charAt(i));
                    if (known < 0) throw refuse("settings: an escape is unknown");
                    plain.append("\"\\/\b\f\n\r\t".charAt(known));
                }
            }
            return plain.toString();
        }

        /** An absent value below 0 means that null is allowed, and is 0 then. */
        private long integer(String key, long absent, long minimum, long maximum) {
            String value = values.get(key);
            boolean nullable = absent < 0 || key.equals("port");
            if (value == null || (nullable && value.equals("null"))) return Math.max(absent, 0);
            try {
                double number = Double.parseDouble(value);
                long whole = value.matches("-?\\d+") ? Long.parseLong(value) : (long) number;
                if (whole >= minimum && whole <= maximum && (double) whole == number) return whole;
            } catch (NumberFormatException error) {
                // refused below
            }
            String range = minimum + " to " + maximum;
            throw refuse("settings: " + key + " must be " + (absent < 0 ? "null or " : "") + "a whole number, " + range);
        }

        private void cores(List<Long> cores) {
            String value = values.get("cores");
            if (value == null || value.equals("null") || value.replaceAll("\\s", "").equals("[]")) return;
            try {
                for (String core : value.substring(1, value.length() - 1).split(",")) cores.add(Long.parseLong(core.strip()));
            } catch (NumberFormatException error) {
                throw refuse("settings: cores must be a list of cores");
            }
        }
    }

    /** Durations in ns as the engine's base/histogram.c counts them: 128 steps per octave. */
    static final class Durations {
        static final long MAX_NS = (1L << 62) - 1;
        final long[] counts = new long[7168];
        long count;
        long minNs = MAX_NS;
        long maxNs;
        double sumNs;
        private long partNs; // exact, moved to the sum before it overflows

        void add(long valueNs) {
            long value = valueNs < 0 ? 0 : Math.min(valueNs, MAX_NS);
            int shift = Math.max(56 - Long.numberOfLeadingZeros(value | 1), 0);
            counts[(shift << 7) + (int) (value >>> shift)]++;
            count++;
            if (value < minNs) minNs = value;
            if (value > maxNs) maxNs = value;
            if (partNs + value < 0) {
                sumNs += partNs;
                partNs = 0;
            }
            partNs += value;
        }

        void merge(Durations other) {
            for (int i = 0; i < counts.length; i++) counts[i] += other.counts[i];
            count += other.count;
            minNs = Math.min(minNs, other.minNs);
            maxNs = Math.max(maxNs, other.maxNs);
            sumNs += other.sumNs + other.partNs;
        }

        Long quantile(double ratio) {
            long seen = 0;
            for (int place = 0; place < counts.length; place++) {
                seen += counts[place];
                if (seen > 0 && seen >= ratio * count) {
                    int shift = place < 256 ? 0 : place / 128 - 1;
                    return Math.min(((long) (place - shift * 128 + 1) << shift) - 1, maxNs);
                }
            }
            return null;
        }

        String toJson() {
            if (count == 0) return "{\"count\":0,\"min\":null,\"max\":null,\"mean\":null,\"hdr\":null}";
            double mean = (sumNs + partNs) / count;
            String numbers = "{\"count\":" + count + ",\"min\":" + minNs + ",\"max\":" + maxNs + ",\"mean\":" + mean;
            return numbers + ",\"hdr\":\"" + Base64.getEncoder().encodeToString(encode()) + "\"}";
        }

        /** HdrHistogram's V2 encoding without compression, two significant digits. */
        private byte[] encode() {
            ByteBuffer bytes = ByteBuffer.allocate(40 + 18 * counts.length);
            bytes.position(40);
            long zeros = 0;
            for (long here : counts) {
                if (here == 0) {
                    zeros++;
                    continue;
                }
                if (zeros > 0) putVarint(bytes, zeros == 1 ? 0 : -zeros);
                putVarint(bytes, here);
                zeros = 0;
            }
            int end = bytes.position();
            bytes.putInt(0, 0x1C849313).putInt(4, end - 40).putInt(12, 2).putLong(16, 1);
            bytes.putLong(24, MAX_NS).putDouble(32, 1.0);
            return Arrays.copyOf(bytes.array(), end);
        }

        private static void putVarint(ByteBuffer bytes, long value) {
            long rest = value << 1 ^ value >> 63;
            for (int i = 0; i < 8 && (rest & ~0x7FL) != 0; i++, rest >>>= 7) bytes.put((byte) (rest & 0x7F | 0x80));
            bytes.put((byte) rest);
        }
    }

    /** A part of a trial and the durations that began in it. */
    static final class Interval {
        final long startNs;
        long endNs;
        final Durations durations = new Durations();

        Interval(long startNs, long endNs) {
            this.startNs = startNs;
            this.endNs = endNs;
        }
    }

    /** Durations of one stream by intervals, which another thread takes from complete. */
    static final class Intervals {
        final ConcurrentLinkedQueue<Interval> complete = new ConcurrentLinkedQueue<>();
        private final long intervalNs;
        private final long warmupNs;
        private Interval open;

        Intervals(long intervalNs, long warmupNs) {
            this.intervalNs = intervalNs;
            this.warmupNs = warmupNs;
            open = new Interval(0, warmupNs > 0 ? Math.min(intervalNs, warmupNs) : intervalNs);
        }

        void add(long atNs, long durationNs) {
            if (atNs >= open.endNs) advance(atNs);
            open.durations.add(durationNs);
        }

        /** The grid begins anew after the warm-up. */
        private void advance(long atNs) {
            complete.add(open);
            long baseNs = atNs < warmupNs ? 0 : warmupNs;
            long startNs = baseNs + (atNs - baseNs) / intervalNs * intervalNs;
            long endNs = startNs + intervalNs;
            open = new Interval(startNs, atNs < warmupNs ? Math.min(endNs, warmupNs) : endNs);
        }

        void finish() {
            complete.add(open);
        }
    }

    /** One connection and the loop that asks over it. */
    static final class Stream extends Thread {
        final Settings settings;
        final Durations lateness = new Durations();
        final Intervals intervals;
        final AtomicLong askedNs = new AtomicLong(System.nanoTime()); // since when a reply is awaited; 0: none is
        final AtomicLong sent = new AtomicLong();
        final AtomicLong received = new AtomicLong();
        volatile int state = CONNECTING;
        volatile AdapterError error;
        private final Asking asking;
        private final byte[] request;
        private final ByteBuffer number;
        private boolean behind;

        Stream(Asking asking, int number) {
            this.asking = asking;
            settings = asking.settings.ofStream(number);
            intervals = new Intervals(settings.intervalNs, settings.warmupNs);
            request = new byte[settings.bytes];
            new Random(1).nextBytes(request);
            this.number = ByteBuffer.wrap(request);
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                Client client = asking.adapter.connect(settings);
                enter(FIRST_REPLY);
                checkFirst(client);
                asking.go.await();
                state = RUNNING;
                try {
                    askAll(client);
                } finally {
                    intervals.finish();
                }
                enter(DONE);
                asking.mayClose.await();
                client.close();
                enter(CLOSED);
            } catch (AdapterError failure) {
                fail(failure);
            } catch (Throwable failure) {
                fail(new AdapterError(state == CONNECTING ? "connect" : "reply", failure.toString()));
            }
        }

        private void fail(AdapterError failure) {
            error = failure;
            enter(FAILED);
        }

        private void enter(int next) {
            state = next;
            asking.events.add("");
        }

        private void checkFirst(Client client) throws Exception {
            number.putInt(0, -1);
            byte[] reply = client.ask(request);
            check(reply, -1);
            int at = Arrays.mismatch(request, reply);
            if (at >= 0) {
                String text = "byte %d of the first reply is 0x%02x, expected 0x%02x";
                throw new AdapterError("reply", String.format(text, at, reply[at], request[at]));
            }
            if (settings.stream == 0) asking.describe(client);
            askedNs.set(0);
            enter(READY);
        }

        private void check(byte[] reply, int expected) {
            String asked = Integer.toUnsignedString(expected);
            if (reply == null || reply.length != settings.bytes) {
                String length = (reply == null ? 0 : reply.length) + " bytes, expected " + settings.bytes;
                throw new AdapterError("reply", "request " + asked + ": a reply of " + length);
            }
            int got = (reply[0] & 0xFF) << 24 | (reply[1] & 0xFF) << 16 | (reply[2] & 0xFF) << 8 | reply[3] & 0xFF;
            if (got != expected) {
                String text = "a reply with number " + Integer.toUnsignedString(got) + ", expected " + asked;
                throw new AdapterError("reply", text);
            }
        }

        /** Asks until the trial is over. One after the other, a request is due when the one before has returned. */
        private void askAll(Client client) throws Exception {
            boolean paced = settings.ratePerS > 0;
            long runNs = asking.runNs;
            long endNs = settings.requests > 0 ? NEVER_NS : runNs + settings.warmupNs + settings.durationNs;
            long quota = quota();
            long dueNs = System.nanoTime();
            if (!paced) askedNs.set(dueNs);
            for (long k = 0; k < quota && !asking.over; k++) {
                if (paced) dueNs = dueAt(runNs, k);
                if (dueNs >= endNs || (paced && !awaitDue(dueNs, endNs))) break;
                sent.lazySet(k + 1);
                number.putInt(0, (int) k);
                byte[] reply = client.ask(request);
                long nowNs = System.nanoTime();
                check(reply, (int) k);
                intervals.add(dueNs - runNs, nowNs - dueNs);
                received.lazySet(k + 1);
                askedNs.lazySet(paced ? 0 : nowNs);
                dueNs = nowNs;
            }
            askedNs.set(0);
        }

        private long quota() {
            if (settings.requests == 0) return Long.MAX_VALUE;
            return settings.requests / settings.streams + (settings.stream < settings.requests % settings.streams ? 1 : 0);
        }

        private long dueAt(long runNs, long k) {
            long number = k * settings.streams;
            return runNs + number / settings.ratePerS * SECOND_NS + number % settings.ratePerS * SECOND_NS / settings.ratePerS;
        }

        private boolean awaitDue(long dueNs, long endNs) {
            long nowNs = System.nanoTime();
            while (nowNs < dueNs && !asking.over) {
                if (dueNs - nowNs > SPIN_NS) LockSupport.parkNanos(Math.min(dueNs - nowNs - SPIN_NS, LOOK_NS));
                nowNs = System.nanoTime();
            }
            if (nowNs >= endNs && !behind) {
                behind = true;
                long offeredNs = settings.warmupNs + settings.durationNs;
                long mostNs = Math.max(offeredNs / 100, Math.min(2 * LOOK_NS, offeredNs / 4));
                if (endNs - dueNs > mostNs) return false; // the rate was missed: what is left is not sent
            }
            lateness.add(nowNs - dueNs);
            askedNs.lazySet(nowNs);
            return !asking.over;
        }
    }

    /** What both ends have: the records, and commands, signals and changes of state as one queue. */
    static class End {
        final LinkedBlockingQueue<String> events = new LinkedBlockingQueue<>();
        final Adapter adapter;
        final Settings settings;
        private static final OutputStream RECORDS = new FileOutputStream(FileDescriptor.out);

        End(Adapter adapter, Settings settings) {
            this.adapter = adapter;
            this.settings = settings;
            for (String name : List.of("TERM", "INT"))
                sun.misc.Signal.handle(new sun.misc.Signal(name), signal -> events.add("signal"));
            Thread commands = new Thread(this::readCommands);
            commands.setDaemon(true);
            commands.start();
        }

        private void readCommands() {
            try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                String line;
                while ((line = input.readLine()) != null)
                    if (line.equals("go") || line.equals("stop")) events.add(line);
                    else System.err.println("unknown command ignored; known: go, stop");
            } catch (IOException error) {
                // the end of the commands, too
            }
            events.add("gone");
        }

        static synchronized void write(String type, String fields) {
            try {
                RECORDS.write(("{\"type\":\"" + type + "\"" + fields + "}\n").getBytes(StandardCharsets.UTF_8));
            } catch (IOException error) {
                System.err.println("a record cannot be written to stdout: " + error.getMessage());
                Runtime.getRuntime().halt(6);
            }
        }

        static int writeError(String name, AdapterError error) {
            String text = String.valueOf(error.getMessage());
            text = text.substring(0, Math.min(text.length(), 255));
            write("error", ",\"stage\":" + quote(error.stage) + ",\"text\":" + quote(text));
            System.err.println(name + ": " + quote(text));
            return STATUSES.getOrDefault(error.stage, 4);
        }

        String describeAs(Client client) {
            String settingsJson = adapter.settings(client);
            return "\"versions\":" + quote(adapter.versions()) + ",\"settings\":" + settingsJson.replace('\n', ' ');
        }

        static String quote(String text) {
            if (text == null) return "null";
            StringBuilder quoted = new StringBuilder("\"");
            for (char here : text.toCharArray())
                if (here == '"' || here == '\\') quoted.append('\\').append(here);
                else if (here < 0x20 || here > 0x7E) quoted.append(String.format("\\u%04x", (int) here));
                else quoted.append(here);
            return quoted.append('"').toString();
        }
    }

    /** The asking end: takes commands, writes records and watches the streams. */
    static final class Asking extends End {
        private static final int FIXED = 4;
        final CountDownLatch go = new CountDownLatch(1);
        final CountDownLatch mayClose = new CountDownLatch(1);
        volatile long runNs;
        volatile boolean over;
        private volatile String description = "\"versions\":null,\"settings\":null";
        private final List<Stream> streams = new ArrayList<>();
        private final Durations steady = new Durations();
        private final List<long[]> samples = new ArrayList<>(); // at, CPU, user, system, then received of each stream
        private final long[] edgesNs;
        private AdapterError error;
        private String reason;
        private boolean toldToGo;
        private boolean started;
        private long tickedNs;
        private Stream slow;
        private long slowAskedNs;
        private long slowSinceNs;

        Asking(Adapter adapter, Settings settings) {
            super(adapter, settings);
            long endNs = settings.requests > 0 ? NEVER_NS : settings.warmupNs + settings.durationNs;
            edgesNs = new long[] {settings.warmupNs, endNs};
        }

        void describe(Client client) {
            description = describeAs(client);
        }

        int live() throws InterruptedException {
            int status = 0;
            try {
                boolean granted = setScheduling();
                for (int s = 0; s < settings.streams; s++) streams.add(new Stream(this, s));
                streams.forEach(Thread::start);
                work(granted);
            } catch (AdapterError failure) {
                error = failure;
            } catch (OutOfMemoryError failure) {
                error = new AdapterError("limit", failure.toString());
            }
            if (started) settle();
            if (error != null) {
                status = writeError(settings.name, error);
                reason = error.getMessage();
            } else if (reason != null) {
                status = 5;
            }
            if (started || status == 5) writeResult();
            mayClose.countDown();
            long deadlineNs = System.nanoTime() + settings.stallNs;
            while (error == null && !haveAll(CLOSED) && System.nanoTime() < deadlineNs)
                events.poll(deadlineNs - System.nanoTime(), TimeUnit.NANOSECONDS);
            return status;
        }

        /** Cores and priority of all threads, by the programs of util-linux, since Java has neither. */
        private boolean setScheduling() {
            String pid = Long.toString(ProcessHandle.current().pid());
            if (!settings.cores.isEmpty()) {
                List<String> cores = new ArrayList<>();
                for (long core : settings.cores) cores.add(Long.toString(core));
                if (!runTool("taskset", "-a", "-c", "-p", String.join(",", cores), pid))
                    throw new AdapterError("limit", "the program cannot run on cores " + settings.cores);
            }
            return settings.priority > 0 && runTool("chrt", "-a", "-f", "-p", Long.toString(settings.priority), pid);
        }

        private static boolean runTool(String... words) {
            try {
                ProcessBuilder builder = new ProcessBuilder(words);
                builder.redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD);
                return builder.start().waitFor() == 0;
            } catch (IOException | InterruptedException error) {
                return false;
            }
        }

        private void work(boolean granted) throws InterruptedException {
            if (!await(() -> haveAll(READY))) return;
            double[] cost = measureRecording();
            String messages = "\"bytes\":" + settings.bytes + ",\"replies\":true,\"offered_per_s\":"
                    + (settings.ratePerS > 0 ? settings.ratePerS : "null") + ",\"priority\":"
                    + (granted ? settings.priority : "null") + ",\"clock_ns\":" + cost[0] + ",\"record_ns\":" + cost[1];
            write("ready", ",\"messages\":{" + messages + "},\"streams\":" + settings.streams + ",\"cores\":"
                    + settings.cores + ",\"adapter\":{" + description + ",\"hop_ns\":null}");
            if (!await(() -> toldToGo)) return;
            started = true;
            long at = System.nanoTime();
            runNs = at;
            if (settings.warmupNs == 0) takeSample(0);
            Instant real = Instant.now();
            long realNs = real.getEpochSecond() * SECOND_NS + real.getNano() - (System.nanoTime() - at);
            go.countDown();
            write("start", ",\"monotonic_ns\":" + at + ",\"realtime_ns\":" + realNs);
            await(() -> haveAll(DONE));
        }

        private boolean await(BooleanSupplier reached) throws InterruptedException {
            for (;;) {
                takeFailures();
                if (error != null || reason != null) return false;
                if (reached.getAsBoolean()) return true;
                step(NEVER_NS);
            }
        }

        private void takeFailures() {
            for (Stream stream : streams) if (error == null && stream.state == FAILED) error = stream.error;
        }

        private boolean haveAll(int state) {
            return streams.stream().allMatch(stream -> stream.state >= state);
        }

        /** Waits for one event: a command, a change of state, the end of an interval or of patience. */
        private void step(long deadlineNs) throws InterruptedException {
            long nowNs = System.nanoTime();
            deadlineNs = Math.min(deadlineNs, watch(nowNs));
            if (started) deadlineNs = Math.min(deadlineNs, nextTick());
            String command = events.poll(Math.max(deadlineNs - nowNs, 0), TimeUnit.NANOSECONDS);
            toldToGo |= "go".equals(command);
            if (command != null && reason == null) reason = REASONS.get(command);
            nowNs = System.nanoTime();
            if (started && nowNs >= nextTick()) {
                while (samples.size() < 2 && nowNs - runNs >= edgesNs[samples.size()]) takeSample(nowNs - runNs);
                tickedNs = nowNs - runNs;
                collect();
            }
        }

        /** When the open interval ends; the grid begins anew with each phase. */
        private long nextTick() {
            long edgeNs = samples.size() < 2 ? edgesNs[samples.size()] : NEVER_NS;
            long gridNs = tickedNs >= edgesNs[1] ? edgesNs[1] : tickedNs >= edgesNs[0] ? edgesNs[0] : 0;
            long passed = (tickedNs - gridNs) / settings.intervalNs + 1;
            return runNs + Math.min(edgeNs, gridNs + passed * settings.intervalNs);
        }

        /** Fails where a reply is late, if that is seen twice; when to look next. */
        private long watch(long nowNs) {
            long nextNs = NEVER_NS;
            for (Stream stream : streams) {
                long askedNs = stream.askedNs.get();
                if (askedNs == 0 || stream.state == FAILED || error != null) continue;
                long limitNs = askedNs + (stream.state < READY ? CONNECT_NS : settings.stallNs);
                if (nowNs >= limitNs) {
                    if (slow != stream || slowAskedNs != askedNs) {
                        slow = stream;
                        slowAskedNs = askedNs;
                        slowSinceNs = nowNs;
                    }
                    limitNs = slowSinceNs + settings.stallNs / 4;
                    if (nowNs >= limitNs) error = describeStall(stream, nowNs - askedNs);
                }
                nextNs = Math.min(nextNs, limitNs);
            }
            return nextNs;
        }

        private static AdapterError describeStall(Stream stream, long waitedNs) {
            String where = " (stream " + stream.settings.stream + ")";
            if (stream.state == CONNECTING) return new AdapterError("connect", "no connection within 10 s" + where);
            if (stream.state == FIRST_REPLY)
                return new AdapterError("stall", "no reply to the first request within 10 s" + where);
            String waited = String.format("no reply for %.3g s, after %d replies", waitedNs / 1e9, stream.received.get());
            return new AdapterError("stall", waited + where);
        }

        /** CPU time of the process without this thread: the sum is exact, the shares are those of up to 10 ms before. */
        private void takeSample(long atNs) {
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
            long sumNs = system.getProcessCpuTime() - threads.getCurrentThreadCpuTime();
            long[] ticks = readTicks();
            long[] sample = new long[FIXED + streams.size()];
            sample[0] = atNs;
            sample[1] = sumNs;
            sample[2] = ticks[0];
            sample[3] = ticks[1];
            for (int s = 0; s < streams.size(); s++) sample[FIXED + s] = streams.get(s).received.get();
            samples.add(sample);
        }

        /** User and system time of the process, in ticks of 10 ms. */
        private static long[] readTicks() {
            try {
                String line = Files.readString(Path.of("/proc/self/stat"));
                String[] values = line.substring(line.lastIndexOf(')') + 2).split(" ");
                return new long[] {Long.parseLong(values[11]), Long.parseLong(values[12])};
            } catch (IOException error) {
                return new long[2];
            }
        }

        private void collect() {
            for (Stream stream : streams) {
                Interval interval;
                while ((interval = stream.intervals.complete.poll()) != null) {
                    boolean warm = interval.startNs >= edgesNs[0];
                    String phase = !warm ? "warmup" : interval.startNs < edgesNs[1] ? "steady" : "drain";
                    if (phase.equals("steady")) steady.merge(interval.durations);
                    if (interval.durations.count == 0) continue;
                    String span = ",\"start_ns\":" + interval.startNs + ",\"end_ns\":" + interval.endNs;
                    write("round_trips", ",\"phase\":\"" + phase + "\",\"stream\":" + stream.settings.stream + span
                            + ",\"round_trip_ns\":" + interval.durations.toJson());
                }
            }
        }

        /** Ends what still runs and waits for it, as long as for a reply. */
        private void settle() throws InterruptedException {
            over = true;
            long deadlineNs = System.nanoTime() + SETTLE_NS;
            while (!haveAll(DONE) && (error == null || System.nanoTime() < deadlineNs)) {
                step(error == null ? NEVER_NS : deadlineNs);
                takeFailures();
            }
            takeFailures();
            if (samples.size() == 1) takeSample(System.nanoTime() - runNs);
            collect();
        }

        private void writeResult() {
            List<Long> sent = new ArrayList<>();
            List<Long> received = new ArrayList<>();
            List<Long> missing = new ArrayList<>();
            List<Long> inOrder = new ArrayList<>();
            Durations late = new Durations();
            for (Stream stream : streams) {
                sent.add(stream.sent.get());
                received.add(stream.received.get());
                missing.add(stream.sent.get() - stream.received.get());
                inOrder.add(0L);
                late.merge(stream.lateness);
            }
            String lateness = "{\"median\":" + late.quantile(0.5) + ",\"p99\":" + late.quantile(0.99) + ",\"max\":"
                    + late.quantile(1.0) + "}";
            write("result", ",\"complete\":" + (reason == null) + ",\"reason\":" + quote(reason)
                    + ",\"messages\":{\"sent\":" + sent + ",\"received\":" + received + ",\"missing\":" + missing
                    + ",\"out_of_order\":" + inOrder + ",\"send_error_ns\":" + (settings.ratePerS > 0 ? lateness : "null")
                    + ",\"round_trip_ns\":" + steady.toJson() + "},\"phases\":{\"steady\":" + steadyJson() + "}");
        }

        private String steadyJson() {
            if (samples.size() < 2) return "null";
            long[] begin = samples.get(0);
            long[] end = samples.get(1);
            List<Long> counts = new ArrayList<>();
            for (int s = FIXED; s < end.length; s++) counts.add(end[s] - begin[s]);
            long sumNs = end[1] - begin[1];
            long user = end[2] - begin[2];
            long ticks = user + end[3] - begin[3];
            long userNs = (long) (sumNs * (ticks > 0 ? (double) user / ticks : 0.5));
            return "{\"start_ns\":" + begin[0] + ",\"end_ns\":" + end[0] + ",\"messages\":" + counts + ",\"user_ns\":"
                    + userNs + ",\"system_ns\":" + (sumNs - userNs) + "}";
        }
    }

    /** The cost of one reading of the clock, and of counting one round trip, ns: medians of short runs. */
    static double[] measureRecording() {
        final int runs = 15;
        final int calls = 20000; // so many that they are compiled
        double[] clocks = new double[runs];
        double[] records = new double[runs];
        Intervals intervals = new Intervals(SECOND_NS, 0);
        for (int run = 0; run < runs; run++) {
            long startNs = System.nanoTime();
            long nowNs = startNs;
            for (int i = 0; i < calls; i++) nowNs = System.nanoTime();
            clocks[run] = (nowNs - startNs) / (double) calls;
            startNs = System.nanoTime();
            for (int i = 0; i < calls; i++) intervals.add(i, 20000 + i * 7L);
            records[run] = (System.nanoTime() - startNs) / (double) calls;
        }
        Arrays.sort(clocks);
        Arrays.sort(records);
        return new double[] {clocks[runs / 2], records[runs / 2]};
    }

    /** The answering end, until stop. */
    private static int answer(Adapter adapter, Settings settings) throws InterruptedException {
        End end = new End(adapter, settings);
        List<AdapterError> failures = new ArrayList<>();
        IntConsumer ready = port -> End.write("listening", ",\"port\":" + port + "," + end.describeAs(null));
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
                String reason = stopped ? "null" : End.quote(REASONS.get(command));
                End.write("result", ",\"complete\":" + stopped + ",\"reason\":" + reason);
                return stopped ? 0 : 5;
            }
            synchronized (failures) {
                if (failures.isEmpty()) continue;
                int status = End.writeError(settings.name, failures.get(0));
                End.write("result", ",\"complete\":false,\"reason\":" + End.quote(failures.get(0).getMessage()));
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
            settings = SettingsReader.read(args[1], args[0]);
        } catch (AdapterError error) {
            failure = error;
        }
        String name = settings == null ? "adapter" : settings.name;
        End.write("hello", ",\"contract\":" + CONTRACT + ",\"program\":" + End.quote(name) + ",\"language\":\"java\""
                + ",\"monotonic_ns\":" + System.nanoTime() + ",\"pid\":" + ProcessHandle.current().pid());
        int status = 6;
        try {
            if (failure != null) status = End.writeError(name, failure);
            else status = args[0].equals("ask") ? new Asking(adapter, settings).live() : answer(adapter, settings);
        } catch (InterruptedException error) {
            status = 5;
        }
        Runtime.getRuntime().halt(status);
    }
}
