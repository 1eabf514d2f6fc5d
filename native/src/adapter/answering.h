/* The answering end of an adapter's program: its own server, or the responder alongside a third-party one. */
#pragma once

#include "adapter/harness.h"
#include "adapter/plan.h"
#include "base/error.h"

/* Answers until `stop`, a signal or the end of stdin. The exit status; the adapter's thread still runs. */
enum pl_status pl_answering_run(const struct pl_adapter *adapter, const struct pl_plan *plan);
