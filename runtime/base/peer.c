/*
 * The process at the other end of a socket: unix(7), SO_PEERCRED. See peer.h. O(1).
 */
#include "runtime/base/peer.h"

#include <string.h>
#include <unistd.h>

bool peer_is_mine(int fd, struct ucred *of)
{
	socklen_t n = sizeof(*of);

	memset(of, 0, sizeof(*of));
	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, of, &n) && of->uid == geteuid();
}
