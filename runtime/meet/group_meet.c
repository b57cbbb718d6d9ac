/*
 * Meeting: see group_meet. Rank 0 holds the meeting (group_hold.c); this file is the side of all
 * other ranks.
 *
 * In: the rank of this process, its card, and rank 0's address. Out: rank 0's answer, or a reason.
 * The process calls again while it gets no answer, or the answer of another job: rank 0 may be
 * late. The meeting's deadline bounds the sum of all waits. O(1) but for the calls.
 *
 * NCCL has another way, NCCL_COMM_ID: according to its sources, the variable must be in the
 * environment during ncclGetUniqueId, and again on rank 0 during ncclCommInitRank, which opens the
 * port then; rank 0 of any other communicator of the process would open it too, and changing the
 * environment races with the threads of the library's caller. So NCCL_COMM_ID is not used.
 *
 * An answer without a proof (group_wire.h) is ignored: the process calls again, as if there had
 * been no answer. No peer can make a process wait beyond the deadline, or return anything but an
 * answer or a failure.
 */
#include "runtime/meet/group_wire.h"

#include "runtime/base/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_SECONDS 5 /* for one address, as there may be others */

_Static_assert(sizeof(CCS_VERSION) <= sizeof(((struct wire_hello *)0)->release),
	       "the version fits into a hello");

/* A rank other than 0. */
struct visitor {
	const struct group_env *env;
	const struct group_meeting *meeting;
	struct wire_hello hello;
	struct wire_challenge challenge;
	struct wire_keys keys;
	double end;
	char why[300]; /* the reason why there is no answer yet */
};

static void make_hello(struct visitor *v, ccs_status here)
{
	struct wire_hello *w = &v->hello;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*w = (struct wire_hello){
		.head = wire_head(sizeof(*w)),
		.release = CCS_VERSION,
		.self = { (uint32_t)getpid(), (uint32_t)now.tv_sec, (uint32_t)now.tv_nsec,
			  (uint32_t)(uintptr_t)w },
		.rank = htonl((uint32_t)v->env->rank),
		.nranks = htonl((uint32_t)v->env->nranks),
		.status = htonl((uint32_t)-(int)here),
		.card_bytes = htonl((uint32_t)v->meeting->card_bytes),
	};
	memcpy(w->job, v->keys.name, sizeof(w->job));
	memcpy(w->card, v->meeting->card, v->meeting->card_bytes);
	if (here)
		snprintf(w->text, sizeof(w->text), "%.990s", ccs_error());
}

/* ---- rank 0's answer ---------------------------------------------------------------- */

/* The outcome of a call. */
enum outcome { OVER, AGAIN };

static enum outcome call_again(struct visitor *v, const char *why)
{
	snprintf(v->why, sizeof(v->why), "%.299s", why);
	return AGAIN;
}

static ccs_status stranger(const struct visitor *v)
{
	return error_set(CCS_ESYSTEM,
			 "a program other than rank 0 listens at %s (CCS_RENDEZVOUS=HOST:PORT "
			 "selects another place)",
			 v->env->address);
}

/* Whether the received bytes can be the start of such a message. */
static bool check_head(const struct visitor *v, const struct wire_head *head, size_t got,
		       size_t bytes, ccs_status *s)
{
	if (!wire_ours(head, got)) {
		*s = stranger(v);
		return false;
	}
	if (got < sizeof(*head) ||
	    (head->version == v->hello.head.version && head->bytes == wire_head(bytes).bytes))
		return true;
	*s = error_set(
		CCS_EINVAL,
		"rank 0 at %s has another version of ccs than this process, %s: its protocol "
		"has version %u, not %u: all ranks must have the same",
		v->env->address, CCS_VERSION, ntohl(head->version), WIRE_VERSION);
	return false;
}

/* Receives one message of `bytes` bytes until the time `end`. AGAIN: it has not come. */
static enum outcome receive(struct visitor *v, int fd, void *message, size_t bytes, double end,
			    ccs_status *s)
{
	size_t got = 0;

	*s = CCS_OK;
	while (got < bytes) {
		ssize_t k;

		if (!wire_wait(fd, POLLIN, end))
			return call_again(v, "a program listens there and does not answer");
		k = recv(fd, (char *)message + got, bytes - got, 0);
		if (k < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
			continue;
		if (k <= 0)
			return call_again(
				v, "the program that listens there hangs up without an answer");
		got += (size_t)k;
		if (!check_head(v, message, got, bytes, s))
			return OVER;
	}
	return OVER;
}

/* Receives an answer, if it is proved. The description of another job needs no proof. */
static enum outcome receive_answer(struct visitor *v, int fd, struct wire_answer *a, double end,
				   ccs_status *s)
{
	enum outcome how = receive(v, fd, a, sizeof(*a), end, s);

	if (how == AGAIN || *s ||
	    wire_proves(&v->keys, v->challenge.nonce, v->hello.nonce, a, sizeof(*a)))
		return how;
	wire_clean(a->text, sizeof(a->text));
	return call_again(
		v, ntohl(a->kind) == WIRE_ELSEWHERE
			   ? a->text
			   : "the program that listens there does not prove that it belongs to "
			     "this job");
}

static enum outcome understand(struct visitor *v, struct wire_answer *a, ccs_status *s)
{
	uint32_t kind = ntohl(a->kind), n = ntohl(a->answer_bytes);
	ccs_status told = error_of_peer(-(long long)ntohl(a->status));

	wire_clean(a->text, sizeof(a->text));
	switch (kind) {
	case WIRE_DONE:
		if (n != v->meeting->answer_bytes)
			break;
		memcpy(v->meeting->answer, a->answer, n);
		*s = CCS_OK;
		return OVER;
	case WIRE_FAILED:
	case WIRE_REFUSED: *s = error_set(told, "%s", a->text); return OVER;
	case WIRE_ELSEWHERE: return call_again(v, a->text);
	case WIRE_SEATED:
	default: break;
	}
	*s = error_set(CCS_ESYSTEM, "rank 0's answer at %s is invalid (kind %u, %u bytes)",
		       v->env->address, kind, n);
	return OVER;
}

/* ---- calling it ------------------------------------------------------------------------ */

/* With a seat it is rank 0's time that counts; but never more than twice its own. */
static double end_of(const struct visitor *v, const struct wire_answer *seated)
{
	double most = group_limit(v->env), left = ntohl(seated->status) * 0.001;

	return clock_seconds() + (left < most ? left : most) + 2 * WIRE_GRACE;
}

static enum outcome talk(struct visitor *v, int fd, ccs_status *s)
{
	double now = clock_seconds(),
	       end = v->end < now + WIRE_SECONDS ? v->end : now + WIRE_SECONDS;
	const size_t first = sizeof(v->hello.head);
	struct wire_answer a = { .kind = 0 };
	enum outcome how;

	wire_send(fd, &v->hello, first, end); /* if not, no answer comes */
	how = receive(v, fd, &v->challenge, sizeof(v->challenge), end, s);
	if (how == OVER && !*s)
		*s = wire_nonce(v->hello.nonce);
	if (how == AGAIN || *s)
		return how;
	wire_prove(&v->keys, v->challenge.nonce, v->hello.nonce, &v->hello, sizeof(v->hello));
	wire_send(fd, (char *)&v->hello + first, sizeof(v->hello) - first, end);
	how = receive_answer(v, fd, &a, end, s);
	if (how == OVER && !*s && ntohl(a.kind) == WIRE_SEATED)
		how = receive_answer(v, fd, &a, end_of(v, &a), s);
	return how == AGAIN || *s ? how : understand(v, &a, s);
}

/* The same, after checking that the listener on this host is not another user's. */
static enum outcome talk_to_mine(struct visitor *v, bool here, int fd, ccs_status *s)
{
	struct ucred of;
	char why[100];

	if (!here || peer_is_mine(fd, &of))
		return talk(v, fd, s);
	snprintf(why, sizeof(why), "process %d of user %u listens there, and this is user %u",
		 (int)of.pid, (unsigned)of.uid, (unsigned)geteuid());
	return call_again(v, why);
}

/* Each address of the host in turn, until one has an answer. */
static enum outcome call(struct visitor *v, const struct wire_place *p, ccs_status *s)
{
	struct wire_addresses at;
	int e = wire_find(p, &at);
	enum outcome how = AGAIN;

	if (e)
		snprintf(v->why, sizeof(v->why), "%s: %s", p->host, gai_strerror(e));
	for (struct addrinfo *a = at.first; a && how == AGAIN; a = a->ai_next) {
		double now = clock_seconds();
		double end = v->end < now + CONNECT_SECONDS ? v->end : now + CONNECT_SECONDS;
		int fd = wire_connect(a, end);

		if (fd >= 0) {
			how = talk_to_mine(v, p->here, fd, s);
			close(fd);
		} else if (wire_exhausted(errno)) {
			*s = wire_exhaustion(errno, "rank 0 cannot be reached");
			how = OVER;
		} else if (clock_seconds() < v->end || !*v->why) { /* not of a try cut short */
			snprintf(v->why, sizeof(v->why), "%s", strerror(errno));
		}
	}
	if (at.found)
		freeaddrinfo(at.found);
	return how;
}

static ccs_status visit(const struct group_env *env, const struct group_meeting *m, ccs_status here)
{
	struct visitor v = { .env = env, .meeting = m, .end = clock_seconds() + group_limit(env) };
	/* many ranks do not all call at once, for ever */
	double pause = 0.01, longest = 0.2 + env->nranks * 0.0002;
	struct wire_place p;
	ccs_status s;

	wire_place(&p, env->address);
	wire_keys(&v.keys, env);
	make_hello(&v, here);
	while (call(&v, &p, &s) == AGAIN) {
		double left = v.end - clock_seconds();

		if (left <= 0)
			return error_set(CCS_ETIMEOUT,
					 "rank %d did not reach rank 0 at %s in %g s: "
					 "%s",
					 env->rank, env->address, group_limit(env), v.why);
		usleep((useconds_t)((pause < left ? pause : left) * 1e6));
		pause = pause * 2 < longest ? pause * 2 : longest;
	}
	return s;
}

ccs_status group_meet(const struct group_env *env, const struct group_meeting *m, ccs_status here)
{
	char own[CCS_TEXT];
	ccs_status s;

	if (m->card_bytes > GROUP_CARD || m->answer_bytes > GROUP_ANSWER)
		return error_set(CCS_EINVAL,
				 "a card of %zu bytes and an answer of %zu are too "
				 "much: %d and %d",
				 m->card_bytes, m->answer_bytes, GROUP_CARD, GROUP_ANSWER);
	if (env->nranks == 1)
		return here ? here : m->make(m->of, m->card, m->answer);
	snprintf(own, sizeof(own), "%s", here ? ccs_error() : "");
	s = env->rank ? visit(env, m, here) : group_hold(env, m, here);
	return here ? error_set(here, "%s", own) : s;
}
