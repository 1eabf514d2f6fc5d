// Written by pathlab/report/explorer/script_constants.py, which has the source of each; next: `make pages`.
// deno-fmt-ignore-file

// Columns that scripts ask for by name.
export const RESULTS = "results";
export const TRIAL = "trial";
export const START = "started_utc";
export const STATUS = "status";
export const FLAGS = "flags";
export const CYCLE = "cycle";
export const PATH = "path";
export const HOSTS = ["path_source", "path_destination"];
export const MEDIUM = "medium";
export const STREAMS = "streams";
export const MESSAGE_SIZE = "message_bytes";
export const ROUND_TRIP = "round_trip_median_ns";
export const MAIN_MEASURES = ["throughput_bits_per_s", "lossless_rate_bits_per_s", "messages_per_s", "round_trip_median_ns", "udp_received_packets_per_s", "loaded_rtt_median_ns", "unloaded_rtt_median_ns"];

// What a view may say, and how it is written.
export const STATISTICS = ["median", "mean", "min", "max", "iqr", "cdf", "ccdf", "histogram", "course"];
/** @type {Record<string, string>} */
export const STATISTIC_NAMES = {"median": "median", "mean": "mean", "min": "minimum", "max": "maximum", "iqr": "inter-quartile range", "cdf": "share of trials at or below", "ccdf": "share of trials above", "histogram": "trials per bin", "course": "time course"};
export const DISTRIBUTIONS = ["cdf", "ccdf", "histogram"];
export const RANGES = ["interval", "iqr", "extremes", "none"];
export const SCALES = ["linear", "log2", "log10"];
export const COUNTS = ["usable", "all"];
export const CHANGES = ["ratio", "difference"];
export const SWITCH = ["on", "off"];
export const NONE = "none";
export const MISSING = "()";
export const EMPTY = "\"\"";
export const WHERE = "where.";
export const RANGE_MARK = "..";
export const SHOWN_LETTERS = 80;
export const SUGGESTED_AMONG = 2000;
export const UNKNOWN = ["not set", "not measured", "none"];
export const BYTES = "B";
export const LAB_FLAGS = ["lab-limited"];
export const PROVISIONAL_FLAGS = ["host-limited", "congestion-not-granted", "totals-differ"];

// What a figure has room for.
export const MEASURES_MOST = 4;
export const COLOURS_MOST = 12;
export const FACETS_MOST = 12;
export const FACETS_MAX = 12;
export const CURVES_MAX = 24;
export const PLACES_MAX = 512;
export const DOTS_MAX = 40;
export const NAMED_MAX = 4;
export const TICKS_MAX = 24;
export const STEPS_MAX = 120;
export const END_STEPS = 20;
export const BINS_MAX = 100;
export const EDGE_RATIO = 1e-09;
export const ONLY_BIN_RATIO = 0.05;
export const ONLY_BIN = 0.5;

// Numbers of the estimators.
export const CONFIDENCE_RATIO = 0.95;
export const ROUNDING_RATIO = 1e-09;
export const MINIMUM_SAMPLES = 6;
export const MINIMUM_SPREAD = 2;
export const CORRELATION_SAMPLES = 10;
export const BOUND_RATIO = 0.7;
export const CEILING_RATIO = 0.97;
export const UPPER_QUANTILE = 1.645;
export const SHAPE_SAMPLES = 40;
export const SECOND_QUANTILE = 1.96;
export const SECOND_SAMPLES = 20;
export const LEAST_PERIODS = 2;
export const TREND_RATIO = 0.9;
export const EXACT_PAIRS = 50;
export const MAXIMUM_PAIRS = 5600;
export const MINIMUM_PAIRS = 6;
export const SHIFT_ROUNDING_RATIO = 1e-12;
export const MAXIMUM_PRODUCT = 16000000;
export const NORMAL_QUANTILE = -1.959963984540054;

// How figures look.
export const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CF12AB", "#CC79A7", "#245AFC", "#FC516C", "#7575D8", "#516C3F", "#3F99CF", "#A22DD8", "#63637E", "#7E873F", "#C6126C", "#B43F00", "#0987FC"];
export const LEVEL_SHARE = 0.7;
export const BARS_MAX = 40;
export const MARKED_MAX = 60;
export const FROM_ZERO_RATIO = 0.6;
export const MARGIN_RATIO = 0.05;
export const STEPS_S = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000, 63072000, 315360000];

// What files and pages hold.
export const PACKED_VERSION = 1;
export const CSV_BEFORE_X = ["facet", "measure", "curve", "statistic"];
export const CSV_AFTER_X = ["value", "range", "low", "high", "state", "trials", "baseline_trials"];
export const TABLE_ID = "pathlab-table";
export const DOCUMENTS_ID = "pathlab-documents";
export const LEFT_OUT_ID = "pathlab-left-out";

// How numbers and texts are written.
/** @type {Record<string, number>} */
export const RATES = {"bit/s": 1, "kbit/s": 1000, "Mbit/s": 1000000, "Gbit/s": 1000000000, "Tbit/s": 1000000000000};
/** @type {Record<string, number>} */
export const AMOUNTS = {"B": 1, "kB": 1000, "MB": 1000000, "GB": 1000000000, "TB": 1000000000000};
/** @type {Record<string, number>} */
export const TIMES = {"ns": 1, "µs": 1000, "ms": 1000000, "s": 1000000000};
export const UNSAFE_PATTERN = "[\u0000-\b\u000b\f\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\udb40\udc00-\udb40\udc7f]|\r(?!\n)";
export const FORMULA_PATTERN = "[\\t\\r\\n ]*[=+\\-@\\uff1d\\uff0b\\uff0d\\uff20]|[\\t\\r\\n]";
export const NUMBER_PATTERN = "[+-]?(\\d+(\\.\\d*)?|\\.\\d+)([eE][+-]?\\d+)?";
