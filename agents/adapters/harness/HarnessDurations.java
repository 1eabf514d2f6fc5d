import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;

/** HarnessDurations in ns as the engine's base/histogram.c counts them: 128 steps per octave. */
final class HarnessDurations {
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

    void merge(HarnessDurations other) {
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
