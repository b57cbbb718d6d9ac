/*
 * The messages between processes that meet, and their sockets. Private to group_*.c.
 *
 *   caller                      rank 0
 *   head of its hello     -->
 *                         <--   challenge: a nonce
 *   hello: a nonce, proof -->
 *                         <--   answer, proof: it has a seat, and how long that may take
 *                         <--   answer, proof: how it went, at the end
 *
 * A proof is a code of the message and both nonces, keyed with the job's name (BLAKE2s, RFC
 * 7693): a process that does not know the name cannot make one, nor replay an old one, and is
 * refused. The proof is worth as much as the name is secret: CCS_JOB_TOKEN's is, most launchers'
 * names are not. Messages are not encrypted. On one host the system also identifies the process
 * at the other end (base/peer.h).
 *
 * All begin with the same head, so that processes of different versions understand that much.
 * Everything has a fixed length, known before it comes: nothing is allocated, or waited for,
 * because a peer says so. Numbers are in network order. A peer may be any program that can
 * connect.
 */
#ifndef CCS_RUNTIME_MEET_GROUP_WIRE_H
#define CCS_RUNTIME_MEET_GROUP_WIRE_H

#include "runtime/base/blake2s.h"
#include "runtime/base/clock.h"
#include "runtime/meet/group.h"

#include <netdb.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define WIRE_MAGIC "ccs-meet"
#define WIRE_VERSION 3u
#define WIRE_TEXT 1000
#define WIRE_FROM 64
#define WIRE_NONCE 16
#define WIRE_SECONDS 10 /* most time for a hello, and for the challenge */
#define WIRE_GRACE 2	/* seconds after the deadline, to report that it was the end */

struct wire_head {
	char magic[8];
	uint32_t version, bytes; /* of the protocol; number of following bytes */
};

struct wire_challenge {
	struct wire_head head;
	unsigned char nonce[WIRE_NONCE];
};

struct wire_hello {
	struct wire_head head;
	unsigned char nonce[WIRE_NONCE];
	char release[16], job[GROUP_JOB]; /* ccs's version; the public part of the job's name */
	uint32_t self[4];		  /* the same in all calls of one process */
	uint32_t rank, nranks;
	uint32_t status; /* minus a ccs_status: the caller has failed before, as `text` says */
	uint32_t card_bytes;
	unsigned char card[GROUP_CARD];
	char text[WIRE_TEXT];
	unsigned char proof[BLAKE2S_BYTES]; /* of all before */
};

enum wire_kind {
	WIRE_SEATED,   /* it has a seat; `status`: milliseconds that rank 0 still waits */
	WIRE_DONE,     /* the answer follows */
	WIRE_FAILED,   /* the meeting has failed; `text` has the reason */
	WIRE_REFUSED,  /* the caller does not belong here */
	WIRE_ELSEWHERE /* another job meets here; the caller's job may meet here later */
};

struct wire_answer {
	struct wire_head head;
	uint32_t kind, status; /* minus a ccs_status, if it failed */
	uint32_t answer_bytes;
	char text[WIRE_TEXT];
	unsigned char answer[GROUP_ANSWER];
	unsigned char proof[BLAKE2S_BYTES]; /* of all before */
};

_Static_assert(sizeof(struct wire_hello) != sizeof(struct wire_answer),
	       "a head says which it is: no proof of one is the other's");

/* The inputs of proofs. */
struct wire_keys {
	unsigned char job[BLAKE2S_BYTES];
	char name[GROUP_JOB]; /* the public part of the job's name */
};

void wire_keys(struct wire_keys *k, const struct group_env *env);
/** CCS_ESYSTEM: the system has no random numbers. */
ccs_status wire_nonce(unsigned char nonce[WIRE_NONCE]);
/** Computes the proof of a message, which is its last member, from rank 0's nonce and the
 *  caller's. O(n). */
void wire_prove(const struct wire_keys *k, const unsigned char *of_rank_0,
		const unsigned char *of_caller, void *message, size_t n);
bool wire_proves(const struct wire_keys *k, const unsigned char *of_rank_0,
		 const unsigned char *of_caller, const void *message, size_t n);

struct wire_place {
	char host[256], port[8];
	bool here; /* `host` names a socket of this host */
};

/** HOST:PORT, [HOST]:PORT, or @NAME. */
void wire_place(struct wire_place *p, const char *address);
/** "10.0.0.1:4000" */
void wire_from(const struct sockaddr *a, socklen_t n, char text[WIRE_FROM]);
struct wire_head wire_head(size_t bytes);
/** Whether the first `got` bytes can be those of our head. */
bool wire_ours(const void *data, size_t got);
/** Makes a peer's text safe to print: terminates it, and replaces control characters. */
void wire_clean(char *text, size_t size);
/** Whether an errno means that no descriptors are left; wire_exhaustion sets the error with its
 *  cure: `what` cannot be done without them. */
bool wire_exhausted(int e);
ccs_status wire_exhaustion(int e, const char *what);

/** Listens at the place. A numeric address is used as it is; for a name, which is often
 *  127.0.1.1 on its own host, all addresses of this host. Retries until `end` while the port is
 *  in use. CCS_ESYSTEM. */
ccs_status wire_listen(const struct wire_place *p, double end, int *fd);
/* The addresses of a place. */
struct wire_addresses {
	struct addrinfo *first, *found; /* to be freed by freeaddrinfo */
	struct addrinfo one;
	struct sockaddr_un here;
};

/** An error of getaddrinfo, or 0. */
int wire_find(const struct wire_place *p, struct wire_addresses *a);
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
