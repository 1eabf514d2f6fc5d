/* Breaches of the protocols of messages and datagrams: failures of a stream that stand alongside the errnos
 * of its calls. */
#pragma once

enum pl_breach {
    PL_BREACH_MESSAGE = 10000, /* above every errno */
    PL_BREACH_PART,
    PL_BREACH_ANSWER,
    PL_BREACH_QUEUE,
    PL_BREACH_STATEMENT,
    PL_BREACH_END
};

/* What the peer did; NULL for an errno. */
const char *pl_breach_text(int failure);
