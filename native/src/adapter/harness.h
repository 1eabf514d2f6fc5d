/* adapter.h for the harness itself, which is not in the adapter's language. */
#ifndef PL_HARNESS_H
#define PL_HARNESS_H

#define PL_ADAPTER_HARNESS
#include "adapter/adapter.h"

#define PL_CONTRACT 1

#endif
