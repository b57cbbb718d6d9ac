/*
 * What processes that meet say to one another, and by which sockets. Private to
 * group_*.c.
 *
 * A caller says one hello. Rank 0 says at once whether it has a seat, and how long it may
 * take, and one answer at the end. All begin with the same head, so that processes of
 * different versions understand that much. Everything has a fixed length,
 * known before it comes: nothing is allocated, or waited for, because a peer says so.
 * Numbers are in network order. A peer may be anybody who reaches the port.
 */
#ifndef CCS_RUNTIME_MEET_GROUP_WIRE_H
#define CCS_RUNTIME_MEET_GROUP_WIRE_H

#include "runtime/base/clock.h"
#include "runtime/meet/group.h"

#include <netdb.h>
#include <stdint.h>
#include <sys/socket.h>

#define WIRE_MAGIC "ccs-meet"
#define WIRE_VERSION 2u
#define WIRE_TEXT 1000
#define WIRE_FROM 64
#define WIRE_SECONDS 10 /* at most, for a hello, and for the first word back */
#define WIRE_GRACE 2	/* seconds behind the end, for telling that it was the end */

struct wire_head {
	char magic[8];
	uint32_t version, bytes; /* of the protocol; that follow */
};

struct wire_hello {
	struct wire_head head;
	char release[16], job[GROUP_JOB]; /* ccs's version; struct group_env */
	uint32_t self[4];		  /* the same in all calls of one process */
	uint32_t rank, nranks;
	uint32_t status; /* minus a ccs_status: it failed before, as `text` says */
	uint32_t card_bytes;
	unsigned char card[GROUP_CARD];
	char text[WIRE_TEXT];
};

enum wire_kind {
	WIRE_SEATED,   /* it has come; `status`: milliseconds that rank 0 still waits */
	WIRE_DONE,     /* the answer follows */
	WIRE_FAILED,   /* the meeting has; `text` is whole */
	WIRE_REFUSED,  /* the caller does not belong here */
	WIRE_ELSEWHERE /* another job meets here; the caller's own may later */
};

struct wire_answer {
	struct wire_head head;
	uint32_t kind, status; /* minus a ccs_status, if it failed */
	uint32_t answer_bytes;
	char text[WIRE_TEXT];
	unsigned char answer[GROUP_ANSWER];
};

struct wire_place {
	char host[256], port[8];
};

/** HOST:PORT, or [HOST]:PORT. */
void wire_place(struct wire_place *p, const char *address);
/** "10.0.0.1:4000" */
void wire_from(const struct sockaddr *a, socklen_t n, char text[WIRE_FROM]);
struct wire_head wire_head(size_t bytes);
/** Whether the first `got` bytes can be those of a head of ours. */
bool wire_ours(const void *data, size_t got);
/** Makes a peer's text safe to be printed: it ends, and controls no terminal. */
void wire_clean(char *text, size_t size);
/** Whether an errno means that there are no descriptors; and says so with what is to be
 *  done. `what` cannot be done for want of them. */
bool wire_exhausted(int e);
ccs_status wire_exhaustion(int e, const char *what);

/** Listens at the place: a number is taken as it is; behind a name, which often means
 *  127.0.1.1 on its own host, any of this host's addresses. Tries again until `end` while
 *  the port is in use. CCS_ESYSTEM. */
ccs_status wire_listen(const struct wire_place *p, double end, int *fd);
/** Connects; waits until `end`. -1, with errno. */
int wire_connect(const struct addrinfo *a, double end);
/** Waits until the socket can be read, or written to, or `end`. */
bool wire_wait(int fd, short events, double end);
/** Sends all, and waits until `end` for room. */
bool wire_send(int fd, const void *data, size_t n, double end);

/** Rank 0's part, in group_hold.c: listens, and answers all; as group_meet. */
ccs_status group_hold(const struct group_env *env, const struct group_meeting *m, ccs_status here);
/** The most seconds that the meeting takes. */
double group_limit(const struct group_env *env);

#endif
