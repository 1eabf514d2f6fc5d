#include "messages/breach.h"

#include <stddef.h>

const char *pl_breach_text(int failure)
{
    static const char *const texts[] = {
        "it sent bytes that are not a message", "it sent a part of a message at the end or in a datagram",
        "it answered what was not sent", "it wrote impossible counts into a queue",
        "it stated what has no place there"};
    return failure >= PL_BREACH_MESSAGE && failure < PL_BREACH_END ? texts[failure - PL_BREACH_MESSAGE]
                                                                   : NULL;
}
