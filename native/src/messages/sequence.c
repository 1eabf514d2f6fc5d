#include "messages/sequence.h"

void pl_sequence_jump(struct pl_sequence *sequence, uint32_t number)
{
    uint32_t ahead = number - sequence->expected;
    if (ahead < UINT32_C(1) << 31) {
        sequence->missing += ahead;
        sequence->expected = number + 1;
        return;
    }
    sequence->out_of_order++;
    if (sequence->missing > 0)
        sequence->missing--;
}
