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

static const struct key *find_key(const char *name)
{
    static const struct key keys[] = {
        PL_KEY(rate_bits_per_s, KIND_INTEGER, 1000000000000),
        PL_KEY(queue_bytes, KIND_INTEGER, 1000000000000),
        PL_KEY(delay_ns, KIND_INTEGER, TIME_NS_MAX),
        PL_KEY(jitter_ns, KIND_INTEGER, TIME_NS_MAX),
        PL_KEY(reorder_ns, KIND_INTEGER, TIME_NS_MAX),
        PL_KEY(slice_ns, KIND_INTEGER, TIME_NS_MAX),
        PL_KEY(cross_bits_per_s, KIND_INTEGER, 1000000000000),
        PL_KEY(ecn_bytes, KIND_INTEGER, 1000000000000),
        PL_KEY(target_ns, KIND_INTEGER, TIME_NS_MAX),
        PL_KEY(interval_ns, KIND_INTEGER, TIME_NS_MAX),
        PL_KEY(lines, KIND_INTEGER, PL_LINES_MAX),
        PL_KEY(line_delay_ns, KIND_INTEGER, TIME_NS_MAX),
        PL_KEY(loss_ratio, KIND_RATIO, 1),
        PL_KEY(ge_enter_ratio, KIND_RATIO, 1),
        PL_KEY(ge_leave_ratio, KIND_RATIO, 1),
        PL_KEY(ge_loss_ratio, KIND_RATIO, 1),
        PL_KEY(reorder_ratio, KIND_RATIO, 1),
        PL_KEY(duplicate_ratio, KIND_RATIO, 1),
        PL_KEY(aqm, KIND_AQM, 0),
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

const char *pl_aqm_name(enum pl_aqm aqm)
{
    return aqm == PL_AQM_CODEL ? "codel" : "none";
}

static bool parse_aqm(const char *value, enum pl_aqm *aqm)
{
    for (enum pl_aqm known = PL_AQM_NONE; known <= PL_AQM_CODEL; known++) {
        if (strcmp(value, pl_aqm_name(known)) == 0) {
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

static enum pl_status apply_setting(struct pl_link_settings *settings, const struct key *key,
                                    const char *name, const char *value, struct pl_error *error)
{
    unsigned char *field = (unsigned char *)settings + key->offset;
    int64_t integer = 0;
    double ratio = 0.0;
    if (key->kind == KIND_RATIO && pl_parse_double(value, 0.0, 1.0, &ratio)) {
        memcpy(field, &ratio, sizeof ratio);
        return PL_OK;
    }
    if (key->kind == KIND_INTEGER && pl_parse_int64(value, 0, key->maximum, &integer)) {
        memcpy(field, &integer, sizeof integer);
        return PL_OK;
    }
    if (key->kind == KIND_AQM) {
        if (parse_aqm(value, &settings->aqm))
            return PL_OK;
        pl_error_usage(error, "%s: %s must be none or codel, not '%s'", name, key->name, value);
        return PL_USAGE;
    }
    pl_error_usage(error, "%s: %s must be %s from 0 to %lld, not '%s'", name, key->name,
                   key->kind == KIND_RATIO ? "a number" : "an integer", (long long)key->maximum, value);
    return PL_USAGE;
}

/* Apply defaults and check the settings together. */
static enum pl_status apply_defaults(struct pl_link_settings *settings, const char *name,
                                     struct pl_error *error)
{
    if (settings->aqm != PL_AQM_CODEL)
        return PL_OK;
    if (settings->target_ns == 0)
        settings->target_ns = CODEL_TARGET_NS;
    if (settings->interval_ns == 0)
        settings->interval_ns = CODEL_INTERVAL_NS;
    if (settings->target_ns > settings->interval_ns) {
        pl_error_usage(error, "%s: target_ns is %llu, above interval_ns, which is %llu", name,
                       (unsigned long long)settings->target_ns, (unsigned long long)settings->interval_ns);
        return PL_USAGE;
    }
    return PL_OK;
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
        if (!read_word(&at, "=,", word, sizeof word) || *at != '=') {
            pl_error_usage(error, "%s: expected key=value,... and found '%.60s'", name, spec);
            return PL_USAGE;
        }
        at++;
        const struct key *key = find_key(word);
        if (key == NULL || seen[key->offset]) {
            pl_error_usage(error, "%s: %s '%s'", name,
                           key == NULL ? "there is no link setting" : "given twice:", word);
            return PL_USAGE;
        }
        seen[key->offset] = true;
        if (!read_word(&at, ",", value, sizeof value)) {
            pl_error_usage(error, "%s: the value of %s is too long", name, key->name);
            return PL_USAGE;
        }
        enum pl_status status = apply_setting(&changed, key, name, value, error);
        if (status != PL_OK)
            return status;
        if (*at == ',' && *++at == '\0') {
            pl_error_usage(error, "%s: nothing follows the last comma", name);
            return PL_USAGE;
        }
    }
    enum pl_status status = apply_defaults(&changed, name, error);
    if (status == PL_OK)
        *settings = changed;
    return status;
}
