#include "flow/flow_kind.h"

#include "datagrams/datagram_kind.h"
#include "messages/message_kind.h"
#include "streams/stream_kind.h"

const struct pl_flow_kind *pl_flow_kind_of(const struct pl_flow *flow)
{
    if (flow->messages.bytes > 0)
        return &pl_message_kind;
    return flow->datagrams.carried ? &pl_datagram_kind : &pl_stream_kind;
}
