/*
 * Other users, pretended: what the system says of the process at the other end of a Unix socket
 * (SO_PEERCRED), and of who owns a file, is altered in this program, so that a test of it needs no
 * second user.
 */
#ifndef TESTS_SUPPORT_PEERS_H
#define TESTS_SUPPORT_PEERS_H

#include <stdbool.h>

struct peers {
	bool other_user;   /* is at the other end of a socket */
	bool other_owner;  /* ... has regular files */
	bool other_folder; /* ... and folders */
	int pid;	   /* 0: as it is */
};

/** From now on, in this process. */
void peers_pretend(struct peers p);

#endif
