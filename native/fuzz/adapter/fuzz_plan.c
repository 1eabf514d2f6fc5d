/* Settings of an adapter's program: any text is read within its bounds, or refused with a reason. */
#include <string.h>

#include "adapter/plan.h"
#include "base/json_reader.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *json = malloc(size + 1);
    if (json == NULL)
        return 0;
    memcpy(json, data, size);
    json[size] = 0;
    struct pl_plan plan;
    struct pl_adapter_error error = {0};
    bool read = pl_plan_parse(json, "ask", &plan, &error);
    REQUIRE(read == (error.stage[0] == 0));
    REQUIRE(memchr(error.text, 0, sizeof error.text) != NULL);
    REQUIRE(!read || pl_json_is_object(json));
    if (read) {
        REQUIRE(plan.contract == PL_CONTRACT && strcmp(plan.role, "ask") == 0);
        REQUIRE(plan.bytes >= PL_ADAPTER_BYTES_MIN && plan.bytes <= PL_ADAPTER_BYTES_MAX);
        REQUIRE(plan.streams >= 1 && plan.streams <= PL_PLAN_STREAMS_MAX);
        REQUIRE(plan.port >= 0 && plan.port <= 65535 && plan.priority >= 0 && plan.priority <= 98);
        REQUIRE(plan.interval_ns > 0 && plan.warmup_ns >= 0 && plan.duration_ns > 0 && plan.stall_ns > 0);
        REQUIRE(plan.requests == 0 || plan.requests >= plan.streams);
        REQUIRE(strlen(pl_plan_settings(&plan, 0).address) < PL_PLAN_ADDRESS_BYTES);
    }
    free(json);
    return 0;
}
