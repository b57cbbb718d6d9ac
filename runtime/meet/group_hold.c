/*
 * Rank 0's side of a meeting: see group_meet.
 *
 * In: a listening socket. Out: every process of the job has received rank 0's answer, or the reason
 * for the failure. One loop polls all callers at once, so a slow or silent caller does not delay
 * another, and the loop has one deadline, which no caller can move. A caller that sends the hello
 * of a rank of this job gets the rank's seat. Any other caller is turned away and counted; it
 * receives the reason if it speaks our protocol. The count is part of the text of a timeout. A
 * failure is sent to all present callers, and until the deadline to all later callers. O(ranks)
 * memory, and time for each poll.
 */
#include "runtime/meet/group_wire.h"

#include "runtime/base/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRANGERS 64	  /* callers without a seat at one time, besides the ranks */
#define HELLO_PART 0.25	  /* part of the meeting's time for a hello, if that is shorter */
#define SILENT_SECONDS 1  /* after this a silent caller may be closed to make room */
#define PORT_SECONDS 5	  /* wait for a port in use to become free */
#define RETRY_SECONDS 0.1 /* without descriptors, until the next accept */

/* Why callers are turned away. */
enum reason { USER, SILENT, FOREIGN, VERSION, JOB, SIZE, NO_RANK, TWICE, LEFT, CROWD, REASONS };
static const char *const reasons[REASONS] = {
	[USER] = "belong to another user",
	[SILENT] = "did not identify themselves in time",
	[FOREIGN] = "use another protocol",
	[VERSION] = "have another version of ccs",
	[JOB] = "belong to another job",
	[SIZE] = "have a different number of ranks",
	[NO_RANK] = "are not a rank of this job",
	[TWICE] = "are a rank that is already connected",
	[LEFT] = "closed the connection",
	[CROWD] = "had not identified themselves when there were too many",
};

struct turned_away {
	unsigned n;
	char last[160]; /* the last such caller, and the reason */
};

/* A connection. */
struct caller {
	int fd;				 /* -1: closed */
	int rank;			 /* its rank; 0: it has no seat yet */
	double until;			 /* without a seat: the deadline of its hello */
	size_t got;			 /* bytes received of its hello */
	unsigned char nonce[WIRE_NONCE]; /* of its challenge */
	struct wire_hello hello;
	char from[WIRE_FROM];
};

/* A rank's seat: the number of its caller, or one of: */
enum { ABSENT = -1, TOLD = -2 };

struct hold {
	const struct group_env *env;
	const struct group_meeting *meeting;
	double end, accept_at; /* no caller is accepted before that */
	double hello;	       /* seconds for a hello */
	struct wire_keys keys;
	bool here;	 /* callers are on this host */
	int port, spare; /* `spare`: a descriptor kept to report a failure when no other is left */
	struct caller *callers;
	struct pollfd *polls; /* [1 + room]: the port, then the callers */
	size_t n, room;
	int *seats; /* [nranks] */
	int left;   /* ranks that are absent */
	struct turned_away away[REASONS];
	struct wire_answer answer;
	ccs_status failed;
	char why[CCS_TEXT]; /* as this process reports it */
};

/* ---- turning away ------------------------------------------------------------------ */

static void hang_up(struct caller *c)
{
	close(c->fd);
	c->fd = -1;
}

__attribute__((format(printf, 4, 5))) static void
turn_away(struct hold *h, struct caller *c, enum reason why, const char *format, ...)
{
	struct turned_away *a = h->away + why;
	char detail[160];
	va_list ap;

	va_start(ap, format);
	vsnprintf(detail, sizeof(detail), format, ap);
	va_end(ap);
	a->n++;
	snprintf(a->last, sizeof(a->last), "%.70s%s%.80s", c->from, *detail ? ", " : "", detail);
	if (c->rank && h->seats[c->rank] != TOLD) {
		h->seats[c->rank] = ABSENT;
		h->left++;
	}
	hang_up(c);
}

static void make_answer(struct wire_answer *a, enum wire_kind kind, ccs_status s)
{
	a->head = wire_head(sizeof(*a));
	a->kind = htonl(kind);
	a->status = htonl((uint32_t)-(int)s);
}

/* Sends the answer with a proof, which callers of this job can check. The answer fits into the
 * buffer of a fresh connection, so the send does not wait. */
static bool send_answer(const struct hold *h, const struct caller *c, struct wire_answer a)
{
	wire_prove(&h->keys, c->nonce, c->hello.nonce, &a, sizeof(a));
	return wire_send(c->fd, &a, sizeof(a), 0);
}

/* Sends the final answer, and closes the connection. */
static bool answer(const struct hold *h, struct caller *c)
{
	bool sent = send_answer(h, c, h->answer);

	hang_up(c);
	return sent;
}

static void confirm_seat(struct hold *h, struct caller *c)
{
	double left = h->end - clock_seconds();
	struct wire_answer a = { .kind = 0 };

	make_answer(&a, WIRE_SEATED, CCS_OK);
	a.status = htonl(left > 0 ? (uint32_t)(left * 1000) : 0);
	send_answer(h, c, a); /* if it fails, the end of the connection will be noticed */
}

/* Rejects a caller that speaks our protocol but does not belong to the job, with the reason. */
static void refuse(struct hold *h, struct caller *c, enum reason why, const char *detail,
		   const char *text)
{
	struct wire_answer a = { .kind = 0 };

	make_answer(&a, why == JOB ? WIRE_ELSEWHERE : WIRE_REFUSED, CCS_EINVAL);
	snprintf(a.text, sizeof(a.text), "%s", text);
	send_answer(h, c, a);
	turn_away(h, c, why, "%s", detail);
}

/* "; 12 callers were refused: 11 that belong to another job (the last: ...), ..." */
static void add_refused(const struct hold *h, struct text *t)
{
	unsigned all = 0;
	const char *comma = "";

	for (int i = 0; i < REASONS; i++)
		all += h->away[i].n;
	if (!all)
		return;
	text_add(t, "; %u caller%s refused: ", all, all == 1 ? " was" : "s were");
	for (int i = 0; i < REASONS; i++) {
		if (!h->away[i].n)
			continue;
		text_add(t, "%s%u that %s (the last: %s)", comma, h->away[i].n, reasons[i],
			 h->away[i].last);
		comma = ", ";
	}
}

/* ---- failing ----------------------------------------------------------------------- */

/* Reports a failure to all present callers, and to all later ones. The first failure counts. */
static void fail(struct hold *h, ccs_status s, int rank, const char *why)
{
	if (h->failed)
		return;
	h->failed = s;
	close(h->spare);
	make_answer(&h->answer, WIRE_FAILED, s);
	snprintf(h->answer.text, sizeof(h->answer.text), "rank %d: %.980s", rank, why);
	snprintf(h->why, sizeof(h->why), "%s", rank ? h->answer.text : why);
	for (int r = 1; r < h->env->nranks; r++) {
		if (h->seats[r] < 0)
			continue;
		answer(h, h->callers + h->seats[r]);
		h->seats[r] = TOLD;
	}
}

static ccs_status absent(const struct hold *h)
{
	struct text t = { .len = 0 };
	int first = 1;

	while (h->seats[first] != ABSENT)
		first++;
	text_add(&t, "rank %d", first);
	if (h->left > 1)
		text_add(&t, " and %d other%s", h->left - 1, h->left > 2 ? "s" : "");
	text_add(&t, " did not come to %s in %g s", h->env->address, group_limit(h->env));
	add_refused(h, &t);
	return error_set(CCS_ETIMEOUT, "%s", t.buf);
}

/* ---- a hello ----------------------------------------------------------------------- */

/* The same process calls again: its old connection is dead, although no error was reported. */
static bool same_process(const struct hold *h, const struct caller *c, uint32_t rank)
{
	const struct caller *old = h->callers + h->seats[rank];

	return !memcmp(old->hello.self, c->hello.self, sizeof(c->hello.self));
}

/* Gives the caller the rank's seat, in place of an old connection of the same process. */
static void seat(struct hold *h, struct caller *c, uint32_t rank)
{
	const struct wire_hello *w = &c->hello;
	uint32_t status = ntohl(w->status);

	if (h->seats[rank] == ABSENT)
		h->left--;
	else if (h->seats[rank] >= 0)
		hang_up(h->callers + h->seats[rank]);
	if (h->failed) {
		answer(h, c);
		h->seats[rank] = TOLD;
		return;
	}
	c->rank = (int)rank;
	h->seats[rank] = (int)(c - h->callers);
	confirm_seat(h, c);
	if (status)
		fail(h, error_of_peer(-(long long)status), c->rank, w->text);
}

/* Whether the seat belongs to another process, which is still there. */
static bool taken(struct hold *h, const struct caller *c, uint32_t rank)
{
	struct caller *old;
	char byte;

	if (h->seats[rank] < 0 || same_process(h, c, rank))
		return false;
	old = h->callers + h->seats[rank];
	if (recv(old->fd, &byte, 1, MSG_PEEK) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return true;
	turn_away(h, old, LEFT, "rank %d", old->rank);
	return false;
}

/* A whole hello. Only the proof distinguishes the job's own callers from others. */
static void check_hello(struct hold *h, struct caller *c)
{
	const struct group_env *env = h->env;
	struct wire_hello *w = &c->hello;
	uint32_t rank = ntohl(w->rank), nranks = ntohl(w->nranks);
	char text[WIRE_TEXT], detail[160];
	bool ours = wire_proves(&h->keys, c->nonce, w->nonce, w, sizeof(*w)), named;

	wire_clean(w->release, sizeof(w->release));
	wire_clean(w->job, sizeof(w->job));
	wire_clean(w->text, sizeof(w->text));
	named = strcmp(w->job, h->keys.name) == 0;
	if (!ours) {
		snprintf(detail, sizeof(detail), "%s%s", *w->job ? w->job : "without a name",
			 named ? ", which it does not prove" : "");
		snprintf(text, sizeof(text), "another job meets there (%s; this is one %s%s)",
			 *h->keys.name ? h->keys.name : "without a name", *w->job ? "with " : "",
			 detail);
		refuse(h, c, JOB, detail, text);
	} else if (strcmp(w->release, CCS_VERSION) ||
		   ntohl(w->card_bytes) != h->meeting->card_bytes) {
		snprintf(detail, sizeof(detail), "rank %u with ccs %s", rank, w->release);
		snprintf(text, sizeof(text), "%s, but rank 0 has ccs %s: all must have the same",
			 detail, CCS_VERSION);
		refuse(h, c, VERSION, detail, text);
	} else if (nranks != (uint32_t)env->nranks) {
		snprintf(detail, sizeof(detail), "rank %u was started as one of %u", rank, nranks);
		snprintf(text, sizeof(text), "%s, but rank 0 as one of %d", detail, env->nranks);
		refuse(h, c, SIZE, detail, text);
	} else if (!rank || rank >= nranks) {
		snprintf(detail, sizeof(detail), "rank %u", rank);
		snprintf(text, sizeof(text), "%s calls rank 0, but only ranks 1..%u may", detail,
			 nranks - 1);
		refuse(h, c, NO_RANK, detail, text);
	} else if (taken(h, c, rank)) {
		snprintf(detail, sizeof(detail), "rank %u", rank);
		snprintf(text, sizeof(text),
			 "two processes were started as rank %u: this one, and another (%s)", rank,
			 h->callers[h->seats[rank]].from);
		refuse(h, c, TWICE, detail, text);
	} else {
		seat(h, c, rank);
	}
}

/* Whether the received bytes can begin a hello of this version. */
static bool check_head(struct hold *h, struct caller *c)
{
	const struct wire_head *head = &c->hello.head;
	char text[WIRE_TEXT];

	if (!wire_ours(head, c->got)) {
		turn_away(h, c, FOREIGN, "%s", "");
		return false;
	}
	if (c->got < sizeof(*head) || (head->version == htonl(WIRE_VERSION) &&
				       head->bytes == wire_head(sizeof(c->hello)).bytes))
		return true;
	snprintf(text, sizeof(text),
		 "rank 0 has ccs %s and protocol version %u, not %u: all ranks must have the same",
		 CCS_VERSION, WIRE_VERSION, ntohl(head->version));
	refuse(h, c, VERSION, "", text);
	return false;
}

/* Data has come from a caller, or it has closed the connection. */
static void read_hello(struct hold *h, struct caller *c)
{
	char *to = (char *)&c->hello;
	char beyond;

	for (;;) {
		size_t room = sizeof(c->hello) - c->got;
		ssize_t k = recv(c->fd, room ? to + c->got : &beyond, room ? room : 1, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (k <= 0)
			turn_away(h, c, LEFT, "%s %d", c->rank ? "rank" : "bytes it said:",
				  c->rank ? c->rank : (int)c->got);
		else if (!room)
			turn_away(h, c, FOREIGN, "rank %d, which sent more than a hello", c->rank);
		else
			c->got += (size_t)k;
		if (c->fd < 0 || !check_head(h, c))
			return;
		if (room && c->got == sizeof(c->hello)) {
			check_hello(h, c);
			return;
		}
	}
}

/* ---- the loop ---------------------------------------------------------------------- */

/* The caller that has been silent the longest; NULL: all have seats. */
static struct caller *oldest(struct hold *h)
{
	struct caller *first = NULL;

	for (size_t i = 0; i < h->n; i++) {
		struct caller *c = h->callers + i;

		if (c->fd >= 0 && !c->rank && (!first || c->until < first->until))
			first = c;
	}
	return first;
}

/* Removes closed callers from the list. */
static void compact(struct hold *h)
{
	size_t to = 0;

	for (size_t i = 0; i < h->n; i++) {
		if (h->callers[i].fd < 0)
			continue;
		if (to != i)
			h->callers[to] = h->callers[i];
		if (h->callers[to].rank)
			h->seats[h->callers[to].rank] = (int)to;
		to++;
	}
	h->n = to;
}

/* No descriptor is left for another caller: silent callers are closed to make room. If no caller is
 * silent, and none can become silent, the meeting fails. */
static bool make_room(struct hold *h, int e)
{
	struct caller *c = oldest(h);
	double now = clock_seconds();
	char what[120];

	if (c && c->until - h->hello + SILENT_SECONDS < now) {
		turn_away(h, c, CROWD, "%s", "");
		return true;
	}
	h->accept_at = now + RETRY_SECONDS;
	if (c)
		return false;
	snprintf(what, sizeof(what), "rank 0 cannot accept more of the %d ranks; %d are missing",
		 h->env->nranks, h->left);
	fail(h, wire_exhaustion(e, what), 0, ccs_error());
	return false;
}

/* Sends a challenge to a new caller, unless the system says that it is another user's. */
static void welcome(struct hold *h, struct caller *c)
{
	struct wire_challenge w = { .head = wire_head(sizeof(w)) };
	struct ucred of;

	if (h->here) {
		bool mine = peer_is_mine(c->fd, &of);

		snprintf(c->from, sizeof(c->from), "process %d", (int)of.pid);
		if (!mine) {
			turn_away(h, c, USER, "user %u", (unsigned)of.uid);
			return;
		}
	}
	if (wire_nonce(c->nonce)) /* no more seats are given: an answer needs no seat */
		fail(h, CCS_ESYSTEM, 0, ccs_error());
	memcpy(w.nonce, c->nonce, sizeof(w.nonce));
	wire_send(c->fd, &w, sizeof(w), 0);
}

/* Accepts waiting callers, but no more than there is room for: their number has no bound. */
static void accept_all(struct hold *h)
{
	for (size_t i = 0; i < h->room; i++) {
		struct sockaddr_storage from;
		socklen_t n = sizeof(from);
		struct caller *c;
		int fd;

		if (h->n == h->room) {
			c = oldest(h);
			if (c)
				turn_away(h, c, CROWD, "%s", "");
			compact(h);
		}
		fd = accept4(h->port, (struct sockaddr *)&from, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && wire_exhausted(errno) && make_room(h, errno)) {
			compact(h);
			continue;
		}
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return;
		c = h->callers + h->n++;
		*c = (struct caller){ .fd = fd, .until = clock_seconds() + h->hello };
		wire_from((struct sockaddr *)&from, n, c->from);
		welcome(h, c);
	}
}

/* Milliseconds until the next deadline. */
static int pause_of(const struct hold *h, double now)
{
	double next = h->end;

	if (!h->left)
		return 0;
	for (size_t i = 0; i < h->n; i++)
		if (!h->callers[i].rank && h->callers[i].until < next)
			next = h->callers[i].until;
	if (h->accept_at > now && h->accept_at < next)
		next = h->accept_at;
	return next <= now ? 0 : next - now > 1 ? 1000 : (int)((next - now) * 1000) + 1;
}

/* One turn of the loop: handles the events of all sockets. */
static void poll_once(struct hold *h)
{
	double now = clock_seconds();
	int n;

	h->polls[0] = (struct pollfd){ .fd = h->accept_at > now ? -1 : h->port, .events = POLLIN };
	for (size_t i = 0; i < h->n; i++)
		h->polls[1 + i] = (struct pollfd){ .fd = h->callers[i].fd, .events = POLLIN };
	n = poll(h->polls, (nfds_t)(1 + h->n), pause_of(h, now));
	if (n < 0 && errno != EINTR) {
		fail(h, error_set(CCS_ESYSTEM, "poll: %s", strerror(errno)), 0, ccs_error());
		h->left = 0; /* no other caller can be informed */
		return;
	}
	now = clock_seconds();
	for (size_t i = 0; i < h->n; i++) {
		struct caller *c = h->callers + i;

		if (c->fd >= 0 && n > 0 && h->polls[1 + i].revents)
			read_hello(h, c);
		if (c->fd >= 0 && !c->rank && now >= c->until)
			turn_away(h, c, SILENT, "%zu bytes in %g s", c->got, h->hello);
	}
	compact(h);
	if (n > 0 && h->polls[0].revents)
		accept_all(h);
}

/* Waits until all ranks are present and no connection shows that a rank has left. */
static void wait_for_all(struct hold *h)
{
	while (!h->failed && clock_seconds() < h->end) {
		bool all = !h->left;

		poll_once(h);
		if (all && !h->left)
			return;
	}
	if (!h->failed && h->left)
		fail(h, absent(h), 0, ccs_error());
}

/* Reports a failure to all ranks that are still to come. */
static void tell_the_late(struct hold *h)
{
	h->end += WIRE_GRACE;
	while (h->left && clock_seconds() < h->end)
		poll_once(h);
}

/* ---- the answer -------------------------------------------------------------------- */

static ccs_status decide(struct hold *h)
{
	const struct group_meeting *m = h->meeting;
	size_t each = m->card_bytes;
	unsigned char *cards = calloc((size_t)h->env->nranks, each + 1);
	ccs_status s;

	if (!cards)
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", h->env->nranks);
	memcpy(cards, m->card, each);
	for (int r = 1; r < h->env->nranks; r++)
		memcpy(cards + (size_t)r * each, h->callers[h->seats[r]].hello.card, each);
	s = m->make(m->of, cards, m->answer);
	free(cards);
	return s;
}

static ccs_status answer_all(struct hold *h)
{
	ccs_status s = CCS_OK;

	make_answer(&h->answer, WIRE_DONE, CCS_OK);
	h->answer.answer_bytes = htonl((uint32_t)h->meeting->answer_bytes);
	memcpy(h->answer.answer, h->meeting->answer, h->meeting->answer_bytes);
	for (int r = 1; r < h->env->nranks; r++) {
		struct caller *c = h->callers + h->seats[r];

		if (!answer(h, c) && !s)
			s = error_set(CCS_EABORTED,
				      "rank %d (%s) disconnected before it could be told how to "
				      "continue",
				      r, c->from);
		h->seats[r] = TOLD;
	}
	return s;
}

static ccs_status meet(struct hold *h, ccs_status here)
{
	ccs_status s = here;

	if (here)
		fail(h, here, 0, ccs_error());
	wait_for_all(h);
	if (!h->failed) {
		s = decide(h);
		if (!s)
			return answer_all(h);
		fail(h, s, 0, ccs_error());
	}
	tell_the_late(h);
	return error_set(h->failed, "%s", h->why);
}

static bool make_seats(struct hold *h)
{
	size_t n = (size_t)h->env->nranks;

	h->room = n + STRANGERS;
	h->callers = calloc(h->room, sizeof(*h->callers));
	h->polls = calloc(1 + h->room, sizeof(*h->polls));
	h->seats = malloc(n * sizeof(*h->seats));
	if (!h->callers || !h->polls || !h->seats)
		return false;
	for (size_t r = 0; r < n; r++)
		h->seats[r] = ABSENT;
	h->left = h->env->nranks - 1;
	return true;
}

static void free_all(struct hold *h)
{
	for (size_t i = 0; i < h->n; i++)
		hang_up(h->callers + i);
	close(h->port); /* or -1 */
	if (!h->failed)
		close(h->spare);
	free(h->callers);
	free(h->polls);
	free(h->seats);
	free(h);
}

ccs_status group_hold(const struct group_env *env, const struct group_meeting *m, ccs_status here)
{
	double limit = group_limit(env), begin = clock_seconds();
	struct hold *h = calloc(1, sizeof(*h));
	struct wire_place p;
	ccs_status s;

	if (!h)
		return error_set(CCS_ENOMEM, "out of memory");
	*h = (struct hold){ .env = env, .meeting = m, .end = begin + limit };
	h->port = h->spare = -1;
	h->hello = limit * HELLO_PART < WIRE_SECONDS ? limit * HELLO_PART : WIRE_SECONDS;
	wire_place(&p, env->address);
	wire_keys(&h->keys, env);
	h->here = p.here;
	if (!make_seats(h))
		s = error_set(CCS_ENOMEM, "out of memory for a meeting of %d ranks", env->nranks);
	else
		s = wire_listen(&p, begin + (limit < PORT_SECONDS ? limit : PORT_SECONDS),
				&h->port);
	if (!s && (h->spare = fcntl(h->port, F_DUPFD_CLOEXEC, 0)) < 0)
		s = wire_exhaustion(errno, "rank 0 cannot accept connections");
	if (!s)
		s = meet(h, here);
	free_all(h);
	return s;
}
