import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** One connection and the loop that asks over it. */
final class HarnessStream extends Thread {
    final Harness.Settings settings;
    final HarnessDurations lateness = new HarnessDurations();
    final HarnessIntervals intervals;
    final AtomicLong askedNs = new AtomicLong(System.nanoTime()); // since when a reply is awaited; 0: none is
    final AtomicLong sent = new AtomicLong();
    final AtomicLong received = new AtomicLong();
    volatile int state = Harness.CONNECTING;
    volatile Harness.AdapterError error;
    private final HarnessAsking asking;
    private final byte[] request;
    private final ByteBuffer number;
    private boolean behind;
    long slowAskedNs; // of the thread that watches: the request that was seen to be late, and since when
    long slowSinceNs;

    HarnessStream(HarnessAsking asking, int number) {
        this.asking = asking;
        settings = asking.settings.ofStream(number);
        intervals = new HarnessIntervals(settings.intervalNs, settings.warmupNs);
        request = new byte[settings.bytes];
        new Random(1).nextBytes(request);
        this.number = ByteBuffer.wrap(request);
        setDaemon(true);
    }

    @Override
    public void run() {
        try {
            Harness.Client client = asking.adapter.connect(settings);
            enter(Harness.FIRST_REPLY);
            checkFirst(client);
            enter(Harness.WARMING);
            int warmed = warmUp(client);
            if (settings.stream == 0) asking.describe(client, warmed);
            askedNs.set(0);
            enter(Harness.READY);
            asking.go.await();
            state = Harness.RUNNING;
            try {
                askAll(client);
            } finally {
                intervals.finish();
            }
            enter(Harness.DONE);
            asking.mayClose.await();
            client.close();
            enter(Harness.CLOSED);
        } catch (Harness.AdapterError failure) {
            fail(failure);
        } catch (Throwable failure) {
            fail(new Harness.AdapterError(state == Harness.CONNECTING ? "connect" : "reply", failure.toString()));
        }
    }

    private void fail(Harness.AdapterError failure) {
        error = failure;
        enter(Harness.FAILED);
    }

    private void enter(int next) {
        state = next;
        asking.events.add("");
    }

    private void checkFirst(Harness.Client client) throws Exception {
        number.putInt(0, -1);
        byte[] reply = client.ask(request);
        check(reply, -1);
        int at = Arrays.mismatch(request, reply);
        if (at >= 0) {
            String text = "byte %d of the first reply is 0x%02x, expected 0x%02x";
            throw new Harness.AdapterError("reply", String.format(Locale.ROOT, text, at, reply[at], request[at]));
        }
    }

    /** Asks untimed, until both ends are compiled; how often. The numbers of the trial begin at 0 after it. */
    private int warmUp(Harness.Client client) throws Exception {
        int warmed = 0;
        long nowNs = System.nanoTime();
        long endNs = nowNs + Harness.WARM_NS;
        for (; warmed < Harness.WARM_REQUESTS && nowNs < endNs; warmed++) {
            askedNs.lazySet(nowNs);
            check(client.ask(request), -1);
            nowNs = System.nanoTime();
        }
        return warmed;
    }

    private void check(byte[] reply, int expected) {
        String wanted = Integer.toUnsignedString(expected);
        String asked = expected != -1 || state == Harness.RUNNING ? "request " + wanted
                : state == Harness.WARMING ? "an untimed request" : "the first request";
        if (reply == null || reply.length != settings.bytes) {
            String length = (reply == null ? 0 : reply.length) + " bytes, expected " + settings.bytes;
            throw new Harness.AdapterError("reply", asked + ": a reply of " + length);
        }
        int got = (reply[0] & 0xFF) << 24 | (reply[1] & 0xFF) << 16 | (reply[2] & 0xFF) << 8 | reply[3] & 0xFF;
        if (got != expected) {
            String text = ": a reply with number " + Integer.toUnsignedString(got) + ", expected " + wanted;
            throw new Harness.AdapterError("reply", asked + text);
        }
    }

    /** Asks until the trial is over. One after the other, a request is due when the one before has returned. */
    private void askAll(Harness.Client client) throws Exception {
        boolean paced = settings.ratePerS > 0;
        long runNs = asking.runNs;
        long endNs = settings.requests > 0 ? Harness.NEVER_NS : runNs + settings.warmupNs + settings.durationNs;
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
        return runNs + number / settings.ratePerS * Harness.SECOND_NS + number % settings.ratePerS * Harness.SECOND_NS / settings.ratePerS;
    }

    private boolean awaitDue(long dueNs, long endNs) {
        long nowNs = System.nanoTime();
        while (nowNs < dueNs && !asking.over) {
            if (dueNs - nowNs > Harness.SPIN_NS) LockSupport.parkNanos(Math.min(dueNs - nowNs - Harness.SPIN_NS, Harness.LOOK_NS));
            nowNs = System.nanoTime();
        }
        if (nowNs >= endNs && !behind) {
            behind = true;
            long offeredNs = settings.warmupNs + settings.durationNs;
            long mostNs = Math.max(offeredNs / 100, Math.min(2 * Harness.LOOK_NS, offeredNs / 4));
            if (endNs - dueNs > mostNs) return false; // the rate was missed: what is left is not sent
        }
        lateness.add(nowNs - dueNs);
        askedNs.lazySet(nowNs);
        return !asking.over;
    }
}
