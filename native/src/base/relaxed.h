/* Numbers that one thread writes while others read them, which order nothing else. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define pl_load_relaxed(at) atomic_load_explicit(at, memory_order_relaxed)
#define pl_store_relaxed(at, value) atomic_store_explicit(at, value, memory_order_relaxed)

/* For the only thread that writes the counter: no read-modify-write is needed. */
static inline void pl_counter_add(_Atomic uint64_t *counter, uint64_t count)
{
    pl_store_relaxed(counter, pl_load_relaxed(counter) + count);
}
