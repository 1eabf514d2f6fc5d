#include "base/siphash.h"

#define WORD_BYTES 8
#define COMPRESSION_ROUNDS 2
#define FINAL_ROUNDS 4

/* The paper's v0 to v3. */
struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate_left(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

/* Up to eight bytes, the least significant first. */
static uint64_t read_word(const uint8_t *bytes, size_t count)
{
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++)
        word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

static void mix(struct state *state, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        state->v0 += state->v1;
        state->v1 = rotate_left(state->v1, 13) ^ state->v0;
        state->v0 = rotate_left(state->v0, 32);
        state->v2 += state->v3;
        state->v3 = rotate_left(state->v3, 16) ^ state->v2;
        state->v0 += state->v3;
        state->v3 = rotate_left(state->v3, 21) ^ state->v0;
        state->v2 += state->v1;
        state->v1 = rotate_left(state->v1, 17) ^ state->v2;
        state->v2 = rotate_left(state->v2, 32);
    }
}

static void absorb(struct state *state, uint64_t word)
{
    state->v3 ^= word;
    mix(state, COMPRESSION_ROUNDS);
    state->v0 ^= word;
}

uint64_t pl_siphash(const uint8_t key[PL_SIPHASH_KEY_BYTES], const uint8_t *bytes, size_t count)
{
    uint64_t low = read_word(key, WORD_BYTES);
    uint64_t high = read_word(key + WORD_BYTES, WORD_BYTES);
    /* The paper's constants: "somepseudorandomlygeneratedbytes". */
    struct state state = {.v0 = low ^ UINT64_C(0x736f6d6570736575),
                          .v1 = high ^ UINT64_C(0x646f72616e646f6d),
                          .v2 = low ^ UINT64_C(0x6c7967656e657261),
                          .v3 = high ^ UINT64_C(0x7465646279746573)};
    size_t rest = count % WORD_BYTES;
    for (size_t at = 0; at + WORD_BYTES <= count; at += WORD_BYTES)
        absorb(&state, read_word(bytes + at, WORD_BYTES));
    /* The last word: what is left, and the length modulo 256 in its highest byte. */
    absorb(&state, read_word(bytes + (count - rest), rest) | (uint64_t)(count & 0xFF) << 56);
    state.v2 ^= 0xFF;
    mix(&state, FINAL_ROUNDS);
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}
