/* Numbers in network byte order, and the Internet checksum against the example of RFC 1071, section 3. */
#include "base/bytes.h"
#include "check.h"

static void check_numbers(void)
{
    const uint8_t golden[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF};
    uint8_t bytes[8];
    pl_put64(bytes, UINT64_C(0x0123456789ABCDEF));
    CHECK(memcmp(bytes, golden, sizeof bytes) == 0);
    CHECK(pl_get64(golden) == UINT64_C(0x0123456789ABCDEF));
    CHECK(pl_get32(golden) == 0x01234567);
    CHECK_EQUAL(pl_get16(golden + 6), 0xCDEF);
    pl_put64(bytes, UINT64_MAX);
    CHECK(pl_get64(bytes) == UINT64_MAX);
    pl_put32(bytes, 0x89ABCDEF);
    CHECK(memcmp(bytes, golden + 4, 4) == 0);
    pl_put16(bytes, 0x12340123);
    CHECK(memcmp(bytes, golden, 2) == 0);
}

static void check_checksum(void)
{
    const uint8_t example[8] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    CHECK_EQUAL(pl_internet_sum(example, sizeof example, 0), 0xddf2);
    /* An odd last byte counts as the high half of a word; a sum may be continued. */
    CHECK_EQUAL(pl_internet_sum(example, 3, 0), 0xf201);
    CHECK_EQUAL(pl_internet_sum(example + 4, 4, pl_internet_sum(example, 4, 0)), 0xddf2);
    CHECK_EQUAL(pl_internet_sum(example, 0, 7), 7);
    CHECK_EQUAL(pl_internet_fold(0x1ffff), 1);
}

int main(void)
{
    check_numbers();
    check_checksum();
    CHECK_RETURN();
}
