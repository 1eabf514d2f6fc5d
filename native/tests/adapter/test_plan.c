/* Settings of an adapter's program: defaults, every key, and what is refused. */
#include "adapter/plan.h"
#include "check.h"

static void check_refused(const char *json, const char *text)
{
    struct pl_plan plan;
    struct pl_adapter_error error = {0};
    CHECK(!pl_plan_parse(json, "ask", &plan, &error));
    CHECK_TEXT(error.stage, "contract");
    CHECK_TEXT(error.text, text);
}

static void check_defaults(void)
{
    struct pl_plan plan;
    struct pl_adapter_error error = {0};
    CHECK(pl_plan_parse(" { } ", "answer", &plan, &error));
    CHECK_TEXT(plan.name, "adapter");
    CHECK_TEXT(plan.role, "answer");
    CHECK_TEXT(plan.address, "127.0.0.1");
    CHECK_TEXT(plan.folder, "");
    CHECK_EQUAL(plan.bytes, 64);
    CHECK_EQUAL(plan.streams, 1);
    CHECK_EQUAL(plan.duration_ns, 2 * PL_NS_PER_S);
    CHECK_EQUAL(plan.rate_per_s, 0);
    CHECK_EQUAL(plan.priority, 0);
    CHECK_EQUAL(plan.requests, 0);
    CHECK(!plan.cores[0]);
}

/* It becomes a part of configurations, statements and names. */
static void check_scope(void)
{
    static const char *const wrong[] = {
        "", "Q7", "7q", "a b", "a'b", "a/b", "a\\u0000", "\\u00e9", "abcdefghijklmnopqrstuvwxyzabcdefg"};
    struct pl_plan plan;
    CHECK(pl_plan_parse("{\"scope\": \"a\"}", "ask", &plan, &(struct pl_adapter_error){0}));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char json[64];
        struct pl_adapter_error error = {0};
        (void)snprintf(json, sizeof json, "{\"scope\": \"%s\"}", wrong[i]);
        CHECK(!pl_plan_parse(json, "ask", &plan, &error));
        CHECK(strstr(error.text, "scope must be") != NULL);
    }
}

static void check_every_key(void)
{
    struct pl_plan plan;
    struct pl_adapter_error error = {0};
    CHECK(pl_plan_parse(
        "{\"contract\": 1, \"name\": \"redis\", \"variant\": \"redis-echo\", \"role\": \"ask\","
        "\"address\": \"fd00::1\", \"local_address\": \"fd00::2\", \"folder\": \"/tmp/\\u00e9\","
        "\"scope\": \"q7f3\","
        "\"port\": 65535, \"bytes\": 65536, \"streams\": 3, \"interval_ns\": 10000000,"
        "\"warmup_ns\": 5, \"duration_ns\": 7, \"rate_per_s\": 5000.0, \"stall_ns\": 1000000,"
        "\"priority\": 50, \"cores\": [0, 3], \"requests\": 3}",
        "ask", &plan, &error));
    struct pl_adapter_settings settings = pl_plan_settings(&plan, 2);
    CHECK_TEXT(settings.name, "redis");
    CHECK_TEXT(settings.variant, "redis-echo");
    CHECK_TEXT(settings.address, "fd00::1");
    CHECK_TEXT(settings.local_address, "fd00::2");
    CHECK_TEXT(settings.folder, "/tmp/\xc3\xa9");
    CHECK_TEXT(settings.scope, "q7f3");
    CHECK_EQUAL(settings.port, 65535);
    CHECK_EQUAL(settings.bytes, 65536);
    CHECK_EQUAL(settings.stream, 2);
    CHECK_EQUAL(settings.streams, 3);
    CHECK_EQUAL(plan.warmup_ns, 5);
    CHECK_EQUAL(plan.duration_ns, 7);
    CHECK_EQUAL(plan.rate_per_s, 5000);
    CHECK_EQUAL(plan.priority, 50);
    CHECK_EQUAL(plan.requests, 3);
    CHECK(plan.cores[0] && !plan.cores[1] && plan.cores[3]);
    CHECK(pl_plan_parse("{\"rate_per_s\": null, \"priority\": null, \"requests\": null, \"cores\": null}",
                        "ask", &plan, &error));
}

static void check_refusals(void)
{
    check_refused("", "settings: not a JSON object: ''");
    check_refused("[1]", "settings: not a JSON object: '[1]'");
    check_refused("{} x", "settings: more than one JSON object: 'x'");
    check_refused("{\"bytes\": 64", "settings: not a JSON object, at ''");
    check_refused("{\"bytes\" 64}", "settings: not a JSON object of known keys, at ' 64}'");
    check_refused("{\"byte\": 64}", "settings: unknown key 'byte'");
    check_refused("{\"bytes\": 3}", "settings: bytes must be a whole number, 4 to 65536");
    check_refused("{\"bytes\": 64.5}", "settings: bytes must be a whole number, 4 to 65536");
    check_refused("{\"bytes\": null}", "settings: bytes must be a whole number, 4 to 65536");
    check_refused("{\"priority\": 99}", "settings: priority must be null or a whole number, 1 to 98");
    check_refused("{\"name\": 7}", "settings: name must be a text of at most 63 bytes");
    check_refused("{\"cores\": [1024]}", "settings: cores must be a list of cores, 0 to 1023");
    check_refused("{\"cores\": [0,]}", "settings: cores must be a list of cores, 0 to 1023");
    check_refused("{\"contract\": 2}", "this program has contract 1, its settings have 2");
    check_refused("{\"role\": \"answer\"}", "settings: role is 'answer', the command line has 'ask'");
    check_refused("{\"requests\": 2, \"streams\": 3}", "settings: 2 requests for 3 streams");
}

int main(void)
{
    check_defaults();
    check_every_key();
    check_scope();
    check_refusals();
    CHECK_RETURN();
}
