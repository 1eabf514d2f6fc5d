import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** Reads cases of tests/data/intervals.txt on stdin and writes the intervals that the Java harness makes of them. */
public final class IntervalsOfJava {
    private IntervalsOfJava() {}

    private static void end(HarnessIntervals intervals) {
        if (intervals == null) return;
        intervals.finish();
        for (HarnessIntervals.Interval interval : intervals.complete)
            System.out.println("{\"start_ns\":" + interval.startNs + ",\"end_ns\":" + interval.endNs
                    + ",\"round_trip_ns\":" + interval.durations.toJson() + "}");
    }

    public static void main(String[] args) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        HarnessIntervals intervals = null;
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("case")) {
                end(intervals);
                intervals = new HarnessIntervals(Long.parseLong(words[1]), Long.parseLong(words[2]));
            } else if (words[0].equals("add")) {
                for (long i = Long.parseLong(words[3]); i > 0; i--)
                    intervals.add(Long.parseLong(words[1]), Long.parseLong(words[2]));
            }
        }
        end(intervals);
    }
}
