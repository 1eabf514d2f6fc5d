/* adapter.h for the harness itself, which is not in the adapter's language. */
#pragma once

#define PL_ADAPTER_HARNESS
#include "adapter/adapter.h"

#define PL_CONTRACT 1

/* pl_adapter_fail() for functions that return whether they succeed: always false. */
#define pl_adapter_failed(...) (pl_adapter_fail(__VA_ARGS__) == 0)
