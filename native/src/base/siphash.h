/* SipHash-2-4: a keyed digest of short messages (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
 * 2012). Without the key nobody can make a digest or learn the key from digests. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PL_SIPHASH_KEY_BYTES 16

/* The 64-bit digest of `count` bytes, as a number: the paper's bytes, the least significant first. */
uint64_t pl_siphash(const uint8_t key[PL_SIPHASH_KEY_BYTES], const uint8_t *bytes, size_t count);
