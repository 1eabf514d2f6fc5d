#include "flow/trial.h"

#include <errno.h>
#include <stdlib.h>

#include "base/events.h"
#include "flow/account.h"
#include "flow/delivery.h"
#include "flow/display.h"
#include "flow/records.h"

struct pl_trial {
    struct pl_account *account;
    struct pl_json json;
};

struct pl_trial *pl_trial_create(const struct pl_flow *flow, struct pl_stream *streams, struct pl_pool *pool,
                                 struct pl_error *error)
{
    struct pl_trial *trial = calloc(1, sizeof *trial);
    if (trial == NULL) {
        pl_error_set(error, PL_RESOURCES, "trial", ENOMEM, "no memory for the trial");
        return NULL;
    }
    trial->account = pl_account_create(flow, streams, pool, error);
    if (trial->account != NULL)
        return trial;
    free(trial);
    return NULL;
}

void pl_trial_free(struct pl_trial *trial)
{
    if (trial == NULL)
        return;
    pl_account_free(trial->account);
    pl_json_release(&trial->json);
    free(trial);
}

static bool is_human(const struct pl_trial *trial)
{
    return trial->account->flow->human;
}

bool pl_trial_ready(struct pl_trial *trial, int64_t rejected)
{
    return is_human(trial) ? pl_display_ready(trial->account)
                           : pl_records_ready(&trial->json, trial->account, rejected);
}

bool pl_trial_start(struct pl_trial *trial, pl_ns start_ns)
{
    pl_account_start(trial->account, start_ns);
    return is_human(trial) || pl_records_start(&trial->json, trial->account);
}

bool pl_trial_started(const struct pl_trial *trial)
{
    return trial->account->started;
}

pl_ns pl_trial_next_ns(const struct pl_trial *trial)
{
    const struct pl_account *account = trial->account;
    return account->started ? account->start_ns + pl_phases_next_ns(&account->phases) : PL_NEVER;
}

enum pl_phase pl_trial_phase(const struct pl_trial *trial)
{
    return trial->account->phases.current;
}

uint64_t pl_trial_received_bytes(const struct pl_trial *trial)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < trial->account->count; s++)
        sum += atomic_load_explicit(&trial->account->streams[s].received_bytes, memory_order_relaxed);
    return sum;
}

uint64_t pl_trial_progress(const struct pl_trial *trial)
{
    const struct pl_account *account = trial->account;
    uint64_t sum = pl_pool_closed(account->pool);
    for (uint32_t s = 0; s < account->count; s++)
        sum += pl_delivery_progress(&account->streams[s], account->flow->transport);
    return sum;
}

bool pl_trial_sample(struct pl_trial *trial)
{
    pl_account_close_interval(trial->account);
    return is_human(trial) ? pl_display_interval(trial->account)
                           : pl_records_interval(&trial->json, trial->account);
}

bool pl_trial_cut(struct pl_trial *trial)
{
    bool written = pl_trial_sample(trial);
    pl_phases_cut(&trial->account->phases);
    return written;
}

bool pl_trial_finish(struct pl_trial *trial, const struct pl_ending *ending)
{
    struct pl_account *account = trial->account;
    pl_pool_join(account->pool);
    bool written = true;
    if (account->started)
        written = pl_trial_sample(trial);
    else
        pl_account_sample(account);
    pl_phases_finish(&account->phases);
    pl_account_settle_delivery(account, ending->resets);
    return (is_human(trial) ? pl_display_result(account, ending)
                            : pl_records_result(&trial->json, account, ending)) &&
           written;
}
