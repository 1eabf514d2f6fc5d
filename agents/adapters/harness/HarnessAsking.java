import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** The asking end: takes commands, writes records and watches the streams. */
final class HarnessAsking extends HarnessEnd {
    private static final int FIXED = 4;
    final CountDownLatch go = new CountDownLatch(1);
    final CountDownLatch mayClose = new CountDownLatch(1);
    volatile long runNs;
    volatile boolean over;
    private volatile String description = "\"versions\":null,\"settings\":null";
    private final List<HarnessStream> streams = new ArrayList<>();
    private final HarnessDurations steady = new HarnessDurations();
    private final List<long[]> samples = new ArrayList<>(); // at, CPU, user, system, then received of each stream
    private final long[] edgesNs;
    private Harness.AdapterError error;
    private String reason;
    private boolean toldToGo;
    private boolean started;
    private long tickedNs;
    private final long lookAgainNs;

    HarnessAsking(Harness.Adapter adapter, Harness.Settings settings) {
        super(adapter, settings);
        long endNs = settings.requests > 0 ? Harness.NEVER_NS : settings.warmupNs + settings.durationNs;
        edgesNs = new long[] {settings.warmupNs, endNs};
        lookAgainNs = Math.min(settings.stallNs / 4, Harness.LOOK_AGAIN_NS);
    }

    /** The adapter's settings, and how many untimed requests the first stream has sent. */
    void describe(Harness.Client client, int warmRequests) {
        String stated = describeAs(client).stripTrailing();
        if (stated.endsWith("}")) {
            stated = stated.substring(0, stated.length() - 1).stripTrailing();
            stated += (stated.endsWith("{") ? "" : ",") + "\"warm_requests\":" + warmRequests + "}";
        }
        description = stated;
    }

    int live() throws InterruptedException {
        int status = 0;
        try {
            boolean granted = setScheduling();
            for (int s = 0; s < settings.streams; s++) streams.add(new HarnessStream(this, s));
            streams.forEach(Thread::start);
            work(granted);
        } catch (Harness.AdapterError failure) {
            error = failure;
        } catch (OutOfMemoryError failure) {
            error = new Harness.AdapterError("limit", failure.toString());
        }
        if (started) settle();
        if (error != null) {
            status = writeError(settings.name, error);
            reason = error.getMessage();
        } else if (reason != null) {
            status = 5;
        }
        if (started || status == 5) writeResult();
        if (error == null && haveAll(Harness.DONE)) close();
        return status;
    }

    private void close() throws InterruptedException {
        mayClose.countDown();
        long deadlineNs = System.nanoTime() + settings.stallNs;
        while (!haveAll(Harness.CLOSED) && System.nanoTime() < deadlineNs)
            events.poll(deadlineNs - System.nanoTime(), TimeUnit.NANOSECONDS);
    }

    /** Cores and priority of all threads, by the programs of util-linux, since Java has neither. */
    private boolean setScheduling() {
        String pid = Long.toString(ProcessHandle.current().pid());
        if (!settings.cores.isEmpty()) {
            List<String> cores = new ArrayList<>();
            for (long core : settings.cores) cores.add(Long.toString(core));
            if (!runTool("taskset", "-a", "-c", "-p", String.join(",", cores), pid))
                throw new Harness.AdapterError("limit", "the program cannot run on cores " + settings.cores);
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
        if (!await(() -> haveAll(Harness.READY))) return;
        double[] cost = HarnessIntervals.measureRecording();
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
        long realNs = real.getEpochSecond() * Harness.SECOND_NS + real.getNano() - (System.nanoTime() - at);
        go.countDown();
        write("start", ",\"monotonic_ns\":" + at + ",\"realtime_ns\":" + realNs);
        await(() -> haveAll(Harness.DONE));
    }

    private boolean await(BooleanSupplier reached) throws InterruptedException {
        for (;;) {
            boolean isReached = reached.getAsBoolean(); // before the failures, which also count as reached
            takeFailures();
            if (error != null || reason != null) return false;
            if (isReached) return true;
            step(Harness.NEVER_NS);
        }
    }

    private void takeFailures() {
        for (HarnessStream stream : streams) if (error == null && stream.state == Harness.FAILED) error = stream.error;
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
        if (command != null && reason == null) reason = Harness.REASONS.get(command);
        nowNs = System.nanoTime();
        if (started && nowNs >= nextTick()) {
            while (samples.size() < 2 && nowNs - runNs >= edgesNs[samples.size()]) takeSample(nowNs - runNs);
            tickedNs = nowNs - runNs;
            collect();
        }
    }

    /** When the open interval ends; the grid begins anew with each phase. */
    private long nextTick() {
        long edgeNs = samples.size() < 2 ? edgesNs[samples.size()] : Harness.NEVER_NS;
        long gridNs = tickedNs >= edgesNs[1] ? edgesNs[1] : tickedNs >= edgesNs[0] ? edgesNs[0] : 0;
        long passed = (tickedNs - gridNs) / settings.intervalNs + 1;
        return runNs + Math.min(edgeNs, gridNs + passed * settings.intervalNs);
    }

    /** Fails where a reply is late, if that is seen twice; when to look next. */
    private long watch(long nowNs) {
        // Whatever is requested from now on is late after this.
        long nextNs = nowNs + (started ? settings.stallNs : Harness.CONNECT_NS);
        for (HarnessStream stream : streams) {
            long askedNs = stream.askedNs.get();
            if (askedNs == 0 || stream.state == Harness.FAILED || error != null) continue;
            long limitNs = askedNs + (stream.state < Harness.READY ? Harness.CONNECT_NS : settings.stallNs);
            if (nowNs >= limitNs) {
                if (stream.slowAskedNs != askedNs) {
                    stream.slowAskedNs = askedNs;
                    stream.slowSinceNs = nowNs;
                }
                limitNs = stream.slowSinceNs + lookAgainNs;
                if (nowNs >= limitNs) error = describeStall(stream, nowNs - askedNs);
            }
            nextNs = Math.min(nextNs, limitNs);
        }
        return nextNs;
    }

    private static Harness.AdapterError describeStall(HarnessStream stream, long waitedNs) {
        String where = " (stream " + stream.settings.stream + ")";
        if (stream.state == Harness.CONNECTING) return new Harness.AdapterError("connect", "no connection within 10 s" + where);
        if (stream.state == Harness.FIRST_REPLY)
            return new Harness.AdapterError("stall", "no reply to the first request within 10 s" + where);
        if (stream.state == Harness.WARMING)
            return new Harness.AdapterError("stall", "no reply to an untimed request within 10 s" + where);
        BigDecimal seconds = BigDecimal.valueOf(waitedNs, 9).round(new MathContext(3)).stripTrailingZeros();
        String waited = "no reply for " + seconds.toPlainString() + " s, after " + stream.received.get() + " replies";
        return new Harness.AdapterError("stall", waited + where);
    }

    private void takeSample(long atNs) {
        long[] ticks = readTicks();
        long[] sample = new long[FIXED + streams.size()];
        sample[0] = atNs;
        sample[1] = readCpuNs();
        sample[2] = ticks[0];
        sample[3] = ticks[1];
        for (int s = 0; s < streams.size(); s++)
            sample[FIXED + s] = streams.get(s).received.get();
        samples.add(sample);
    }

    /** CPU time of all threads but this one, among them those of the JVM; its own bean counts in ticks of 10 ms. */
    private static long readCpuNs() {
        long sumNs = 0;
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path thread : threads) {
                try {
                    String line = Files.readString(thread.resolve("schedstat"));
                    sumNs += Long.parseLong(line.substring(0, line.indexOf(' ')));
                } catch (NoSuchFileException error) {
                    // it has ended
                }
            }
        } catch (IOException error) {
            return 0;
        }
        return sumNs - ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
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
        for (HarnessStream stream : streams) {
            HarnessIntervals.Interval interval;
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

    /** Ends what still runs and waits for it: as long as for a reply, and shortly after a failure. */
    private void settle() throws InterruptedException {
        over = true;
        // A second look more than watch() needs, which names the stream that has stalled.
        long deadlineNs = System.nanoTime() + settings.stallNs + 2 * lookAgainNs;
        boolean failed = false;
        while (!haveAll(Harness.DONE) && System.nanoTime() < deadlineNs) {
            takeFailures();
            if (error != null && !failed) {
                failed = true;
                deadlineNs = Math.min(deadlineNs, System.nanoTime() + Harness.SETTLE_NS);
            }
            step(deadlineNs);
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
        HarnessDurations late = new HarnessDurations();
        for (HarnessStream stream : streams) {
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
        long sumNs = Math.max(end[1] - begin[1], 0);
        long user = end[2] - begin[2];
        long ticks = user + end[3] - begin[3];
        long userNs = (long) (sumNs * (ticks > 0 ? (double) user / ticks : 0.5));
        return "{\"start_ns\":" + begin[0] + ",\"end_ns\":" + end[0] + ",\"messages\":" + counts + ",\"user_ns\":"
                + userNs + ",\"system_ns\":" + (sumNs - userNs) + "}";
    }
}
