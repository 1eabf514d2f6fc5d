#include "adapter/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/json_reader.h"

#define KEY_BYTES 32

/* One setting: text with `room`, an integer within minimum..maximum (`nullable`: null is 0), or cores. */
struct setting {
    const char *key;
    void *target;
    size_t room;
    int64_t minimum;
    int64_t maximum;
    bool nullable;
};

static bool read_cores(struct pl_json_reader *reader, bool cores[PL_PLAN_CORES])
{
    if (pl_json_read_null(reader))
        return true;
    if (!pl_json_read_mark(reader, '['))
        return false;
    if (pl_json_read_mark(reader, ']'))
        return true;
    int64_t core;
    do {
        if (!pl_json_read_integer(reader, &core) || core < 0 || core >= PL_PLAN_CORES)
            return false;
        cores[core] = true;
    } while (pl_json_read_mark(reader, ','));
    return pl_json_read_mark(reader, ']');
}

static bool read_value(struct pl_json_reader *reader, const struct setting *setting,
                       struct pl_adapter_error *error)
{
    int64_t value = 0;
    if (setting->room == 0 && setting->maximum == 0) {
        if (read_cores(reader, setting->target))
            return true;
        return pl_adapter_failed(error, "contract", "settings: cores must be a list of cores, 0 to %d",
                                 PL_PLAN_CORES - 1);
    }
    if (setting->room > 0) {
        if (pl_json_read_string(reader, setting->target, setting->room))
            return true;
        return pl_adapter_failed(error, "contract", "settings: %s must be a text of at most %zu bytes",
                                 setting->key, setting->room - 1);
    }
    if (!(setting->nullable && pl_json_read_null(reader)) &&
        (!pl_json_read_integer(reader, &value) || value < setting->minimum || value > setting->maximum))
        return pl_adapter_failed(error, "contract", "settings: %s must be %sa whole number, %lld to %lld",
                                 setting->key, setting->nullable ? "null or " : "",
                                 (long long)setting->minimum, (long long)setting->maximum);
    memcpy(setting->target, &value, sizeof value);
    return true;
}

static bool read_members(struct pl_json_reader *reader, const struct setting *settings, size_t count,
                         struct pl_adapter_error *error)
{
    char key[KEY_BYTES];
    do {
        size_t i = 0;
        if (!pl_json_read_string(reader, key, sizeof key) || !pl_json_read_mark(reader, ':'))
            return pl_adapter_failed(error, "contract",
                                     "settings: not a JSON object of known keys, at '%.20s'", reader->at);
        while (i < count && strcmp(settings[i].key, key) != 0)
            i++;
        if (i == count)
            return pl_adapter_failed(error, "contract", "settings: unknown key '%s'", key);
        if (!read_value(reader, &settings[i], error))
            return false;
    } while (pl_json_read_mark(reader, ','));
    return true;
}

static bool check(const struct pl_plan *plan, const char *role, struct pl_adapter_error *error)
{
    if (plan->contract != PL_CONTRACT)
        (void)pl_adapter_fail(error, "contract", "this program has contract %d, its settings have %lld",
                              PL_CONTRACT, (long long)plan->contract);
    else if (strcmp(plan->role, role) != 0)
        (void)pl_adapter_fail(error, "contract", "settings: role is '%s', the command line has '%s'",
                              plan->role, role);
    else if (plan->scope[strspn(plan->scope, "abcdefghijklmnopqrstuvwxyz0123456789")] != 0 ||
             plan->scope[0] < 'a')
        (void)pl_adapter_fail(error, "contract",
                              "settings: scope must be small letters and digits, the first one a letter");
    else if (plan->requests > 0 && plan->requests < plan->streams)
        (void)pl_adapter_fail(error, "contract", "settings: %lld requests for %lld streams",
                              (long long)plan->requests, (long long)plan->streams);
    else
        return true;
    return false;
}

bool pl_plan_parse(const char *json, const char *role, struct pl_plan *plan, struct pl_adapter_error *error)
{
    *plan = (struct pl_plan){.name = "adapter",
                             .address = "127.0.0.1",
                             .scope = "pathlab",
                             .contract = PL_CONTRACT,
                             .bytes = 64,
                             .streams = 1,
                             .interval_ns = PL_NS_PER_S,
                             .duration_ns = 2 * PL_NS_PER_S,
                             .stall_ns = PL_NS_PER_S};
    (void)snprintf(plan->role, sizeof plan->role, "%s", role);
    const int64_t day_ns = 86400 * PL_NS_PER_S;
    const struct setting settings[] = {
        {"name", plan->name, .room = sizeof plan->name},
        {"variant", plan->variant, .room = sizeof plan->variant},
        {"role", plan->role, .room = sizeof plan->role},
        {"address", plan->address, .room = sizeof plan->address},
        {"local_address", plan->local_address, .room = sizeof plan->local_address},
        {"folder", plan->folder, .room = sizeof plan->folder},
        {"scope", plan->scope, .room = sizeof plan->scope},
        {"cores", plan->cores, 0, 0, 0, true},
        {"contract", &plan->contract, 0, INT64_MIN, INT64_MAX, false},
        {"port", &plan->port, 0, 0, 65535, true},
        {"bytes", &plan->bytes, 0, PL_ADAPTER_BYTES_MIN, PL_ADAPTER_BYTES_MAX, false},
        {"streams", &plan->streams, 0, 1, PL_PLAN_STREAMS_MAX, false},
        {"interval_ns", &plan->interval_ns, 0, 10 * PL_NS_PER_MS, 10 * PL_NS_PER_S, false},
        {"warmup_ns", &plan->warmup_ns, 0, 0, day_ns, false},
        {"duration_ns", &plan->duration_ns, 0, 1, day_ns, false},
        {"rate_per_s", &plan->rate_per_s, 0, 1, 100000000, true},
        {"stall_ns", &plan->stall_ns, 0, PL_NS_PER_MS, day_ns, false},
        {"priority", &plan->priority, 0, 1, 98, true},
        {"requests", &plan->requests, 0, 1, INT64_MAX / 2, true},
    };
    struct pl_json_reader reader = {.at = json};
    if (!pl_json_read_mark(&reader, '{'))
        return pl_adapter_failed(error, "contract", "settings: not a JSON object: '%.20s'", json);
    if (!pl_json_read_mark(&reader, '}') &&
        (!read_members(&reader, settings, sizeof settings / sizeof settings[0], error) ||
         !pl_json_read_mark(&reader, '}')))
        return pl_adapter_failed(error, "contract", "settings: not a JSON object, at '%.20s'", reader.at);
    if (!pl_json_at_end(&reader))
        return pl_adapter_failed(error, "contract", "settings: more than one JSON object: '%.20s'",
                                 reader.at);
    return check(plan, role, error);
}

struct pl_adapter_settings pl_plan_settings(const struct pl_plan *plan, unsigned stream)
{
    return (struct pl_adapter_settings){
        .name = plan->name,
        .variant = plan->variant,
        .role = plan->role,
        .address = plan->address,
        .local_address = plan->local_address,
        .folder = plan->folder,
        .scope = plan->scope,
        .port = (unsigned)plan->port,
        .stream = stream,
        .streams = (unsigned)plan->streams,
        .bytes = (size_t)plan->bytes,
    };
}
