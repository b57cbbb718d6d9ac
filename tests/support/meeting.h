/*
 * Tests of meetings: ranks that are threads, and callers that say what they like.
 */
#ifndef TESTS_SUPPORT_MEETING_H
#define TESTS_SUPPORT_MEETING_H

#include "runtime/meet/group_wire.h"
#include "tests/support/say.h"

#include <pthread.h>

#define MOST 8
#define ENOUGH 30 /* seconds for a meeting that should come about */

/* What rank 0 makes of the cards: their sum, and rank 1's. */
struct sum {
	uint64_t all;
	uint32_t of_one;
};

struct part {
	struct group_env env;
	ccs_status here; /* with this text */
	const char *text;
	unsigned wait_ms; /* before it comes */
	bool unwilling;	  /* rank 0 cannot make an answer */
	uint32_t card;
	struct sum sum;
	ccs_status status;
	char error[2048];
	pthread_t thread;
};

/** The ranks of a job that meets at that port of the loopback interface. */
void parts_make(struct part *p, int n, int port, unsigned seconds);
void part_start(struct part *p);
void part_end(struct part *p);
/** All at once, to their ends. */
void parts_run(struct part *p, int n);
/** Whether rank 0's answer is what it should be, in one or all. */
bool part_has_sum(const struct part *p);
bool parts_have_sum(const struct part *p, int n);
/** Whether it failed so, with that in its text. */
bool part_failed(const struct part *p, ccs_status want, const char *text);

/** What a rank would say. */
struct wire_hello hello_of(const struct part *p);
/** A connection to that port, as soon as somebody listens there; and with something said. */
int connect_to(int port);
int say_to(int port, const void *data, size_t n);
/** What proofs of the job that meets at that port are made with. */
struct wire_keys keys_of(int port);
/** The nonce that rank 0 has sent there; then the hello's proof for that port's job. */
void prove_hello(int fd, int port, struct wire_hello *w);
/** A connection to that port, with a hello that proves its job. */
int hello_to(int port, struct wire_hello w);
/** Listens there. */
int listen_on(int port);
/** Until rank 0 has hung up: whether it gave an answer of that kind and text. */
bool refused(int fd, enum wire_kind kind, const char *text);

#endif
