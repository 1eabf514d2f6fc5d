/* Hellos and answers from the wire, and the settings that a receiver takes from them. The first byte selects
 * the receiver's flags; hellos follow. */
#include <string.h>

#include "base/token.h"
#include "flow/flow_settings.h"
#include "flow/hello.h"
#include "property.h"

enum { HELLOS = 8, MOST_ARGUMENTS = 7, RECEIVERS = 4 };

static void check_hello_bytes(const uint8_t bytes[PL_HELLO_BYTES], struct pl_hello *hello)
{
    uint8_t again[PL_HELLO_BYTES];
    uint16_t version;
    bool known = pl_hello_decode(bytes, hello);
    REQUIRE(pl_hello_peek(bytes, &version) == known && version == hello->version);
    pl_hello_encode(hello, again);
    /* An encoded hello always has the same magic, whatever was decoded. */
    REQUIRE(memcmp(bytes + 4, again + 4, PL_HELLO_BYTES - 4) == 0);
    REQUIRE((memcmp(bytes, again, 4) == 0) == known);
    REQUIRE(pl_token_equal(hello->token, again + 16));
}

static void check_answer(const uint8_t bytes[PL_ANSWER_BYTES])
{
    struct pl_answer answer;
    uint8_t again[PL_ANSWER_BYTES];
    bool known = pl_answer_decode(bytes, &answer);
    pl_answer_encode(&answer, again);
    REQUIRE(memcmp(bytes + 4, again + 4, PL_ANSWER_BYTES - 4) == 0);
    REQUIRE((memcmp(bytes, again, 4) == 0) == known);
}

static void check_token(const uint8_t token[PL_TOKEN_BYTES])
{
    char text[2 * PL_TOKEN_BYTES + 1];
    uint8_t again[PL_TOKEN_BYTES];
    for (size_t i = 0; i < PL_TOKEN_BYTES; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", token[i]);
    REQUIRE(pl_token_parse(text, again) && pl_token_equal(token, again));
}

static struct pl_flow build_receiver(unsigned choice)
{
    static char *known[RECEIVERS][MOST_ARGUMENTS] = {
        {"receive"},
        {"receive", "--streams", "2", "--direction", "forward"},
        {"receive", "--duration", "2s", "--warmup", "1s", "--bytes", "5000"},
        {"receive", "--transport", "unix", "--rate", "1M", "--window", "8KiB"},
    };
    int count = 0;
    while (count < MOST_ARGUMENTS && known[choice][count] != NULL)
        count++;
    struct pl_flow flow;
    struct pl_error error = {0};
    REQUIRE(pl_flow_parse(&flow, false, count, known[choice], &error) == PL_OPTIONS_OK);
    return flow;
}

static void check_adopted(const struct pl_flow *before, const struct pl_flow *flow,
                          const struct pl_hello *hello)
{
    uint64_t sum = 0;
    REQUIRE(flow->streams > 0 && flow->warmup_ns >= 0 && flow->duration_ns >= 0 && flow->bytes >= 0);
    REQUIRE(flow->streams == (int64_t)hello->streams && pl_flow_direction(flow) == hello->flags);
    REQUIRE(flow->streams <= PL_MAX_STREAMS && hello->stream < hello->streams);
    REQUIRE(before->streams == 0 || before->streams == flow->streams);
    REQUIRE(before->warmup_ns < 0 || before->warmup_ns == flow->warmup_ns);
    REQUIRE(before->duration_ns < 0 || before->duration_ns == flow->duration_ns);
    REQUIRE(before->bytes < 0 || before->bytes == flow->bytes);
    REQUIRE(flow->workers >= 1 && flow->workers <= flow->streams);
    REQUIRE(flow->write_bytes >= 1 && flow->read_bytes >= 1);
    for (uint32_t i = 0; i < hello->streams; i++)
        sum += pl_flow_stream_bytes(flow, i);
    REQUIRE(sum == (uint64_t)flow->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct pl_flow flow = build_receiver(data[0] % RECEIVERS);
    const uint8_t *at = data + 1;
    size_t left = size - 1;
    if (left >= PL_ANSWER_BYTES)
        check_answer(at);
    for (int i = 0; i < HELLOS && left >= PL_HELLO_BYTES; i++) {
        struct pl_hello hello;
        struct pl_flow before;
        check_hello_bytes(at, &hello);
        check_token(hello.token);
        /* With memcpy, so that padding is the same too. */
        memcpy(&before, &flow, sizeof before);
        if (pl_flow_adopt(&flow, &hello)) {
            check_adopted(&before, &flow, &hello);
            REQUIRE(pl_flow_adopt(&flow, &hello));
        } else {
            REQUIRE(memcmp(&before, &flow, sizeof before) == 0);
        }
        at += PL_HELLO_BYTES;
        left -= PL_HELLO_BYTES;
    }
    return 0;
}
