/*
 * The process at the other end of a Unix socket, as the kernel reports it.
 */
#ifndef CCS_RUNTIME_BASE_PEER_H
#define CCS_RUNTIME_BASE_PEER_H

#include <stdbool.h>
#include <sys/socket.h>

/** Whether the process at the other end belonged to this user when it connected, or began to
 *  listen. *of: its identity; zeros if unknown. */
bool peer_is_mine(int fd, struct ucred *of);

#endif
