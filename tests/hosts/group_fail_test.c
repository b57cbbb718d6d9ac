/*
 * Meetings that fail: every rank receives the reason, for every kind of failure, whenever the rank
 * comes and whatever a peer sends; and a meeting of very many ranks.
 *
 * usage: group_fail_test [RANKS]            number of ranks in the last test (4096)
 *        group_fail_test answer PORT STATUS JOB  is that job's rank 0, which sends one caller
 *                                           that failure
 */
#include "tests/support/meeting.h"
#include "tests/support/processes.h"
#include "tests/support/team.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- failures of ranks ------------------------------------------------------------- */

/* Rank `who` has failed before it comes; `late` comes after that. */
static bool fail_before(int who, int late)
{
	struct part p[4];
	bool ok = true;
	char text[80];

	parts_make(p, 4, free_port(), ENOUGH);
	p[who].here = CCS_EUNSUPPORTED;
	p[who].text = "there is no GPU in this machine";
	if (late >= 0)
		p[late].wait_ms = 3000; /* longer than any grace at the end of the time */
	parts_run(p, 4);
	snprintf(text, sizeof(text), "rank %d: there is no GPU", who);
	for (int r = 0; r < 4; r++)
		ok = part_failed(p + r, CCS_EUNSUPPORTED, r == who ? "there is no GPU" : text) &&
		     (r != who || p[r].error[0] == 't') && ok;
	return ok;
}

static bool fail_to_answer(void)
{
	struct part p[3];

	parts_make(p, 3, free_port(), ENOUGH);
	p[0].unwilling = true;
	parts_run(p, 3);
	return part_failed(p, CCS_ENOPLAN, "no answer today") && p[0].error[0] == 'n' &&
	       part_failed(p + 1, CCS_ENOPLAN, "rank 0: no answer today") &&
	       part_failed(p + 2, CCS_ENOPLAN, "rank 0: no answer today");
}

/* Two ranks have failed: each reports its own failure, the third rank reports the first failure. */
static bool fail_twice(void)
{
	struct part p[3];

	parts_make(p, 3, free_port(), ENOUGH);
	p[0].here = CCS_ENOMEM;
	p[0].text = "nothing left";
	p[1].here = CCS_EFILE;
	p[1].text = "no such thing";
	parts_run(p, 3);
	return part_failed(p, CCS_ENOMEM, "nothing left") &&
	       part_failed(p + 1, CCS_EFILE, "no such thing") &&
	       part_failed(p + 2, CCS_ENOMEM, "rank 0: nothing left");
}

/* The time of rank 0 is up when rank 2 comes. */
static bool come_too_late(void)
{
	struct part p[4];

	parts_make(p, 4, free_port(), 1);
	p[2].wait_ms = 1500;
	p[2].env.seconds = ENOUGH;
	for (int r = 0; r < 3; r++)
		part_start(p + r);
	for (int r = 0; r < 3; r++)
		part_end(p + r);
	return part_failed(p, CCS_ETIMEOUT, "rank 2 and 1 other did not come") &&
	       part_failed(p + 1, CCS_ETIMEOUT, "rank 0: rank 2 and 1 other did not come") &&
	       part_failed(p + 2, CCS_ETIMEOUT, "rank 0: rank 2 and 1 other did not come");
}

/* Two processes are rank 1; the second gets an error, and all other ranks succeed. */
static bool be_twice(void)
{
	struct part p[4];
	int port = free_port();

	parts_make(p, 3, port, ENOUGH);
	p[2].wait_ms = 600;
	p[3] = p[1];
	p[3].wait_ms = 300;
	for (int r = 0; r < 4; r++)
		part_start(p + r);
	for (int r = 0; r < 4; r++)
		part_end(p + r);
	return parts_have_sum(p, 3) &&
	       part_failed(p + 3, CCS_EINVAL,
			   "two processes were started as rank 1: this one, "
			   "and another (127.0.0.1:");
}

/* A job at a place where another one meets, which ends soon. */
static bool meet_after(void)
{
	struct part one[2], two[2];
	int port = free_port();

	parts_make(one, 2, port, ENOUGH);
	parts_make(two, 2, port, ENOUGH);
	strcpy(two[0].env.job, "TEST=two");
	strcpy(two[1].env.job, "TEST=two");
	part_start(one + 0);
	close(connect_to(port)); /* it is there */
	part_start(two + 0);	 /* the port is in use */
	part_start(two + 1);	 /* calls the other job */
	usleep(500000);
	part_start(one + 1);
	for (int r = 0; r < 2; r++) {
		part_end(one + r);
		part_end(two + r);
	}
	return parts_have_sum(one, 2) && parts_have_sum(two, 2);
}

static bool never_meet(void)
{
	struct part one[2], two[2];
	int port = free_port();

	parts_make(one, 2, port, 2);
	parts_make(two, 2, port, 1);
	strcpy(two[1].env.job, "TEST=two");
	part_start(one + 0);
	part_start(two + 1);
	part_end(two + 1);
	part_end(one + 0);
	return part_failed(two + 1, CCS_ETIMEOUT, "another job meets there (TEST=") &&
	       part_failed(two + 1, CCS_ETIMEOUT, "; this is one with TEST=two)") &&
	       part_failed(one + 0, CCS_ETIMEOUT, "that belong to another job (the last: ");
}

static bool port_in_use(void)
{
	struct part p[2];
	int port = free_port(), fd = listen_on(port);

	parts_make(p, 2, port, 1);
	part_start(p + 0);
	part_end(p + 0);
	close(fd);
	return part_failed(p, CCS_ESYSTEM, "rank 0 cannot listen at 127.0.0.1 port ") &&
	       part_failed(p, CCS_ESYSTEM, "Address already in use (CCS_RENDEZVOUS=HOST:PORT");
}

static bool foreign_address(void)
{
	struct part p[2];

	parts_make(p, 2, free_port(), 1);
	strcpy(p[0].env.address, "192.0.2.1:4000"); /* kept for documents */
	part_start(p + 0);
	part_end(p + 0);
	return part_failed(p, CCS_ESYSTEM,
			   "this host, where rank 0 runs, does not have that address");
}

static void test_failures(void)
{
	bool ok = true;

	for (int r = 0; r < 4; r++)
		ok = fail_before(r, -1) && ok;
	say(ok, "a rank that failed before tells all");
	say(fail_before(0, 2), "... those that come late, too");
	say(fail_before(1, 3), "... whichever it was");
	say(fail_twice(), "two that failed: each tells its own failure");
	say(fail_to_answer(), "no answer: all hear why");
	say(come_too_late(), "who comes when time is up hears so");
	say(be_twice(), "a second process of one rank is turned away");
	say(meet_after(), "two jobs at one place: one after the other");
	say(never_meet(), "... and never one with the other");
	say(port_in_use(), "a port that stays in use");
	say(foreign_address(), "an address of another host");
}

/* ---- what peers invent ------------------------------------------------------------- */

/* A rank 0 that sends arbitrary bytes to each caller, and hangs up. */
struct impostor {
	int fd;
	const void *data;
	size_t n;
	bool mute; /* it hangs up only on request */
	bool once;
	const char *job; /* a known job name, so its answers are proved; or NULL */
	_Atomic bool stop;
};

static void *pretend(void *arg)
{
	const struct wire_challenge c = { .head = wire_head(sizeof(c)) };
	struct impostor *i = arg;
	struct group_env env = { .rank = 0 };
	struct wire_answer a;
	struct wire_hello w;
	struct wire_keys keys;
	int fd;

	snprintf(env.job, sizeof(env.job), "%s", i->job ? i->job : "");
	wire_keys(&keys, &env);
	memcpy(&a, i->data, i->n < sizeof(a) ? i->n : sizeof(a));
	while ((fd = accept(i->fd, NULL, NULL)) >= 0) {
		send(fd, &c, sizeof(c), MSG_NOSIGNAL);
		if (recv(fd, &w, sizeof(w), MSG_WAITALL) == (ssize_t)sizeof(w)) {
			if (i->job && i->n == sizeof(a))
				wire_prove(&keys, c.nonce, w.nonce, &a, sizeof(a));
			send(fd, &a, i->n, MSG_NOSIGNAL);
		}
		while (i->mute && !i->stop)
			usleep(1000);
		close(fd);
		if (i->once)
			break;
	}
	return NULL;
}

static struct part visit(const void *data, size_t n, bool mute, unsigned seconds, bool proved)
{
	int port = free_port();
	struct impostor i = { .fd = listen_on(port), .data = data, .n = n, .mute = mute };
	struct part p[2];
	pthread_t thread;

	parts_make(p, 2, port, seconds);
	i.job = proved ? p->env.job : NULL;
	pthread_create(&thread, NULL, pretend, &i);
	part_start(p + 1);
	part_end(p + 1);
	i.stop = true;
	shutdown(i.fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(i.fd);
	return p[1];
}

static struct wire_answer answer_of(enum wire_kind kind, uint32_t status, const char *text)
{
	struct wire_answer a = {
		.head = wire_head(sizeof(a)),
		.kind = htonl(kind),
		.status = htonl(status),
		.answer_bytes = htonl(sizeof(struct sum)),
	};

	snprintf(a.text, sizeof(a.text), "%s", text);
	return a;
}

static bool gives(struct wire_answer a, ccs_status want, const char *text)
{
	struct part p = visit(&a, sizeof(a), false, ENOUGH, true);

	return part_failed(&p, want, text);
}

/* Whatever number comes, it is a failure that ccs.h knows. */
static bool invent_statuses(void)
{
	static const uint32_t none[] = { 0,	     9,		 70,	     1234,
					 0x7fffffff, 0x80000000, 0xfffffffb, 0xffffffff };
	bool ok = true;

	for (uint32_t s = 1; s <= 8; s++)
		ok = gives(answer_of(WIRE_FAILED, s, "as it says"), -(int)s, "as it says") && ok;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		ok = gives(answer_of(WIRE_FAILED, none[i], "so be it"), CCS_ESYSTEM, "so be it") &&
		     ok;
		ok = gives(answer_of(WIRE_REFUSED, none[i], "go away"), CCS_ESYSTEM, "go away") &&
		     ok;
	}
	return ok;
}

/* The same for a rank that sends the failure to rank 0. */
static bool invent_failure(uint32_t status, ccs_status want)
{
	struct part p[3];
	struct wire_hello w;
	int port = free_port(), fd;

	parts_make(p, 3, port, ENOUGH);
	w = hello_of(p + 1);
	w.status = htonl(status);
	strcpy(w.text, "\033[31mred\nalert");
	part_start(p + 0);
	part_start(p + 2);
	fd = hello_to(port, w);
	part_end(p + 0);
	part_end(p + 2);
	close(fd);
	return part_failed(p, want, "rank 1: ?[31mred\nalert") &&
	       part_failed(p + 2, want, "rank 1: ?[31mred\nalert");
}

static bool answer_in_pieces(void)
{
	struct wire_answer a = answer_of(WIRE_DONE, 0, "");
	struct part p;

	for (size_t n = 0; n < sizeof(a); n += 700) {
		p = visit(&a, n, false, 1, true);
		if (!part_failed(&p, CCS_ETIMEOUT, n ? "hangs up without an answer" : ""))
			return false;
	}
	a = answer_of(WIRE_SEATED, 0xffffffff, ""); /* for ever, and then silence */
	p = visit(&a, sizeof(a), true, 1, true);
	if (!part_failed(&p, CCS_ETIMEOUT, "a program listens there and does not answer"))
		return false;
	p = visit(&a, 100, true, 1, true);
	return part_failed(&p, CCS_ETIMEOUT, "a program listens there and does not answer");
}

static bool answer_nonsense(void)
{
	static const char smtp[] = "220 mail.example.org ESMTP, at your service\r\n";
	struct wire_answer a = answer_of(WIRE_DONE, 0, "");
	struct part p = visit(smtp, sizeof(smtp), false, ENOUGH, true);
	bool ok = part_failed(&p, CCS_ESYSTEM, "a program other than rank 0 listens at 127.0.0.1:");

	a.answer_bytes = htonl(0xffffffff);
	ok = gives(a, CCS_ESYSTEM, "is invalid (kind 1, 4294967295 bytes)") && ok;
	ok = gives(answer_of((enum wire_kind)99, 0, ""), CCS_ESYSTEM, "is invalid (kind 99") && ok;
	a = answer_of(WIRE_DONE, 0, "");
	a.head.version = htonl(1);
	ok = gives(a, CCS_EINVAL, "its protocol has version 1, not 3") && ok;
	a = answer_of(WIRE_DONE, 0, "");
	a.head.bytes = htonl(0x7fffffff);
	ok = gives(a, CCS_EINVAL, "all ranks must have the same") && ok;
	a = answer_of(WIRE_FAILED, 5, "");
	memset(a.text, 'x', sizeof(a.text)); /* without an end */
	ok = gives(a, CCS_ETIMEOUT, "xxxxx") && ok;
	a = answer_of(WIRE_FAILED, 5, "\033]0;title\007");
	return gives(a, CCS_ETIMEOUT, "?]0;title?") && ok;
}

/* Who listens there does not know the job: it is not believed, whatever it says. */
static bool believe_nothing(void)
{
	static const enum wire_kind kinds[] = { WIRE_SEATED, WIRE_DONE, WIRE_FAILED, WIRE_REFUSED };
	bool ok = true;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct wire_answer a = answer_of(kinds[i], 4, "do as I say");
		struct part p = visit(&a, sizeof(a), false, 1, false);

		ok = part_failed(&p, CCS_ETIMEOUT, "does not prove that it belongs to this job") &&
		     ok;
	}
	return ok;
}

static void test_inventions(void)
{
	say(believe_nothing(), "an answer without a proof is none");
	say(invent_statuses(), "a status that rank 0 invents is a failure all the same");
	say(invent_failure(5, CCS_ETIMEOUT) && invent_failure(4711, CCS_ESYSTEM) &&
		    invent_failure(0x80000000, CCS_ESYSTEM) &&
		    invent_failure(0xffffffff, CCS_ESYSTEM),
	    "... and one that a rank invents, whose text controls no terminal");
	say(answer_in_pieces(), "half an answer is none");
	say(answer_nonsense(), "an answer that is nonsense, or another version's");
}

/* ---- descriptors ------------------------------------------------------------------- */

/* In a separate process: rank 0 may have about 20 descriptors, or two if `index` is not 0. */
static int with_few(void *of, int index)
{
	enum { FEW = 24 };
	const struct rlimit few = { FEW, FEW };
	struct part *p = of;
	bool ok;

	if (setrlimit(RLIMIT_NOFILE, &few))
		return 2;
	if (index) { /* two are left: none for a caller */
		while (dup(0) >= 0)
			;
		close(FEW - 1);
		close(FEW - 2);
	}
	part_start(p);
	part_end(p);
	ok = part_failed(p, CCS_ESYSTEM, "rank 0 cannot accept more of the ") &&
	     part_failed(p, CCS_ESYSTEM, "no file descriptor left; the limit is 24 (ulimit -n");
	return !ok;
}

/* index 0: rank 0; 1: all others, who all hear it. */
static int few_for_rank_0(void *of, int index)
{
	struct part *p = of;
	int n = p->env.nranks;
	bool ok = true;

	if (!index)
		return with_few(p, n < 40);
	for (int r = 1; r < n; r++)
		part_start(p + r);
	for (int r = 1; r < n; r++)
		part_end(p + r);
	for (int r = 1; r < n; r++)
		ok = part_failed(p + r, CCS_ESYSTEM, "rank 0: rank 0 cannot accept more") && ok;
	return !ok;
}

/* Those who are silent make room for ranks: 3 ranks, and 60 others. */
static int room_for_ranks(void *of, int index)
{
	const struct rlimit few = { 24, 24 };
	struct part *p = of;
	int fd[60];
	bool ok = true;

	if (!index) {
		if (setrlimit(RLIMIT_NOFILE, &few))
			return 2;
		part_start(p);
		part_end(p);
		return !part_has_sum(p);
	}
	for (int i = 0; i < 60; i++)
		fd[i] = connect_to(atoi(strchr(p->env.address, ':') + 1));
	for (int r = 1; r < 3; r++)
		part_start(p + r);
	for (int r = 1; r < 3; r++)
		part_end(p + r);
	for (int r = 1; r < 3; r++)
		ok = part_has_sum(p + r) && ok;
	for (int i = 0; i < 60; i++)
		close(fd[i]);
	return !ok;
}

/* A rank other than 0 has no descriptor. */
static int none_for_a_caller(void *of, int index)
{
	const struct rlimit none = { 3, 3 };
	struct part *p = of;

	(void)index;
	if (setrlimit(RLIMIT_NOFILE, &none))
		return 2;
	while (dup(0) >= 0)
		;
	part_start(p + 1);
	part_end(p + 1);
	part_start(p + 0);
	part_end(p + 0);
	return !(part_failed(p + 1, CCS_ESYSTEM,
			     "rank 0 cannot be reached: this process has no "
			     "file descriptor left; the limit is 3 (ulimit -n") &&
		 part_failed(p, CCS_ESYSTEM,
			     "rank 0 cannot listen for the other ranks: this process "
			     "has no file descriptor left"));
}

/* Descriptors that a program which is started from here would have, too. */
static int inherited(void)
{
	int n = 0;

	for (int fd = 3; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) == 0;
	return n;
}

/* While rank 0 waits for rank 2, with rank 1 and a silent caller connected. */
static int close_on_exec(void *of, int index)
{
	struct part *p = of;
	int before = inherited(), files = holdings_now().files;
	bool ok;

	(void)index;
	part_start(p + 0);
	part_start(p + 1);
	connect_to(atoi(strchr(p->env.address, ':') + 1));
	/* A port, the caller's two ends, rank 1's two ends. */
	for (int i = 0; i < 1000 * ENOUGH && holdings_now().files < files + 5; i++)
		usleep(1000);
	ok = inherited() == before + 1; /* the caller's own */
	part_start(p + 2);
	for (int r = 0; r < 3; r++)
		part_end(p + r);
	return !(ok && parts_have_sum(p, 3));
}

static void test_descriptors(void)
{
	struct part p[40];

	parts_make(p, 3, free_port(), ENOUGH);
	say(processes_run(1, close_on_exec, p),
	    "no program that is started has a meeting's descriptors");

	parts_make(p, 40, free_port(), ENOUGH);
	say(processes_run(2, few_for_rank_0, p), "a rank 0 without descriptors says so to all");
	parts_make(p, 4, free_port(), ENOUGH);
	say(processes_run(2, few_for_rank_0, p), "... also one that can let in nobody");
	parts_make(p, 3, free_port(), ENOUGH);
	say(processes_run(2, room_for_ranks, p), "... but who is silent makes room first");
	parts_make(p, 2, free_port(), ENOUGH);
	say(processes_run(1, none_for_a_caller, p), "a process without any");
}

/* ---- very many --------------------------------------------------------------------- */

#define PROCESSES 8

struct many {
	struct part *p;
	int n;
};

/* Process 0 is rank 0; the other processes share the remaining ranks, one thread per rank. */
static int attend_many(void *of, int index)
{
	const struct many *m = of;
	int each = (m->n - 1 + PROCESSES - 2) / (PROCESSES - 1), from = 1 + (index - 1) * each;
	int to = from + each < m->n ? from + each : m->n;
	bool ok = true;

	if (!index) {
		from = 0;
		to = 1;
	}
	for (int r = from; r < to; r++)
		part_start(m->p + r);
	for (int r = from; r < to; r++)
		part_end(m->p + r);
	for (int r = from; r < to && ok; r++)
		ok = part_has_sum(m->p + r);
	return !ok;
}

static void test_many(int n)
{
	struct many m = { calloc((size_t)n, sizeof(*m.p)), n };
	struct rlimit limit;

	if (!m.p || getrlimit(RLIMIT_NOFILE, &limit))
		exit(2);
	if (limit.rlim_max < (rlim_t)n + 100) {
		printf("skip - %d ranks meet: a process may have %llu descriptors only (ulimit "
		       "-Hn)\n",
		       n, (unsigned long long)limit.rlim_max);
		free(m.p);
		return;
	}
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	parts_make(m.p, n, free_port(), 120);
	say(processes_run(PROCESSES, attend_many, &m), "%d ranks meet", n);
	free(m.p);
}

/* Answers the first caller with this failure. */
static int answer_one(int port, int status, const char *job)
{
	struct wire_answer a = answer_of(WIRE_FAILED, (uint32_t)-status, "rank 0: so be it");
	struct impostor i = {
		.fd = listen_on(port), .data = &a, .n = sizeof(a), .once = true, .job = job
	};

	pretend(&i);
	close(i.fd);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 4 && !strcmp(argv[1], "answer"))
		return answer_one(atoi(argv[2]), atoi(argv[3]), argv[4]);
	test_failures();
	test_inventions();
	test_descriptors();
	test_many(argc > 1 ? atoi(argv[1]) : 4096);
	return 0;
}
