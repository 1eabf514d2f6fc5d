/* When a batch is full, what it holds, and when its delays are over. */
#include "base/bytes.h"
#include "check.h"
#include "messages/batch.h"

static uint8_t content[PL_MESSAGE_MAX_BYTES];

static struct pl_batch open_batch(int64_t message_bytes, int64_t batch_bytes)
{
    const struct pl_message_settings settings = {.bytes = message_bytes,
                                                 .batch_bytes = batch_bytes,
                                                 .batch_min_delay_ns = 400000,
                                                 .batch_max_delay_ns = 800000};
    struct pl_batch batch;
    CHECK(pl_batch_open(&batch, &settings, content));
    return batch;
}

static void check_whole_messages(void)
{
    struct pl_batch batch = open_batch(64, 1000);
    pl_batch_fill(&batch, UINT64_MAX);
    CHECK_EQUAL(batch.messages, 15);
    CHECK_EQUAL(batch.used_bytes, 960);
    CHECK(pl_batch_is_full(&batch));
    for (uint32_t i = 0; i < 15; i++)
        CHECK_EQUAL(pl_get32(batch.data + (size_t)i * 64), i);
    pl_batch_clear(&batch);
    pl_batch_fill(&batch, 3);
    CHECK_EQUAL(batch.messages, 3);
    CHECK_EQUAL(pl_get32(batch.data), 15);
    CHECK(!pl_batch_is_full(&batch));
    pl_batch_close(&batch);
}

/* Without batching, and where a batch is smaller than a message, each message is one. */
static void check_single(int64_t batch_bytes)
{
    struct pl_batch batch = open_batch(100, batch_bytes);
    pl_batch_add(&batch, 0);
    CHECK(pl_batch_is_full(&batch));
    CHECK_EQUAL(batch.used_bytes, 100);
    pl_batch_close(&batch);
}

static void check_delays(void)
{
    struct pl_batch batch = open_batch(64, 1000);
    CHECK_EQUAL(pl_batch_deadline_ns(&batch), PL_NEVER);
    pl_batch_add(&batch, 5000);
    pl_batch_add(&batch, 300000); /* the first message counts */
    CHECK_EQUAL(pl_batch_earliest_ns(&batch), 405000);
    CHECK_EQUAL(pl_batch_deadline_ns(&batch), 805000);
    pl_batch_clear(&batch);
    CHECK_EQUAL(pl_batch_deadline_ns(&batch), PL_NEVER);
    pl_batch_close(&batch);
}

int main(void)
{
    check_whole_messages();
    check_single(0);
    check_single(50);
    check_delays();
    CHECK_RETURN();
}
