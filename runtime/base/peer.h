/*
 * The process at the other end of a socket of this host, from the system.
 */
#ifndef CCS_RUNTIME_BASE_PEER_H
#define CCS_RUNTIME_BASE_PEER_H

#include <stdbool.h>
#include <sys/socket.h>

/** Whether the process at the other end of a Unix socket was this user's when it connected, or began
 *  to listen. *of: which it was; zeros if the system does not say. */
bool peer_is_mine(int fd, struct ucred *of);

#endif
