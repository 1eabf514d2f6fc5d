/* Order, growth and bound of the delay line; the packet pool. */
#include "check.h"
#include "emulate/delay_line.h"
#include "emulate/packet.h"

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return *state >> 33;
}

static bool push(struct pl_delay_line *line, pl_ns due_ns, uint32_t tag)
{
    struct pl_delivery delivery = {.due_ns = due_ns, .first_segment = tag};
    return pl_delay_line_push(line, &delivery);
}

static void check_order(void)
{
    struct pl_delay_line line;
    pl_delay_line_init(&line, 1 << 16);
    CHECK(pl_delay_line_peek(&line) == NULL);
    uint64_t state = 1;
    uint64_t pushed = 0;
    uint64_t popped = 0;
    pl_ns last_ns = -1;
    /* Pops between the pushes move the head, so that a wrapped ring grows. */
    for (uint32_t i = 0; i < 20000; i++) {
        pl_ns due_ns = (pl_ns)i * 10 + (pl_ns)(next_random(&state) % 100);
        CHECK(push(&line, due_ns < last_ns ? last_ns : due_ns, i));
        pushed++;
        if (next_random(&state) % 3 == 0) {
            last_ns = pl_delay_line_peek(&line)->due_ns;
            pl_delay_line_pop(&line);
            popped++;
        }
        CHECK_EQUAL(pl_delay_line_count(&line), pushed - popped);
    }
    pl_ns before_ns = last_ns;
    for (const struct pl_delivery *next; (next = pl_delay_line_peek(&line)) != NULL; popped++) {
        CHECK(next->due_ns >= before_ns);
        before_ns = next->due_ns;
        pl_delay_line_pop(&line);
    }
    CHECK_EQUAL(popped, pushed);
    pl_delay_line_free(&line);
}

static void check_equal_times_keep_their_order(void)
{
    struct pl_delay_line line;
    pl_delay_line_init(&line, 1024);
    CHECK(push(&line, 50, 0));
    CHECK(push(&line, 20, 1));
    CHECK(push(&line, 50, 2));
    CHECK(push(&line, 20, 3));
    static const uint32_t expected[] = {1, 3, 0, 2};
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQUAL(pl_delay_line_peek(&line)->first_segment, expected[i]);
        pl_delay_line_pop(&line);
    }
    pl_delay_line_free(&line);
}

static void check_bound(void)
{
    struct pl_delay_line line;
    pl_delay_line_init(&line, 200); /* rounded down to 128 */
    for (uint32_t i = 0; i < 128; i++)
        CHECK(push(&line, i, i));
    CHECK(!push(&line, 0, 999));
    CHECK_EQUAL(pl_delay_line_count(&line), 128);
    CHECK_EQUAL(pl_delay_line_peek(&line)->first_segment, 0);
    pl_delay_line_pop(&line);
    CHECK(push(&line, 0, 999));
    CHECK_EQUAL(pl_delay_line_peek(&line)->first_segment, 999);
    pl_delay_line_free(&line);
}

static void check_pool(void)
{
    struct pl_packet_pool pool;
    pl_packet_pool_init(&pool, 10 * PL_PACKET_BIG_BYTES);
    CHECK(pl_packet_acquire(&pool, PL_PACKET_BIG_BYTES + 1) == NULL);
    pl_packet_pool_prefault(&pool, PL_PACKET_SMALL_BYTES, 1000000); /* stops at the bound */
    CHECK(pool.allocated_bytes <= pool.maximum_bytes);
    CHECK(pool.allocated_bytes > pool.maximum_bytes - 2 * PL_PACKET_SMALL_BYTES);

    /* Idle small buffers are freed for big ones. */
    struct pl_packet *taken[16];
    unsigned count = 0;
    while (count < 16 && (taken[count] = pl_packet_acquire(&pool, PL_PACKET_BIG_BYTES)) != NULL) {
        memset(taken[count]->data, 0x5a, PL_PACKET_BIG_BYTES);
        count++;
    }
    CHECK_EQUAL(count, 9); /* the tenth does not fit with its header */
    CHECK(pool.allocated_bytes <= pool.maximum_bytes);
    struct pl_packet *medium = pl_packet_acquire(&pool, PL_PACKET_SMALL_BYTES + 1);
    CHECK(medium != NULL && pl_packet_capacity(medium) == PL_PACKET_MEDIUM_BYTES);
    pl_packet_release(&pool, medium);
    while (count > 0)
        pl_packet_release(&pool, taken[--count]);
    pl_packet_pool_free(&pool);
    CHECK_EQUAL(pool.allocated_bytes, 0);
}

int main(void)
{
    check_order();
    check_equal_times_keep_their_order();
    check_bound();
    check_pool();
    CHECK_RETURN();
}
