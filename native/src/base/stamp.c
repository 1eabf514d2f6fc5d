#include "base/stamp.h"

#include <string.h>
#include <time.h>

pl_ns pl_stamp_read(struct msghdr *message)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec time;
            memcpy(&time, CMSG_DATA(part), sizeof time);
            return pl_timespec_ns(&time);
        }
    }
    return 0;
}
