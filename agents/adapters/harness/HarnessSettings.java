import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the settings. Harness.AdapterError of stage "contract" names the key. */
final class HarnessSettings {
    private static final Pattern MEMBER =
            Pattern.compile("\\s*\"([^\"\\\\]*)\"\\s*:\\s*(\"[^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+\"|\\[[^\\]]*\\]|[^\\s,}\\[\\]]+)\\s*");
    private static final int CORE_MAX = 1023;
    private final Map<String, String> values = new HashMap<>();
    private static final List<String> KNOWN =
            List.of(
                    "contract", "name", "variant", "role", "address", "port", "local_address", "folder", "bytes",
                    "streams", "interval_ns", "warmup_ns", "duration_ns", "rate_per_s", "stall_ns", "priority",
                    "cores", "requests", "scope");

    static Harness.Settings read(String json, String role) {
        HarnessSettings reader = new HarnessSettings();
        reader.split(json);
        Harness.Settings settings = new Harness.Settings();
        settings.name = reader.text("name", settings.name);
        settings.variant = reader.text("variant", "");
        settings.role = reader.text("role", role);
        settings.address = reader.text("address", settings.address);
        settings.localAddress = reader.text("local_address", "");
        settings.folder = reader.text("folder", "");
        settings.scope = reader.text("scope", settings.scope);
        settings.port = (int) reader.integer("port", 0, 0, 65535);
        settings.bytes = (int) reader.integer("bytes", 64, 4, 65536);
        settings.streams = (int) reader.integer("streams", 1, 1, 1024);
        settings.intervalNs = reader.integer("interval_ns", Harness.SECOND_NS, Harness.SECOND_NS / 100, 10 * Harness.SECOND_NS);
        settings.warmupNs = reader.integer("warmup_ns", 0, 0, Harness.DAY_NS);
        settings.durationNs = reader.integer("duration_ns", 2 * Harness.SECOND_NS, 1, Harness.DAY_NS);
        settings.ratePerS = reader.integer("rate_per_s", -1, 1, 100_000_000);
        settings.stallNs = reader.integer("stall_ns", Harness.SECOND_NS, Harness.SECOND_NS / 1000, Harness.DAY_NS);
        settings.priority = reader.integer("priority", -1, 1, 98);
        settings.requests = reader.integer("requests", -1, 1, Long.MAX_VALUE / 2);
        reader.cores(settings.cores);
        long contract = reader.integer("contract", Harness.CONTRACT, Long.MIN_VALUE, Long.MAX_VALUE);
        if (contract != Harness.CONTRACT)
            throw refuse("this program has contract " + Harness.CONTRACT + ", its settings have " + contract);
        if (!settings.role.equals(role))
            throw refuse("settings: role is '" + settings.role + "', the command line has '" + role + "'");
        if (!settings.scope.matches("[a-z][a-z0-9]{0,31}"))
            throw refuse("settings: scope must be small letters and digits, the first one a letter");
        if (settings.requests > 0 && settings.requests < settings.streams)
            throw refuse("settings: " + settings.requests + " requests for " + settings.streams + " streams");
        return settings;
    }

    private static Harness.AdapterError refuse(String text) {
        return new Harness.AdapterError("contract", text);
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
                String code = text.substring(i + 1, Math.min(i + 5, text.length()));
                if (!code.matches("[0-9a-fA-F]{4}")) throw refuse("settings: an escape is not \\uXXXX");
                plain.append((char) Integer.parseInt(code, 16));
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
        boolean known = value.matches("\\[\\s*\\d{1,9}\\s*(,\\s*\\d{1,9}\\s*)*+\\]");
        if (known) for (String core : value.substring(1, value.length() - 1).split(",")) cores.add(Long.parseLong(core.strip()));
        if (!known || cores.stream().anyMatch(core -> core > CORE_MAX))
            throw refuse("settings: cores must be a list of cores, 0 to " + CORE_MAX);
    }
}
