/* Numbers in network byte order, and the Internet checksum. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t pl_get16(const uint8_t *at);
uint32_t pl_get32(const uint8_t *at);
uint64_t pl_get64(const uint8_t *at);

/* Writes the low 16 bits of `value`. */
void pl_put16(uint8_t *at, uint32_t value);
void pl_put32(uint8_t *at, uint32_t value);
void pl_put64(uint8_t *at, uint64_t value);

/* The ones' complement sum of RFC 1071 over `count` bytes, added to `sum` and folded to 16 bits. */
uint32_t pl_internet_sum(const uint8_t *at, size_t count, uint32_t sum);
/* Folds a sum of 16-bit words to 16 bits. */
uint32_t pl_internet_fold(uint32_t sum);

/* Data that a compressing path cannot shrink: an xorshift sequence, the same for every run. */
void pl_fill_incompressible(uint8_t *buffer, size_t size);
