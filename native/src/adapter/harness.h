/* adapter.h for the harness itself, which is not in the adapter's language. */
#pragma once

#define PL_ADAPTER_HARNESS
#include "adapter/adapter.h"

#define PL_CONTRACT 1
