import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.LinkedBlockingQueue;

/** What both ends have: the records, and commands, signals and changes of state as one queue. */
class HarnessEnd {
    final LinkedBlockingQueue<String> events = new LinkedBlockingQueue<>();
    final Harness.Adapter adapter;
    final Harness.Settings settings;
    private static final OutputStream RECORDS = new FileOutputStream(FileDescriptor.out);

    HarnessEnd(Harness.Adapter adapter, Harness.Settings settings) {
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

    static int writeError(String name, Harness.AdapterError error) {
        String text = String.valueOf(error.getMessage());
        text = text.substring(0, Math.min(text.length(), 255));
        write("error", ",\"stage\":" + quote(error.stage) + ",\"text\":" + quote(text));
        System.err.println(name + ": " + quote(text));
        return Harness.STATUSES.getOrDefault(error.stage, 4);
    }

    String describeAs(Harness.Client client) {
        String settingsJson = adapter.settings(client);
        return "\"versions\":" + quote(adapter.versions()) + ",\"settings\":" + settingsJson.replace('\n', ' ');
    }

    static String quote(String text) {
        if (text == null) return "null";
        StringBuilder quoted = new StringBuilder("\"");
        for (char here : text.toCharArray())
            if (here == '"' || here == '\\') quoted.append('\\').append(here);
            else if (here < 0x20 || here > 0x7E) quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) here));
            else quoted.append(here);
        return quoted.append('"').toString();
    }
}
