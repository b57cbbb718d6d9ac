/*
 * Point to point and requests, with tasks, with processes, and with processes whose messages are
 * read in place, or cannot be read and are relayed: values, order, groups, errors, overlap. Also
 * with processes under MPI: for each number of processes, the cases for as many ranks.
 *
 * usage: p2p_test DIRECTORY-OF-MODULES [tasks]
 *        mpirun -np 2 p2p_test DIRECTORY-OF-MODULES mpi
 */
#include "tests/support/team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GUARD = 16, SHORT_MS = 300, LONG = 1000003 };

/* ---- a team of tasks, or of processes ------------------------------------------------------- */

enum kind { TASKS, READ, RELAYED, IN_PLACE, NKINDS, BY_MPI };
static const char *const kinds[NKINDS] = { "tasks", "processes", "processes that relay",
					   "processes in place" };

struct act {
	team_act *act;
	enum kind kind;
};

static bool as_process(struct member *m)
{
	const struct act *a = m->of;

	return member_joins(m) && a->act(m);
}

struct task {
	struct member m;
	bool ok;
};

static void *as_task(void *of)
{
	struct task *t = of;

	t->ok = ((const struct act *)t->m.of)->act(&t->m);
	return NULL;
}

static bool run_tasks(int n, struct act *a)
{
	struct team team = { .n = n, .told = calloc((size_t)n, sizeof(struct told)) };
	struct ccs_comm *comm[TEAM_MOST];
	struct task task[TEAM_MOST];
	pthread_t thread[TEAM_MOST];
	bool ok = is(ccs_comm_init_all(comm, n), CCS_OK, NULL, "a communicator of tasks");

	for (int r = 0; r < n; r++) {
		task[r].m = (struct member){ &team, r, n, team.told + r, a, comm[r] };
		pthread_create(thread + r, NULL, as_task, task + r);
	}
	for (int r = 0; r < n; r++) {
		pthread_join(thread[r], NULL);
		ok &= task[r].ok;
	}
	for (int r = 0; r < n; r++)
		ccs_comm_free(task[r].m.comm);
	free(team.told);
	return ok;
}

static bool run_as(enum kind kind, int n, team_act *act)
{
	struct act a = { act, kind };
	bool ok;

	if (kind == TASKS)
		return run_tasks(n, &a);
	if (kind == RELAYED)
		setenv("CCS_CROSS_MEMORY_DISABLE", "1", 1);
	ok = team_run(n, as_process, &a);
	unsetenv("CCS_CROSS_MEMORY_DISABLE");
	return ok;
}

/* ---- buffers -------------------------------------------------------------------------------- */

static unsigned char *buffer(const struct member *m, size_t bytes)
{
	void *at = NULL;

	if (((const struct act *)m->of)->kind == IN_PLACE)
		ccs_mem_alloc(m->comm, bytes + GUARD, &at);
	else
		at = malloc(bytes + GUARD);
	memset(at, 0xee, bytes + GUARD);
	return at;
}

static void drop(const struct member *m, void *at)
{
	if (((const struct act *)m->of)->kind == IN_PLACE)
		ccs_mem_free(m->comm, at);
	else
		free(at);
}

/* Byte i of message k of a rank. */
static unsigned char value(int rank, int k, size_t i)
{
	return (unsigned char)(31 * rank + 7 * k + (int)(i % 251));
}

static unsigned char *filled(const struct member *m, int k, size_t bytes)
{
	unsigned char *x = buffer(m, bytes);

	for (size_t i = 0; i < bytes; i++)
		x[i] = value(m->rank, k, i);
	return x;
}

/* Whether message k of a rank has come, and nothing behind it; `got`: else nothing at all. */
static bool has(const unsigned char *x, int rank, int k, size_t bytes, bool got)
{
	for (size_t i = 0; i < bytes + GUARD; i++)
		if (x[i] != (got && i < bytes ? value(rank, k, i) : 0xee)) {
			printf("# message %d of rank %d: byte %zu is %d\n", k, rank, i, x[i]);
			return false;
		}
	return true;
}

/* That another has come so far, while this one calls nothing; requests of MPI's would not move. */
static bool comes(const struct member *m, int rank, int step)
{
	return ((const struct act *)m->of)->kind == BY_MPI || member_await(m, rank, step);
}

static bool ok_is(ccs_status s)
{
	return is(s, CCS_OK, NULL, "a call");
}

/* ---- right ones -------------------------------------------------------------------------------- */

/* Messages of many lengths, one way and back. */
static bool pairs(struct member *m)
{
	static const size_t sizes[] = { 0, 1, 7, 4096, 262144, 262145, LONG, 5 * LONG };
	bool ok = true;

	for (int k = 0; k < (int)(sizeof(sizes) / sizeof(*sizes)); k++) {
		size_t n = sizes[k];
		unsigned char *out = filled(m, k, n), *in = buffer(m, n);
		int peer = 1 - m->rank;

		for (int turn = 0; turn < 2; turn++)
			ok &= ok_is(turn == m->rank
					    ? ccs_send(out, n, CCS_UINT8, peer, m->comm, NULL)
					    : ccs_recv(in, n, CCS_UINT8, peer, m->comm, NULL));
		ok &= has(in, peer, k, n, true);
		drop(m, out);
		drop(m, in);
	}
	return ok;
}

/* Each to its neighbour, in a group. */
static bool ring(struct member *m)
{
	int next = (m->rank + 1) % m->n, before = (m->rank + m->n - 1) % m->n;
	unsigned char *out = filled(m, 0, LONG), *in = buffer(m, LONG);
	bool ok;

	ccs_group_start();
	ccs_send(out, LONG, CCS_UINT8, next, m->comm, NULL);
	ccs_recv(in, LONG, CCS_UINT8, before, m->comm, NULL);
	ok = ok_is(ccs_group_end()) && has(in, before, 0, LONG, true);
	drop(m, out);
	drop(m, in);
	return ok;
}

/* Every rank to every rank, itself too, three messages each, and a sum among them. */
static bool all_to_all(struct member *m)
{
	enum { BYTES = 3001, TIMES = 3 };
	struct ccs_module *sum = team_module("ring_allreduce");
	unsigned char *out[TIMES], *in[TEAM_MOST][TIMES];
	int32_t x = m->rank;
	bool ok = sum;

	for (int k = 0; k < TIMES; k++) {
		out[k] = filled(m, k, BYTES);
		for (int r = 0; r < m->n; r++)
			in[r][k] = buffer(m, BYTES);
	}
	ccs_group_start();
	for (int k = 0; k < TIMES; k++) {
		if (k == 1)
			member_sum(m, sum, &x, 1);
		for (int r = m->n - 1; r >= 0; r--) {
			ccs_send(out[k], BYTES, CCS_UINT8, r, m->comm, NULL);
			ccs_recv(in[r][k], BYTES, CCS_UINT8, r, m->comm, NULL);
		}
	}
	ok &= ok_is(ccs_group_end()) && x == m->n * (m->n - 1) / 2;
	for (int k = 0; k < TIMES; k++) {
		for (int r = 0; r < m->n; r++) {
			ok &= has(in[r][k], r, k, BYTES, true);
			drop(m, in[r][k]);
		}
		drop(m, out[k]);
	}
	ccs_module_free(sum);
	return ok;
}

/* ---- requests ---------------------------------------------------------------------------------- */

static struct ccs_request *start(const struct member *m, bool sends, void *at, size_t n, int peer)
{
	struct ccs_request *r;

	ccs_group_start();
	if (sends)
		ccs_send(at, n, CCS_UINT8, peer, m->comm, NULL);
	else
		ccs_recv(at, n, CCS_UINT8, peer, m->comm, NULL);
	ok_is(ccs_group_submit(&r));
	return r;
}

/* Rank 0 starts ten, and calls nothing until rank 1, which takes each at its leisure, has all. */
static bool overlap(struct member *m)
{
	enum { TEN = 10 };
	unsigned char *x[TEN];
	struct ccs_request *r[TEN];
	int done = 0;
	bool ok = true;

	for (int k = 0; k < TEN; k++) {
		x[k] = m->rank ? buffer(m, LONG) : filled(m, k, LONG);
		r[k] = start(m, !m->rank, x[k], LONG, 1 - m->rank);
	}
	if (m->rank) {
		while (!done)
			ok &= ok_is(ccs_test(r[0], &done)) && r[0];
		ok &= ok_is(ccs_wait_all(r + 1, TEN - 1));
		member_step(m, 1);
	} else {
		ok = comes(m, 1, 1) && ok_is(ccs_wait_all(r, TEN));
	}
	ok &= is(ccs_wait(r[3]), CCS_EINVAL, "has finished", "a wait on a finished request");
	ok &= is(ccs_test(r[3], &done), CCS_EINVAL, "has finished", "a test of one");
	ok &= is(ccs_wait_all(r, TEN), CCS_EINVAL, "has finished", "a wait for several");
	for (int k = 0; k < TEN; k++) {
		ok &= has(x[k], 0, k, LONG, true);
		ccs_request_free(r[k]);
		drop(m, x[k]);
	}
	return ok;
}

/* Asks for a request until it is over. */
static bool tested(struct ccs_request *r)
{
	int done = 0;
	bool ok = true;

	while (ok && !done)
		ok = ok_is(ccs_test(r, &done));
	return ok;
}

/* Sums that go on by themselves, and among them two that are waited for, each behind some that are
 * under way: by a call in no group, and by their group's end. */
static bool runs(struct member *m)
{
	enum { TIMES = 6, CALL = 2, GROUP = 4, COUNT = 100003 };
	struct ccs_module *sum = team_module("ring_allreduce");
	int32_t *x[TIMES];
	struct ccs_request *r[TIMES] = { NULL };
	bool ok = sum;

	for (int k = 0; k < TIMES; k++) {
		x[k] = malloc(COUNT * sizeof(**x));
		for (int i = 0; i < COUNT; i++)
			x[k][i] = m->rank + k + i % 7;
		if (k == CALL) {
			ok &= ok_is(member_sum(m, sum, x[k], COUNT));
			continue;
		}
		ccs_group_start();
		member_sum(m, sum, x[k], COUNT);
		ok &= ok_is(k == GROUP ? ccs_group_end() : ccs_group_submit(r + k));
	}
	if (!m->rank) /* no other rank waits for rank 0's part of them */
		for (int i = 1; i < m->n; i++)
			ok &= comes(m, i, 1);
	ok &= tested(r[TIMES - 1]);
	for (int k = 0; k < GROUP; k++)
		ok &= k == CALL || ok_is(ccs_wait(r[k]));
	member_step(m, 1);
	for (int k = 0; k < TIMES; k++) {
		for (int i = 0; i < COUNT && ok; i++)
			ok = x[k][i] == m->n * (m->n - 1) / 2 + m->n * (k + i % 7);
		ccs_request_free(r[k]);
		free(x[k]);
	}
	ccs_module_free(sum);
	return ok;
}

/* A request is freed, and a communicator, while messages are under way: both wait for them. */
static bool freed_in_flight(struct member *m)
{
	unsigned char *a = m->rank ? buffer(m, LONG) : filled(m, 0, LONG);
	unsigned char *b = m->rank ? buffer(m, LONG) : filled(m, 1, LONG);
	struct ccs_request *one, *two;
	bool ok = true;

	if (m->rank) /* late */
		usleep(50000);
	one = start(m, !m->rank, a, LONG, 1 - m->rank);
	two = start(m, !m->rank, b, LONG, 1 - m->rank);
	ccs_request_free(one);
	ok = has(a, 0, 0, LONG, true);
	if (((const struct act *)m->of)->kind == IN_PLACE) { /* the memory is its communicator's */
		ok &= ok_is(ccs_wait(two)) && has(b, 0, 1, LONG, true);
		drop(m, a);
		drop(m, b);
	} else {
		ccs_comm_free(m->comm);
		m->comm = NULL;
		ok &= ok_is(ccs_wait(two)) && has(b, 0, 1, LONG, true);
		free(a);
		free(b);
	}
	ccs_request_free(two);
	return ok;
}

/* ---- tags, and receives from any rank ----------------------------------------------------------- */

static bool by_mpi_none(const struct member *m)
{
	int32_t x = 0;

	return is(ccs_send_tagged(&x, 1, CCS_INT32, 1 - m->rank, 3, m->comm, NULL),
		  CCS_EUNSUPPORTED, "messages have no tags here", "a tag by MPI") &&
	       is(ccs_recv_tagged(&x, 1, CCS_INT32, CCS_ANY_SOURCE, 0, NULL, m->comm, NULL),
		  CCS_EUNSUPPORTED, "a receive must name its peer", "any rank by MPI");
}

static ccs_status tagged(const struct member *m, bool sends, void *at, size_t n, int tag)
{
	int peer = 1 - m->rank;

	return sends ? ccs_send_tagged(at, n, CCS_UINT8, peer, tag, m->comm, NULL)
		     : ccs_recv_tagged(at, n, CCS_UINT8, peer, tag, NULL, m->comm, NULL);
}

/* Sent with tags 5, 4 .. 0, and received by 0 .. 5; three of each tag, which stay in order. */
static bool tags(struct member *m)
{
	enum { TAGS = 6, EACH = 3 };
	static const size_t sizes[] = { 0, 1, 4096, 300001, LONG };
	bool ok = true;

	if (((const struct act *)m->of)->kind == BY_MPI)
		return by_mpi_none(m);
	for (int i = 0; i < TAGS * EACH; i++) {
		int tag = m->rank ? i / EACH : TAGS - 1 - i / EACH, k = EACH * tag + i % EACH;
		size_t n = sizes[k % 5];
		unsigned char *x = m->rank ? buffer(m, n) : filled(m, k, n);

		ok &= ok_is(tagged(m, !m->rank, x, n, tag)) && has(x, 0, k, n, true);
		drop(m, x);
	}
	return ok && pairs(m); /* nothing is left over */
}

/* All other ranks send some each to rank 0, which receives from any rank. Then it receives from a
 * named rank while a receive from any rank waits with another tag. */
static bool from_any(struct member *m)
{
	enum { EACH = 20, BYTES = 70001 };
	int had[TEAM_MOST] = { 0 };
	bool ok = true;

	for (int k = 0; k < (m->rank ? EACH : EACH * (m->n - 1)); k++) {
		unsigned char *x = m->rank ? filled(m, k, BYTES) : buffer(m, BYTES);
		int from = -2;

		ok &= ok_is(m->rank ? ccs_send_tagged(x, BYTES, CCS_UINT8, 0, 7, m->comm, NULL)
				    : ccs_recv_tagged(x, BYTES, CCS_UINT8, CCS_ANY_SOURCE, 7, &from,
						      m->comm, NULL));
		if (!m->rank)
			ok = ok && from > 0 && from < m->n &&
			     has(x, from, had[from]++, BYTES, true);
		drop(m, x);
	}
	for (int r = 1; r < m->n && !m->rank; r++)
		ok &= had[r] == EACH;
	return ok;
}

static struct ccs_request *start_tagged(const struct member *m, void *at, int peer, int tag,
					int *from)
{
	struct ccs_request *r;

	ccs_group_start();
	ccs_recv_tagged(at, 100, CCS_UINT8, peer, tag, from, m->comm, NULL);
	ok_is(ccs_group_submit(&r));
	return r;
}

/* Of the receives that match, the first that was called takes the first message, whichever
 * source it names. */
static bool first_called(struct member *m)
{
	static const int peers[] = { CCS_ANY_SOURCE, 0, CCS_ANY_SOURCE, 0 };
	static const int tag_of[] = { 1, 1, 2, 1 };
	static const int message_of[] = { 1, 2, 0, 3 }; /* which is sent as number .. */
	struct ccs_request *r[4];
	unsigned char *x[4];
	int from[4] = { -2, -2, -2, -2 };
	bool ok = true;

	for (int k = 0; k < 4 && !m->rank; k++) {
		x[k] = filled(m, k, 100);
		ok &= k || comes(m, 1, 1);
		ok &= ok_is(tagged(m, true, x[k], 100, k ? 1 : 2));
		drop(m, x[k]);
	}
	for (int i = 0; i < 4 && m->rank; i++) {
		x[i] = buffer(m, 100);
		r[i] = start_tagged(m, x[i], peers[i], tag_of[i], from + i);
	}
	if (m->rank)
		member_step(m, 1);
	for (int i = 0; i < 4 && m->rank; i++) {
		ok &= ok_is(ccs_wait(r[i])) && !from[i] && has(x[i], 0, message_of[i], 100, true);
		ccs_request_free(r[i]);
		drop(m, x[i]);
	}
	return ok;
}

/* A kept message differs from the receive: its send is complete, and the receiver gets the
 * error. */
static bool kept_differs(struct member *m)
{
	int32_t x[4] = { m->rank, m->rank, m->rank, m->rank }, y = -1;
	bool ok = true;

	if (!m->rank) {
		ok &= ok_is(ccs_send_tagged(x, 4, CCS_INT32, 1, 1, m->comm, NULL));
		return ok & ok_is(ccs_send_tagged(x, 1, CCS_INT32, 1, 2, m->comm, NULL));
	}
	ok &= ok_is(ccs_recv_tagged(&y, 1, CCS_INT32, 0, 2, NULL, m->comm, NULL)) && !y;
	ok &= is(ccs_recv_tagged(x, 3, CCS_INT32, 0, 1, NULL, m->comm, NULL), CCS_EINVAL,
		 "rank 0 sends 4 of int32 to rank 1, which receives 3", "a kept one that differs");
	return ok && x[0] == 1 &&
	       is(ccs_send_tagged(x, 1, CCS_INT32, 0, -1, m->comm, NULL), CCS_EINVAL,
		  "tag -1 is negative", "a negative tag");
}

/* No rank sends the message that rank 1 waits for; the last of the other messages exceeds the
 * room. */
static bool too_much(struct member *m)
{
	static const size_t sizes[] = { 80 << 20, 80 << 20, 80 << 20, 40 << 20 };
	unsigned char *x = calloc(sizes[0], 1);
	int32_t y = 0;
	ccs_status s = CCS_OK;

	for (int k = 0; k < 4 && !m->rank && !s; k++) {
		if (k == 3) /* the kept messages are copied, however long that took */
			ccs_comm_set_timeout(m->comm, SHORT_MS);
		s = tagged(m, true, x, sizes[k], 4 + k);
	}
	if (m->rank)
		s = ccs_recv_tagged(&y, 1, CCS_INT32, CCS_ANY_SOURCE, 9, NULL, m->comm, NULL);
	free(x);
	return (s == CCS_ETIMEOUT || s == CCS_EABORTED) &&
	       is(s, s, "rank 1 waits for any rank to send 1 of int32 to it, with tag 9", "it") &&
	       is(s, s, "rank 0 waits for rank 1 to receive 41943040 of uint8 from it, with tag 7",
		  "its sender") &&
	       is(s, s,
		  "rank 1 keeps 251658240 bytes of messages without a receive, the "
		  "first with tag 4 from rank 0, and has no room for the next",
		  "why");
}

/* The inbox is full; receiving a kept message makes room, so that the waiting message may come. */
static bool room_is_made(struct member *m)
{
	static const size_t bytes = 100 << 20;
	unsigned char *x = calloc(bytes, 1), y = 0;
	struct ccs_request *r;
	bool ok = true;

	for (int k = 0; k < 3 && !m->rank; k++)
		ok &= ok_is(tagged(m, true, x, bytes, 4 + k));
	if (!m->rank) {
		y = 9;
		ok &= ok_is(tagged(m, true, &y, 1, 9));
	} else {
		ccs_group_start();
		ccs_recv_tagged(&y, 1, CCS_UINT8, 0, 9, NULL, m->comm, NULL);
		ok &= ok_is(ccs_group_submit(&r));
		ok &= ok_is(tagged(m, false, x, bytes, 4));
		ok &= ok_is(ccs_wait(r)) && y == 9;
		ccs_request_free(r);
		for (int tag = 5; tag < 7; tag++)
			ok &= ok_is(tagged(m, false, x, bytes, tag));
	}
	free(x);
	return ok;
}

/* ---- wrong ones -------------------------------------------------------------------------------- */

/* Both ends learn of it, nothing is written, and the communicator goes on. */
static bool differ(struct member *m)
{
	static const struct {
		size_t sent, wanted;
		ccs_dtype sent_type, wanted_type;
		const char *text;
	} odd[] = {
		{ 4, 3, CCS_UINT8, CCS_UINT8,
		  "rank 0 sends 4 of uint8 to rank 1, which receives 3 of uint8" },
		{ 3, 4000000, CCS_UINT8, CCS_UINT8, "sends 3 of uint8 to rank 1" },
		{ 4, 4, CCS_INT32, CCS_FLOAT32,
		  "rank 0 sends 4 of int32 to rank 1, which receives 4 of float32" },
		{ 0, 1, CCS_UINT8, CCS_UINT8, "rank 0 sends 0 of uint8" },
	};
	unsigned char *x = buffer(m, 4000000), *y;
	bool ok = true;

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		ccs_status s =
			m->rank ? ccs_recv(x, odd[i].wanted, odd[i].wanted_type, 0, m->comm, NULL)
				: ccs_send(x, odd[i].sent, odd[i].sent_type, 1, m->comm, NULL);
		ok &= is(s, CCS_EINVAL, odd[i].text, "ends that differ");
		ok &= has(x, 0, 0, 4000000, false);
	}
	y = m->rank ? buffer(m, LONG) : filled(m, 5, LONG);
	ok &= ok_is(m->rank ? ccs_recv(y, LONG, CCS_UINT8, 0, m->comm, NULL)
			    : ccs_send(y, LONG, CCS_UINT8, 1, m->comm, NULL));
	ok &= has(y, 0, 5, LONG, true);
	drop(m, y);
	drop(m, x);
	return ok;
}

static bool arguments(struct member *m)
{
	struct ccs_request *r;
	int32_t x[4] = { 0 };
	int done;
	char *odd = (char *)x + 1;
	bool ok = true;

	ok &= is(ccs_send(x, 4, CCS_INT32, 2, m->comm, NULL), CCS_EINVAL,
		 "peer 2 is not in the range 0", "a peer out of range");
	ok &= is(ccs_recv(x, 4, CCS_INT32, -1, m->comm, NULL), CCS_EINVAL, "peer -1", "negative");
	ok &= is(ccs_send(x, 4, CCS_INT32, m->rank, m->comm, NULL), CCS_EINVAL, "its own peer",
		 "itself outside a group");
	ok &= is(ccs_recv(NULL, 4, CCS_INT32, 1 - m->rank, m->comm, NULL), CCS_EINVAL, "NULL",
		 "no buffer");
	ok &= is(ccs_recv(odd, 1, CCS_INT32, 1 - m->rank, m->comm, NULL), CCS_EINVAL, "aligned",
		 "a buffer that is not aligned");
	ok &= is(m->rank ? ccs_send(odd, 0, CCS_INT32, 0, m->comm, NULL)
			 : ccs_recv(odd, 0, CCS_INT32, 1, m->comm, NULL),
		 CCS_OK, NULL, "one without elements, at any place");
	ok &= is(ccs_recv(x, 4, CCS_NDTYPES, 1 - m->rank, m->comm, NULL), CCS_EINVAL,
		 "element type", "no type");
	ok &= is(ccs_recv(x, SIZE_MAX / 2, CCS_INT32, 1 - m->rank, m->comm, NULL), CCS_EINVAL,
		 "too large", "too many");
	ok &= is(ccs_send(x, 4, CCS_INT32, 1 - m->rank, m->comm, x), CCS_EINVAL, "stream",
		 "a stream");
	ok &= is(ccs_send(x, 4, CCS_INT32, 0, NULL, NULL), CCS_EINVAL, "NULL", "no communicator");
	ccs_group_start();
	ccs_send(x, 4, CCS_INT32, 1 - m->rank, m->comm, NULL);
	ccs_recv(x, 4, CCS_INT32, 7, m->comm, NULL);
	ok &= is(ccs_group_end(), CCS_EINVAL, "peer 7", "a group with a wrong call");
	ccs_group_start();
	ccs_group_start();
	ok &= is(ccs_group_submit(&r), CCS_EINVAL, "inside another", "a group in a group") && !r;
	ok &= is(ccs_group_end(), CCS_EINVAL, "inside another", "... which is the other's");
	ok &= is(ccs_group_submit(&r), CCS_EINVAL, "without", "no group");
	ccs_group_start();
	ok &= is(ccs_group_submit(NULL), CCS_EINVAL, "NULL", "no place for a request");
	ok &= is(ccs_wait(NULL), CCS_EINVAL, "NULL", "no request");
	ok &= is(ccs_test(NULL, &done), CCS_EINVAL, "NULL", "no request to test");
	ok &= is(ccs_wait_all(NULL, 1), CCS_EINVAL, "NULL", "no requests");
	ok &= is(ccs_wait_all(&r, -1), CCS_EINVAL, "negative", "fewer than none");
	ccs_group_start();
	ok &= ok_is(ccs_group_submit(&r)) && ok_is(ccs_wait(r)); /* of nothing */
	ccs_request_free(r);
	ccs_request_free(NULL);
	return ok && pairs(m);
}

/* The status of an end that fails, or was failed with the other. */
static bool failed(ccs_status s, ccs_status want, const char *text)
{
	return s == CCS_EABORTED ? is(s, CCS_EABORTED, text, "the other end")
				 : is(s, want, text, "an end that waits");
}

static bool both_send_first(struct member *m)
{
	char text[80];
	ccs_status s;
	int32_t x = 0;

	snprintf(text, sizeof(text), "waits for rank ");
	ccs_comm_set_timeout(m->comm, SHORT_MS);
	s = ccs_send(&x, 1, CCS_INT32, 1 - m->rank, m->comm, NULL);
	return failed(s, CCS_ETIMEOUT, text) &&
	       is(ccs_send(&x, 1, CCS_INT32, 1 - m->rank, m->comm, NULL), CCS_EABORTED,
		  "to receive 1 of int32 from it", "a call after that");
}

/* By MPI the ranks ask one another for a quarter of it, and all answer, on a busy machine too. */
static unsigned circle_ms(const struct member *m)
{
	return ((const struct act *)m->of)->kind == BY_MPI ? 8000 : 2000;
}

/* Each waits for the next one: the report of each rank has the whole circle. */
static bool has_circle(const struct member *m, ccs_status s)
{
	char text[80];
	bool ok = true;

	for (int r = 0; ok && r < m->n; r++) {
		snprintf(text, sizeof(text),
			 "rank %d waits for rank %d to receive 1 of int32 from it", r,
			 (r + 1) % m->n);
		ok = failed(s, CCS_ETIMEOUT, text);
	}
	return ok;
}

static bool circle(struct member *m)
{
	int32_t x = 0;

	return ok_is(ccs_comm_set_timeout(m->comm, circle_ms(m))) &&
	       has_circle(m, ccs_send(&x, 1, CCS_INT32, (m->rank + 1) % m->n, m->comm, NULL));
}

/* The same, of requests that are not waited for, but tested. */
static bool circle_of_requests(struct member *m)
{
	bool ok = ok_is(ccs_comm_set_timeout(m->comm, circle_ms(m)));
	struct ccs_request *r;
	ccs_status s = CCS_OK;
	int32_t x = 0;
	int done = 0;

	ccs_group_start();
	ccs_send(&x, 1, CCS_INT32, (m->rank + 1) % m->n, m->comm, NULL);
	ok = ok && ok_is(ccs_group_submit(&r));
	while (ok && !done)
		s = ccs_test(r, &done);
	ok = ok && has_circle(m, s);
	ccs_request_free(r);
	return ok;
}

/* Rank 1 is in a call of another sort, and has a longer timeout. */
static bool peer_elsewhere(struct member *m, bool barrier, const char *where)
{
	struct ccs_module *sum = team_module("ring_allreduce");
	int32_t x = 0;
	ccs_status s;
	bool ok = ok_is(ccs_comm_set_timeout(m->comm, circle_ms(m) * (m->rank ? 10 : 1)));

	if (m->rank)
		s = barrier ? ccs_barrier(m->comm, NULL) : member_sum(m, sum, &x, 1);
	else
		s = ccs_recv(&x, 1, CCS_INT32, 1, m->comm, NULL);
	ccs_module_free(sum);
	return ok && failed(s, CCS_ETIMEOUT, "rank 0 waits for rank 1 to send 1 of int32 to it") &&
	       failed(s, CCS_ETIMEOUT, where);
}

static bool peer_in_barrier(struct member *m)
{
	return peer_elsewhere(m, true, "; rank 1 waits in ccs_barrier");
}

static bool peer_in_sum(struct member *m)
{
	return peer_elsewhere(m, false, "; rank 1 waits for rank 0 to make the same call");
}

/* Rank 1 makes another call: both learn that they wait for each other. */
static bool another_call(struct member *m)
{
	struct ccs_module *sum = team_module("ring_allreduce");
	int32_t x = 0;
	ccs_status s;

	ccs_comm_set_timeout(m->comm, SHORT_MS);
	s = m->rank ? member_sum(m, sum, &x, 1) : ccs_recv(&x, 1, CCS_INT32, 1, m->comm, NULL);
	ccs_module_free(sum);
	return failed(s, CCS_ETIMEOUT, "no progress for 300 ms");
}

/* Rank 1 never comes, and a request of rank 0's is not waited for, but tested. */
static bool never_comes(struct member *m)
{
	struct ccs_request *r;
	int32_t x = 0;
	int done = 0;
	ccs_status s = CCS_OK;
	bool ok;

	ccs_comm_set_timeout(m->comm, SHORT_MS);
	if (m->rank)
		return member_await(m, 0, 1);
	ccs_group_start();
	ccs_recv(&x, 1, CCS_INT32, 1, m->comm, NULL);
	ok = ok_is(ccs_group_submit(&r));
	while (!done)
		s = ccs_test(r, &done);
	ok &= is(s, CCS_ETIMEOUT, "rank 0 waits for rank 1 to send 1 of int32 to it", "a request");
	ccs_request_free(r);
	member_step(m, 1);
	return ok;
}

/* The report that a rank gets of a long wait: the wait goes on, and rank 1 comes. */
struct lateness {
	struct member *m;
	int step;
	char text[CCS_TEXT];
};

static void note(void *of, const char *report)
{
	struct lateness *l = of;

	snprintf(l->text, sizeof(l->text), "%s", report);
	member_step(l->m, l->step);
}

/* Rank 1 comes when rank 0 has its report; under MPI, some time later. */
static void come_late(struct member *m, struct lateness *l, int step)
{
	l->step = step;
	if (m->rank && ((const struct act *)m->of)->kind == BY_MPI)
		usleep(3 * SHORT_MS * 1000);
	else if (m->rank)
		member_await(m, 0, step);
}

static bool told_of(const struct member *m, const struct lateness *l, const char *text)
{
	bool ok = m->rank || ((const struct act *)m->of)->kind == BY_MPI || strstr(l->text, text);

	if (!ok)
		printf("# rank 0 is told: %s\n", l->text);
	return ok;
}

static bool comes_late(struct member *m)
{
	struct ccs_module *sum = team_module("ring_allreduce");
	struct lateness l = { .m = m };
	int32_t x = 0;
	bool ok = ok_is(ccs_comm_set_timeout(m->comm, SHORT_MS)) &&
		  (m->rank || ok_is(ccs_comm_set_late(m->comm, note, &l)));

	come_late(m, &l, 1);
	ok = ok && member_sums(m, sum, &x, 1) && told_of(m, &l, "rank 1 has not called");
	come_late(m, &l, 2);
	ok = ok &&
	     ok_is(m->rank ? ccs_send(&x, 1, CCS_INT32, 0, m->comm, NULL)
			   : ccs_recv(&x, 1, CCS_INT32, 1, m->comm, NULL)) &&
	     told_of(m, &l, "rank 0 waits for rank 1 to send 1 of int32 to it");
	come_late(m, &l, 3);
	ok = ok && ok_is(ccs_barrier(m->comm, NULL)) &&
	     told_of(m, &l, "rank 1 has not called ccs_barrier, as rank 0 has");
	if (((const struct act *)m->of)->kind != TASKS) {
		come_late(m, &l, 4);
		ok = ok && ok_is(ccs_comm_agree(m->comm, CCS_OK)) &&
		     told_of(m, &l, "rank 1 has not called ccs_comm_agree, as rank 0 has");
	}
	ok = ok && ok_is(ccs_barrier(m->comm, NULL)) &&
	     (m->rank || ok_is(ccs_comm_set_late(m->comm, NULL, NULL)));
	ccs_module_free(sum);
	return ok && both_send_first(m);
}

/* Rank 1's process ends. */
static bool ends(struct member *m)
{
	int32_t x = 0;

	if (m->rank)
		_exit(0);
	return is(ccs_recv(&x, 1, CCS_INT32, 1, m->comm, NULL), CCS_EABORTED, "rank 1 (process ",
		  "a peer that has ended");
}

/* The processes of all other ranks end, one by one; a receive from any rank takes the message that
 * the first had sent. */
static bool all_end(struct member *m)
{
	int32_t x = m->rank;
	bool ok = true;

	if (m->rank == 1)
		_exit(ccs_send(&x, 1, CCS_INT32, 0, m->comm, NULL));
	if (m->rank)
		_exit(0);
	ok &= ok_is(ccs_recv_tagged(&x, 1, CCS_INT32, CCS_ANY_SOURCE, 0, NULL, m->comm, NULL));
	return ok && x == 1 &&
	       is(ccs_recv_tagged(&x, 1, CCS_INT32, CCS_ANY_SOURCE, 0, NULL, m->comm, NULL),
		  CCS_EABORTED, " (process ", "nobody is left");
}

/* ---- all ----------------------------------------------------------------------------------------- */

struct p2p_case {
	const char *what;
	int n;
	team_act *act;
	bool once; /* the same, however messages are read */
};

static const struct p2p_case cases[] = {
	{ "messages of many lengths", 2, pairs, false },
	{ "a ring in a group", 4, ring, false },
	{ "everybody to everybody, with a sum", 3, all_to_all, false },
	{ "ten requests, and work meanwhile", 2, overlap, false },
	{ "requests of runs", 3, runs, true },
	{ "requests and communicators freed in flight", 2, freed_in_flight, false },
	{ "tags", 2, tags, false },
	{ "receives from any rank", 4, from_any, false },
	{ "the first receive that fits", 2, first_called, false },
	{ "a kept message that differs", 2, kept_differs, true },
	{ "ends that differ", 2, differ, false },
	{ "wrong arguments", 2, arguments, true },
	{ "both send first", 2, both_send_first, true },
	{ "both send first, and see that", 2, circle, true },
	{ "a circle of sends", 4, circle, true },
	{ "a circle of requests", 3, circle_of_requests, true },
	{ "a peer that makes another call", 2, another_call, true },
	{ "a peer that never comes", 2, never_comes, true },
	{ "a peer that comes late", 2, comes_late, true },
};

/* ---- by MPI: each process does all of it, and rank 0 reports the result of all --------------- */

static bool run_by_mpi(struct ccs_comm *told, const struct p2p_case *c)
{
	struct act a = { c->act, BY_MPI };
	struct team team = { .n = c->n, .told = calloc(TEAM_MOST, sizeof(struct told)) };
	struct member m = { .team = &team, .n = c->n, .of = &a };
	bool ok = is(ccs_comm_init_mpi(&m.comm), CCS_OK, NULL, "ccs_comm_init_mpi");

	m.rank = ccs_comm_rank(m.comm);
	m.told = team.told + m.rank;
	ok = ok && a.act(&m);
	ccs_comm_free(m.comm);
	free(team.told);
	if (!ok)
		printf("# rank %d: not so: %s\n", m.rank, c->what);
	return !ccs_comm_agree(told, ok ? CCS_OK : ccs_error_set(CCS_EINVAL, "not so"));
}

static bool say_by_mpi(struct ccs_comm *told, const struct p2p_case *c)
{
	bool right = run_by_mpi(told, c);

	if (!ccs_comm_rank(told))
		say(right, "processes of MPI: %s", c->what);
	return right;
}

/* Of reports: the ranks ask one another. */
static const struct p2p_case mpi_cases[] = {
	{ "a peer in a barrier, as it answers", 2, peer_in_barrier, true },
	{ "a peer in a call of a module, as it answers", 2, peer_in_sum, true },
};

static bool by_mpi(void)
{
	struct ccs_comm *told;
	bool ok = is(ccs_comm_init_mpi(&told), CCS_OK, NULL, "ccs_comm_init_mpi");

	for (size_t i = 0; ok && i < sizeof(cases) / sizeof(*cases); i++) {
		if (cases[i].n != ccs_comm_size(told) || cases[i].act == never_comes ||
		    cases[i].act == from_any || cases[i].act == first_called ||
		    cases[i].act == kept_differs)
			continue;
		ok &= say_by_mpi(told, cases + i);
	}
	for (size_t i = 0; ok && i < sizeof(mpi_cases) / sizeof(*mpi_cases); i++)
		ok &= mpi_cases[i].n != ccs_comm_size(told) || say_by_mpi(told, mpi_cases + i);
	ccs_comm_free(told);
	return ok;
}

static enum kind kinds_of(bool tasks, bool once)
{
	if (tasks)
		return READ;
	return once ? RELAYED : NKINDS;
}

int main(int argc, char **argv)
{
	bool ok = true, tasks = argc == 3 && !strcmp(argv[2], "tasks");

	if (argc == 3 && !strcmp(argv[2], "mpi")) {
		setenv("MODULES", argv[1], 1);
		return !by_mpi();
	}
	if (argc != 2 && !tasks) {
		fprintf(stderr, "usage: p2p_test DIRECTORY-OF-MODULES [tasks|mpi]\n");
		return 2;
	}
	setenv("MODULES", argv[1], 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (enum kind k = TASKS; k < kinds_of(tasks, cases[i].once); k++)
			ok &= say(run_as(k, cases[i].n, cases[i].act), "%s: %s", kinds[k],
				  cases[i].what);
	ok &= say(run_as(TASKS, 2, too_much), "tasks: more messages than are kept");
	ok &= say(run_as(TASKS, 2, room_is_made), "tasks: room for one more");
	if (!tasks) {
		ok &= say(run_as(READ, 2, ends), "processes: a peer whose process ends");
		ok &= say(run_as(READ, 3, all_end), "processes: all others end");
	}
	return !ok;
}
