/* TCP keep-alive of accepted connections, so that a peer whose host is gone does not hold one for ever. */
#pragma once

/* Probes the peer after 30 s of silence; without an answer the kernel closes the connection a minute later.
 * No effect on sockets of other transports. */
void pl_keep_alive(int fd);
