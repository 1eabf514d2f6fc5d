#include "link.h"

#include <stddef.h>
#include <string.h>

#include "options.h"

__extension__ typedef unsigned __int128 pl_u128;

enum { KEY_BYTES_MAX = 32, VALUE_BYTES_MAX = 32 };
static const uint64_t NS_PER_S = PL_NS_PER_S;
#define TIME_NS_MAX 600000000000 /* ten minutes */
static const pl_ns WAIT_NS_MAX =
    3600000000000; /* an unlimited queue ends here, long before the time overflows */

/* ---------- settings ---------- */

struct key {
    const char *name;
    size_t offset;
    bool is_ratio;
    int64_t greatest;
};

#define PL_INTEGER(field, greatest)                                                                          \
    {                                                                                                        \
#field, offsetof(struct pl_link_settings, field), false, greatest                                    \
    }
#define PL_RATIO(field)                                                                                      \
    {                                                                                                        \
#field, offsetof(struct pl_link_settings, field), true, 1                                            \
    }

static const struct key *find_key(const char *name)
{
    static const struct key keys[] = {
        PL_INTEGER(rate_bits_per_s, 1000000000000),
        PL_INTEGER(queue_bytes, 1000000000000),
        PL_INTEGER(delay_ns, TIME_NS_MAX),
        PL_INTEGER(jitter_ns, TIME_NS_MAX),
        PL_INTEGER(reorder_ns, TIME_NS_MAX),
        PL_INTEGER(slice_ns, TIME_NS_MAX),
        PL_RATIO(loss_ratio),
        PL_RATIO(ge_enter_ratio),
        PL_RATIO(ge_leave_ratio),
        PL_RATIO(ge_loss_ratio),
        PL_RATIO(reorder_ratio),
        PL_RATIO(duplicate_ratio),
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(keys[i].name, name) == 0) {
            return &keys[i];
        }
    }
    return NULL;
}

/* Copy up to a delimiter; false when it does not fit. `*text` moves behind what was read, not past the
 * delimiter. */
static bool take_word(const char **text, const char *delimiters, char *word, size_t capacity)
{
    size_t length = strcspn(*text, delimiters);
    if (length >= capacity) {
        return false;
    }
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length;
    return true;
}

static enum pl_status apply_setting(struct pl_link_settings *settings, const struct key *key,
                                    const char *name, const char *value, struct pl_error *error)
{
    unsigned char *field = (unsigned char *)settings + key->offset;
    int64_t integer = 0;
    double ratio = 0.0;
    if (key->is_ratio && pl_parse_double(value, 0.0, 1.0, &ratio)) {
        memcpy(field, &ratio, sizeof ratio);
        return PL_OK;
    }
    if (!key->is_ratio && pl_parse_int64(value, 0, key->greatest, &integer)) {
        memcpy(field, &integer, sizeof integer);
        return PL_OK;
    }
    pl_error_set(error, PL_USAGE, "options", 0, "%s: %s must be %s from 0 to %lld, not '%s'", name, key->name,
                 key->is_ratio ? "a number" : "an integer", (long long)key->greatest, value);
    return PL_USAGE;
}

enum pl_status pl_link_settings_parse(struct pl_link_settings *settings, const char *name, const char *spec,
                                      struct pl_error *error)
{
    struct pl_link_settings changed = *settings;
    bool seen[sizeof changed] = {false}; /* by offset of the field */
    const char *at = spec;
    while (*at != '\0') {
        char word[KEY_BYTES_MAX];
        char value[VALUE_BYTES_MAX];
        if (!take_word(&at, "=,", word, sizeof word) || *at != '=') {
            pl_error_set(error, PL_USAGE, "options", 0, "%s: expected key=value,... and found '%.60s'", name,
                         spec);
            return PL_USAGE;
        }
        at++;
        const struct key *key = find_key(word);
        if (key == NULL || seen[key->offset]) {
            pl_error_set(error, PL_USAGE, "options", 0, "%s: %s '%s'", name,
                         key == NULL ? "there is no link setting" : "given twice:", word);
            return PL_USAGE;
        }
        seen[key->offset] = true;
        if (!take_word(&at, ",", value, sizeof value)) {
            pl_error_set(error, PL_USAGE, "options", 0, "%s: the value of %s is too long", name, key->name);
            return PL_USAGE;
        }
        enum pl_status status = apply_setting(&changed, key, name, value, error);
        if (status != PL_OK) {
            return status;
        }
        if (*at == ',' && *++at == '\0') {
            pl_error_set(error, PL_USAGE, "options", 0, "%s: nothing follows the last comma", name);
            return PL_USAGE;
        }
    }
    *settings = changed;
    return PL_OK;
}

/* ---------- chance ---------- */

static const uint64_t GOLDEN = 0x9e3779b97f4a7c15U;

/* The finalizer of splitmix64 (Steele, Lea, Flood 2014, variant 13 of Stafford's mixers). */
static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

/* A number in [0, 1) with 53 random bits. Always steps, so that draws do not depend on the settings. */
static double draw(struct pl_link *link, enum pl_link_draw which)
{
    link->draws[which] += GOLDEN;
    return (double)(mix(link->draws[which]) >> 11) * 0x1p-53;
}

static bool draw_loss(struct pl_link *link)
{
    const struct pl_link_settings *settings = &link->settings;
    double state = draw(link, PL_DRAW_STATE);
    double loss = draw(link, PL_DRAW_LOSS);
    if (settings->ge_enter_ratio <= 0.0) {
        link->bad_state = false;
    } else if (state < (link->bad_state ? settings->ge_leave_ratio : settings->ge_enter_ratio)) {
        link->bad_state = !link->bad_state;
    }
    return loss < (link->bad_state ? settings->ge_loss_ratio : settings->loss_ratio);
}

/* ---------- queue and serializer ---------- */

void pl_link_init(struct pl_link *link, const struct pl_link_settings *settings, uint64_t seed,
                  unsigned direction)
{
    memset(link, 0, sizeof *link);
    link->settings = *settings;
    link->free_at_ns = INT64_MIN;
    link->last_due_ns = INT64_MIN;
    link->earlier_until_ns = INT64_MIN;
    for (unsigned i = 0; i < PL_DRAWS; i++) {
        link->draws[i] = mix(mix(seed + GOLDEN) + GOLDEN * (direction * (unsigned)PL_DRAWS + i + 1U));
    }
}

static pl_u128 bits_between(pl_ns from_ns, pl_ns to_ns, uint64_t rate_bits_per_s)
{
    return to_ns <= from_ns ? 0 : (pl_u128)(uint64_t)(to_ns - from_ns) * rate_bits_per_s;
}

uint64_t pl_link_backlog_bytes(const struct pl_link *link, pl_ns now_ns)
{
    if (link->free_at_ns <= now_ns) {
        return 0;
    }
    pl_ns earlier_ns = link->earlier_until_ns > now_ns ? link->earlier_until_ns : now_ns;
    pl_u128 bit_ns = bits_between(now_ns, earlier_ns, link->earlier_bits_per_s) +
                     bits_between(earlier_ns, link->free_at_ns, link->settings.rate_bits_per_s);
    if (link->earlier_until_ns < link->free_at_ns) {
        bit_ns += link->free_remainder;
    }
    pl_u128 per_byte = (pl_u128)8 * NS_PER_S;
    return (uint64_t)((bit_ns + per_byte - 1) / per_byte);
}

void pl_link_change(struct pl_link *link, const struct pl_link_settings *settings, pl_ns now_ns)
{
    if (settings->rate_bits_per_s != link->settings.rate_bits_per_s) {
        uint64_t backlog_bytes = pl_link_backlog_bytes(link, now_ns);
        if (backlog_bytes > 0) {
            uint64_t left_ns = (uint64_t)(link->free_at_ns - now_ns);
            link->earlier_bits_per_s = (uint64_t)((pl_u128)backlog_bytes * 8 * NS_PER_S / left_ns);
            link->earlier_until_ns = link->free_at_ns;
        }
        link->free_remainder = 0; /* its unit was the old rate */
    }
    link->settings = *settings;
}

/* Book `size_bytes` on the serializer; returns when its last bit has left. */
static pl_ns serialize(struct pl_link *link, pl_ns now_ns, uint32_t size_bytes)
{
    uint64_t rate = link->settings.rate_bits_per_s;
    if (link->free_at_ns < now_ns) {
        link->free_at_ns = now_ns;
        link->free_remainder = 0;
    }
    if (rate == 0) {
        return link->free_at_ns; /* behind what an earlier rate still holds back */
    }
    uint64_t bit_ns = (uint64_t)size_bytes * 8U * NS_PER_S + link->free_remainder;
    link->free_at_ns += (pl_ns)(bit_ns / rate);
    link->free_remainder = bit_ns % rate;
    return link->free_at_ns;
}

static bool is_queue_full(const struct pl_link *link, pl_ns now_ns, uint32_t size_bytes)
{
    const struct pl_link_settings *settings = &link->settings;
    if (settings->rate_bits_per_s == 0 || link->free_at_ns <= now_ns) {
        return settings->rate_bits_per_s > 0 && settings->queue_bytes > 0 &&
               size_bytes > settings->queue_bytes;
    }
    if (link->free_at_ns - now_ns > WAIT_NS_MAX) {
        return true;
    }
    return settings->queue_bytes > 0 &&
           pl_link_backlog_bytes(link, now_ns) + size_bytes > settings->queue_bytes;
}

static pl_ns decide_due(struct pl_link *link, pl_ns sent_ns, double jitter, bool reordered)
{
    const struct pl_link_settings *settings = &link->settings;
    pl_ns due_ns = sent_ns + (pl_ns)settings->delay_ns + (pl_ns)(jitter * (double)settings->jitter_ns);
    if (reordered) {
        return due_ns + (pl_ns)settings->reorder_ns;
    }
    if (due_ns < link->last_due_ns) {
        due_ns = link->last_due_ns;
    }
    link->last_due_ns = due_ns;
    return due_ns;
}

struct pl_link_verdict pl_link_admit(struct pl_link *link, pl_ns now_ns, uint32_t size_bytes)
{
    const struct pl_link_settings *settings = &link->settings;
    bool lost = draw_loss(link);
    double jitter = draw(link, PL_DRAW_JITTER);
    bool reordered = draw(link, PL_DRAW_REORDER) < settings->reorder_ratio;
    bool duplicate = draw(link, PL_DRAW_DUPLICATE) < settings->duplicate_ratio;

    link->counters.arrived_packets++;
    link->counters.arrived_bytes += size_bytes;
    if (is_queue_full(link, now_ns, size_bytes)) {
        link->counters.queue_dropped_packets++;
        return (struct pl_link_verdict){.fate = PL_FATE_QUEUE_DROPPED};
    }
    pl_ns sent_ns = serialize(link, now_ns, size_bytes);
    if (lost) {
        link->counters.lost_packets++;
        return (struct pl_link_verdict){.fate = PL_FATE_LOST};
    }
    return (struct pl_link_verdict){
        .fate = PL_FATE_DELIVERED,
        .duplicate = duplicate,
        .due_ns = decide_due(link, sent_ns, jitter, reordered),
    };
}
