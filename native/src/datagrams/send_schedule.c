#include "datagrams/send_schedule.h"

#include <stdbool.h>

enum { STRIDES = 62 };

void pl_send_schedule_begin(struct pl_send_schedule *schedule, pl_ns start_ns, uint64_t unit_bytes,
                            uint64_t rate_bits_per_s, uint32_t share, uint32_t streams)
{
    /* At most 65,535 x 8 x 10^9 x 4,096 = 2.2e18, and 10^14 x 4,096 = 4.1e17: both fit. */
    uint64_t bits_ns = unit_bytes * 8 * (uint64_t)PL_NS_PER_S * streams;
    uint64_t rate = rate_bits_per_s * share;
    *schedule = (struct pl_send_schedule){
        .due_ns = start_ns, .step_ns = (pl_ns)(bits_ns / rate), .part = bits_ns % rate, .whole = rate};
}

/* The time that 2^n units take: `ns`, and `part` of the schedule's whole of a nanosecond. */
struct stride {
    pl_ns ns;
    uint64_t part;
};

static void move(struct pl_send_schedule *schedule, struct stride stride)
{
    schedule->due_ns += stride.ns;
    schedule->owed += stride.part;
    if (schedule->owed >= schedule->whole) {
        schedule->owed -= schedule->whole;
        schedule->due_ns++;
    }
}

void pl_send_schedule_advance(struct pl_send_schedule *schedule)
{
    move(schedule, (struct stride){.ns = schedule->step_ns, .part = schedule->part});
}

uint64_t pl_send_schedule_skip(struct pl_send_schedule *schedule, pl_ns until_ns)
{
    struct stride strides[STRIDES] = {{.ns = schedule->step_ns, .part = schedule->part}};
    unsigned count = 1;
    uint64_t skipped = 0;
    if (schedule->due_ns >= until_ns)
        return 0;
    for (; count < STRIDES && strides[count - 1].ns < until_ns - schedule->due_ns; count++) {
        const struct stride *half = &strides[count - 1];
        bool carries = half->part >= schedule->whole - half->part;
        strides[count] = (struct stride){.ns = 2 * half->ns + carries,
                                         .part = 2 * half->part - (carries ? schedule->whole : 0)};
    }
    /* To the last unit that is due before: its number in binary digits. */
    while (count-- > 0) {
        struct pl_send_schedule moved = *schedule;
        move(&moved, strides[count]);
        if (moved.due_ns >= until_ns)
            continue;
        *schedule = moved;
        skipped += UINT64_C(1) << count;
    }
    pl_send_schedule_advance(schedule);
    return skipped + 1;
}
