import java.util.Arrays;
import java.util.concurrent.ConcurrentLinkedQueue;

/** HarnessDurations of one stream by intervals, which another thread takes from complete. */
final class HarnessIntervals {
    /** A part of a trial and the durations that began in it. */
    static final class Interval {
        final long startNs;
        long endNs;
        final HarnessDurations durations = new HarnessDurations();

        Interval(long startNs, long endNs) {
            this.startNs = startNs;
            this.endNs = endNs;
        }
    }

    final ConcurrentLinkedQueue<Interval> complete = new ConcurrentLinkedQueue<>();
    private final long intervalNs;
    private final long warmupNs;
    private Interval open;

    HarnessIntervals(long intervalNs, long warmupNs) {
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

    /** The cost of one reading of the clock, and of counting one round trip, ns: medians of short runs. */
    static double[] measureRecording() {
        final int runs = 15;
        final int calls = 20000; // so many that they are compiled
        double[] clocks = new double[runs];
        double[] records = new double[runs];
        HarnessIntervals intervals = new HarnessIntervals(Harness.SECOND_NS, 0);
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
}
