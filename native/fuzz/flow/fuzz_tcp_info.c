/* The kernel's struct tcp_info of any length: it grows from release to release. */
#include <string.h>

#include "flow/tcp_info.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_tcp_info info;
    struct pl_tcp_info shorter;
    if (size > PL_TCP_INFO_RAW_BYTES)
        return 0;
    pl_tcp_info_parse(data, size, &info);
    REQUIRE(info.present >> PL_TCP_INFO_FIELDS == 0);
    /* A shorter struct of an older kernel has the same fields or none. */
    pl_tcp_info_parse(data, size / 2, &shorter);
    REQUIRE((shorter.present & ~info.present) == 0);
    for (size_t i = 0; i < PL_TCP_INFO_FIELDS; i++) {
        uint64_t value = 0;
        bool present = (info.present & UINT32_C(1) << i) != 0;
        REQUIRE(pl_tcp_info_find(&info, pl_tcp_info_name(i), &value) == present);
        REQUIRE(!present || value == info.values[i]);
        if ((shorter.present & UINT32_C(1) << i) != 0)
            REQUIRE(shorter.values[i] == info.values[i]);
    }
    return 0;
}
