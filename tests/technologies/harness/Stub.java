import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.IntConsumer;

/**
 * A technology without a network that misbehaves as its variant says: from the first request on (mute, second: only the
 * second stream), after a few untimed requests (warm-mute, warm-short), or after a few replies of the trial. It states on stderr when it hangs.
 */
public final class Stub implements Harness.Adapter {
    private static final int GOOD = 5;

    private static final class StubClient implements Harness.Client {
        private final String variant;
        private final int stream;
        private int asked;
        private byte[] reply;

        StubClient(Harness.Settings settings) {
            variant = settings.variant;
            stream = settings.stream;
        }

        private boolean hangs(boolean late) {
            boolean second = variant.equals("second") && stream == 1;
            return second || variant.equals("mute") || (late && variant.equals("hang"));
        }

        @Override
        public byte[] ask(byte[] request) throws InterruptedException {
            int number = ByteBuffer.wrap(request).getInt(); // -1 before the trial
            boolean late = number >= GOOD;
            boolean warming = number < 0 && asked++ > GOOD;
            if (variant.equals("chatty") && !warming) System.out.println("this is no record");
            if (!(late && variant.equals("stale"))) reply = request.clone();
            if (variant.equals("corrupt")) reply[5] = (byte) ~request[5];
            if ((late && variant.equals("short")) || variant.equals("brief")) return Arrays.copyOf(reply, reply.length - 1);
            if (late && variant.equals("long")) return Arrays.copyOf(reply, reply.length + 1);
            if (warming && variant.equals("warm-short")) return Arrays.copyOf(reply, reply.length - 1);
            if (hangs(late) || (warming && variant.equals("warm-mute"))) {
                System.err.println("hangs");
                Thread.sleep(Long.MAX_VALUE);
            }
            if (late && variant.equals("fail")) throw new Harness.AdapterError("reply", "the stub has failed");
            return reply;
        }

        @Override
        public void close() {}
    }

    @Override
    public Harness.Client connect(Harness.Settings settings) {
        if (settings.variant.equals("refuse"))
            throw new Harness.AdapterError("connect", "refused as port " + settings.port);
        return new StubClient(settings);
    }

    @Override
    public void answer(Harness.Settings settings, IntConsumer ready) throws InterruptedException {
        if (settings.variant.equals("taken"))
            throw new Harness.AdapterError("port", "port " + settings.port + " is taken");
        ready.accept(settings.port);
        if (!settings.variant.equals("leave")) Thread.sleep(Long.MAX_VALUE);
    }

    @Override
    public String versions() {
        return "stub 1.2";
    }

    @Override
    public String settings(Harness.Client client) {
        return client == null ? "null" : "{\"no_delay\":true}";
    }

    public static void main(String[] args) {
        Harness.run(args, new Stub());
    }
}
