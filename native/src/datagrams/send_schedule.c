#include "datagrams/send_schedule.h"

void pl_send_schedule_begin(struct pl_send_schedule *schedule, pl_ns start_ns, uint64_t unit_bytes,
                            uint64_t rate_bits_per_s, uint32_t share, uint32_t streams)
{
    /* At most 65,535 x 8 x 10^9 x 4,096 = 2.2e18, and 10^14 x 4,096 = 4.1e17: both fit. */
    uint64_t bits_ns = unit_bytes * 8 * (uint64_t)PL_NS_PER_S * streams;
    uint64_t rate = rate_bits_per_s * share;
    *schedule = (struct pl_send_schedule){
        .due_ns = start_ns, .step_ns = (pl_ns)(bits_ns / rate), .part = bits_ns % rate, .whole = rate};
}

void pl_send_schedule_advance(struct pl_send_schedule *schedule)
{
    schedule->due_ns += schedule->step_ns;
    schedule->owed += schedule->part;
    if (schedule->owed >= schedule->whole) {
        schedule->owed -= schedule->whole;
        schedule->due_ns++;
    }
}
