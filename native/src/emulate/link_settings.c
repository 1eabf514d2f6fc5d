#include "emulate/link_settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"

enum { KEY_BYTES_MAX = 32, VALUE_BYTES_MAX = 32 };
#define TIME_NS_MAX 600000000000 /* ten minutes */
static const uint64_t CODEL_TARGET_NS = 5 * PL_NS_PER_MS;
static const uint64_t CODEL_INTERVAL_NS = 100 * PL_NS_PER_MS;

enum kind { KIND_INTEGER, KIND_RATIO, KIND_AQM };

struct key {
    const char *name;
    size_t offset;
    enum kind kind;
    int64_t maximum;
};

#define PL_KEY(field, kind, maximum)                                                                         \
    {                                                                                                        \
#field, offsetof(struct pl_link_settings, field), kind, maximum                                      \
    }

/* In the order in which records state them. */
static const struct key keys[] = {
    PL_KEY(rate_bits_per_s, KIND_INTEGER, 1000000000000),
    PL_KEY(delay_ns, KIND_INTEGER, TIME_NS_MAX),
    PL_KEY(queue_bytes, KIND_INTEGER, 1000000000000),
    PL_KEY(loss_ratio, KIND_RATIO, 1),
    PL_KEY(jitter_ns, KIND_INTEGER, TIME_NS_MAX),
    PL_KEY(slice_ns, KIND_INTEGER, TIME_NS_MAX),
    PL_KEY(ge_enter_ratio, KIND_RATIO, 1),
    PL_KEY(ge_leave_ratio, KIND_RATIO, 1),
    PL_KEY(ge_loss_ratio, KIND_RATIO, 1),
    PL_KEY(reorder_ratio, KIND_RATIO, 1),
    PL_KEY(reorder_ns, KIND_INTEGER, TIME_NS_MAX),
    PL_KEY(duplicate_ratio, KIND_RATIO, 1),
    PL_KEY(cross_bits_per_s, KIND_INTEGER, 1000000000000),
    PL_KEY(ecn_bytes, KIND_INTEGER, 1000000000000),
    PL_KEY(lines, KIND_INTEGER, PL_LINES_MAX),
    PL_KEY(line_delay_ns, KIND_INTEGER, TIME_NS_MAX),
    PL_KEY(aqm, KIND_AQM, 0),
    PL_KEY(target_ns, KIND_INTEGER, TIME_NS_MAX),
    PL_KEY(interval_ns, KIND_INTEGER, TIME_NS_MAX),
};
enum { KEYS = sizeof keys / sizeof keys[0] };

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

static const char *aqm_name(enum pl_aqm aqm)
{
    return aqm == PL_AQM_CODEL ? "codel" : "none";
}

void pl_link_settings_write(struct pl_json *j, const char *key, const struct pl_link_settings *settings)
{
    pl_json_begin_object(j, key);
    for (size_t i = 0; i < KEYS; i++) {
        const unsigned char *field = (const unsigned char *)settings + keys[i].offset;
        uint64_t integer;
        double ratio;
        if (keys[i].kind == KIND_AQM) {
            pl_json_string(j, keys[i].name, aqm_name(settings->aqm));
        } else if (keys[i].kind == KIND_RATIO) {
            memcpy(&ratio, field, sizeof ratio);
            pl_json_double(j, keys[i].name, ratio);
        } else {
            memcpy(&integer, field, sizeof integer);
            pl_json_u64(j, keys[i].name, integer);
        }
    }
    pl_json_end_object(j);
}

static bool parse_aqm(const char *value, enum pl_aqm *aqm)
{
    for (enum pl_aqm known = PL_AQM_NONE; known <= PL_AQM_CODEL; known++) {
        if (strcmp(value, aqm_name(known)) == 0) {
            *aqm = known;
            return true;
        }
    }
    return false;
}

/* Copy up to a delimiter; false when it does not fit. `*text` moves to the delimiter. */
static bool read_word(const char **text, const char *delimiters, char *word, size_t capacity)
{
    size_t length = strcspn(*text, delimiters);
    if (length >= capacity)
        return false;
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length;
    return true;
}

static bool apply_setting(struct pl_link_settings *settings, const struct key *key, const char *name,
                          const char *value, struct pl_error *error)
{
    unsigned char *field = (unsigned char *)settings + key->offset;
    int64_t integer = 0;
    double ratio = 0.0;
    if (key->kind == KIND_RATIO && pl_parse_double(value, 0.0, 1.0, &ratio)) {
        memcpy(field, &ratio, sizeof ratio);
        return true;
    }
    if (key->kind == KIND_INTEGER && pl_parse_int64(value, 0, key->maximum, &integer)) {
        memcpy(field, &integer, sizeof integer);
        return true;
    }
    if (key->kind == KIND_AQM)
        return parse_aqm(value, &settings->aqm) ||
               pl_error_usage(error, "%s: %s must be none or codel, not '%s'", name, key->name, value);
    return pl_error_usage(error, "%s: %s must be %s from 0 to %lld, not '%s'", name, key->name,
                          key->kind == KIND_RATIO ? "a number" : "an integer", (long long)key->maximum,
                          value);
}

/* Apply defaults and check the settings together. */
static bool apply_defaults(struct pl_link_settings *settings, const char *name, struct pl_error *error)
{
    if (settings->aqm != PL_AQM_CODEL)
        return true;
    if (settings->target_ns == 0)
        settings->target_ns = CODEL_TARGET_NS;
    if (settings->interval_ns == 0)
        settings->interval_ns = CODEL_INTERVAL_NS;
    if (settings->target_ns > settings->interval_ns)
        return pl_error_usage(error, "%s: target_ns is %llu, above interval_ns, which is %llu", name,
                              (unsigned long long)settings->target_ns,
                              (unsigned long long)settings->interval_ns);
    return true;
}

bool pl_link_settings_parse(struct pl_link_settings *settings, const char *name, const char *spec,
                            struct pl_error *error)
{
    struct pl_link_settings changed = *settings;
    bool seen[sizeof changed] = {false}; /* by offset of the field */
    const char *at = spec;
    while (*at != '\0') {
        char word[KEY_BYTES_MAX];
        char value[VALUE_BYTES_MAX];
        if (!read_word(&at, "=,", word, sizeof word) || *at != '=')
            return pl_error_usage(error, "%s: expected key=value,... and found '%.60s'", name, spec);
        at++;
        const struct key *key = find_key(word);
        if (key == NULL || seen[key->offset])
            return pl_error_usage(error, "%s: %s '%s'", name,
                                  key == NULL ? "there is no link setting" : "given twice:", word);
        seen[key->offset] = true;
        if (!read_word(&at, ",", value, sizeof value))
            return pl_error_usage(error, "%s: the value of %s is too long", name, key->name);
        if (!apply_setting(&changed, key, name, value, error))
            return false;
        if (*at == ',' && *++at == '\0')
            return pl_error_usage(error, "%s: nothing follows the last comma", name);
    }
    if (!apply_defaults(&changed, name, error))
        return false;
    *settings = changed;
    return true;
}
