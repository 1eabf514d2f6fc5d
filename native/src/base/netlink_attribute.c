#include "base/netlink_attribute.h"

#include <stdint.h>

const void *pl_netlink_attribute(const void *attributes, size_t bytes, unsigned short type, size_t *size)
{
    const struct rtattr *at = attributes;
    size_t left = bytes;
    while (left >= sizeof *at && at->rta_len >= sizeof *at && at->rta_len <= left) {
        if ((at->rta_type & NLA_TYPE_MASK) == type) {
            *size = at->rta_len - RTA_LENGTH(0);
            return (const uint8_t *)at + RTA_LENGTH(0);
        }
        size_t step = RTA_ALIGN(at->rta_len);
        if (step > left)
            break;
        left -= step;
        at = (const struct rtattr *)(const void *)((const uint8_t *)at + step);
    }
    return NULL;
}
