/* The asking end of an adapter's program: the thread that takes commands, writes records and watches the
 * loops. */
#pragma once

#include "adapter/harness.h"
#include "adapter/loop.h"
#include "adapter/plan.h"
#include "base/error.h"

/* Runs a whole trial after the hello record; `extras` may be NULL. The exit status. */
enum pl_status pl_asking_run(const struct pl_adapter *adapter, const struct pl_asker_extras *extras,
                             const struct pl_plan *plan);
