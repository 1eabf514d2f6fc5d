/* Order and completeness: gaps, what fills them, and the wrap of 32 bits. */
#include "check.h"
#include "messages/sequence.h"

static struct pl_sequence after(const uint32_t *numbers, size_t count, uint32_t expected)
{
    struct pl_sequence sequence = {.expected = expected};
    for (size_t i = 0; i < count; i++)
        pl_sequence_add(&sequence, numbers[i]);
    return sequence;
}

static void check_counts(struct pl_sequence found, uint64_t received, uint64_t missing, uint64_t out_of_order)
{
    CHECK_EQUAL(found.received, received);
    CHECK_EQUAL(found.missing, missing);
    CHECK_EQUAL(found.out_of_order, out_of_order);
}

int main(void)
{
    const uint32_t ordered[] = {0, 1, 2, 3};
    const uint32_t gap[] = {0, 1, 5};
    const uint32_t filled[] = {0, 2, 3, 1};
    const uint32_t wrapped[] = {UINT32_MAX - 1, UINT32_MAX, 0, 1};
    const uint32_t wrapped_gap[] = {UINT32_MAX, 2, 0};
    const uint32_t repeated[] = {0, 1, 1};
    check_counts(after(ordered, 4, 0), 4, 0, 0);
    check_counts(after(gap, 3, 0), 3, 3, 0);
    check_counts(after(filled, 4, 0), 4, 0, 1);
    check_counts(after(wrapped, 4, UINT32_MAX - 1), 4, 0, 0);
    check_counts(after(wrapped_gap, 3, UINT32_MAX), 3, 1, 1);
    check_counts(after(repeated, 3, 0), 3, 0, 1);
    CHECK_RETURN();
}
