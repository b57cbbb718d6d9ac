/*
 * Processes meet: the data that they exchange, and every kind of intruder that disturbs them. Each
 * rank is a thread here, and so is the intruder.
 *
 * No test asserts a time; but a meeting has a time limit, and fails if it is held up beyond it.
 * usage: group_meet_test
 */
#include "tests/support/meeting.h"
#include "tests/support/peers.h"
#include "tests/support/processes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- meetings that come about ------------------------------------------------------ */

static bool meet_at(const char *host, int n, int late)
{
	struct part p[MOST];
	int port = free_port();

	parts_make(p, n, port, ENOUGH);
	for (int r = 0; r < n; r++)
		snprintf(p[r].env.address, sizeof(p[r].env.address), "%s:%d", host, port);
	if (late >= 0)
		p[late].wait_ms = 300;
	parts_run(p, n);
	return parts_have_sum(p, n);
}

/* With any name of the job, its ranks recognize one another. */
static bool meet_called(const char *job)
{
	struct part p[3];

	parts_make(p, 3, free_port(), ENOUGH);
	for (int r = 0; r < 3; r++)
		snprintf(p[r].env.job, sizeof(p[r].env.job), "%s", job);
	parts_run(p, 3);
	return parts_have_sum(p, 3);
}

static void test_meeting(void)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *six = NULL;
	char name[256] = "";
	bool ok = true;
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	for (int n = 1; n <= MOST; n++)
		ok = meet_at("127.0.0.1", n, -1) && ok;
	say(ok, "1 to %d ranks meet, and know rank 0's answer", MOST);
	say(meet_at("127.0.0.1", 4, 0), "... rank 0 last");
	say(meet_at("127.0.0.1", 4, 3), "... rank 0 first");
	say(meet_at("localhost", 3, -1), "... at localhost");
	say(meet_called("") && meet_called("TEST=\ttab\n\033[0m\377"),
	    "... without a name, and with a strange one");
	gethostname(name, sizeof(name) - 1);
	if (getaddrinfo(name, NULL, &hints, &six) != 0 && getaddrinfo(name, NULL, NULL, &six))
		printf("skip - ... at this host's name: %s has no address\n", name);
	else
		say(meet_at(name, 3, -1), "... at this host's name");
	if (six)
		freeaddrinfo(six);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)))
		printf("skip - ... at [::1]: this machine has no IPv6\n");
	else
		say(meet_at("[::1]", 3, -1), "... at [::1]");
	close(fd);
}

/* ---- on one host ------------------------------------------------------------------- */

static void at_a_socket(struct part *p, int n)
{
	static int names;

	names++;
	for (int r = 0; r < n; r++)
		snprintf(p[r].env.address, sizeof(p[r].env.address), "@ccs-test-%d-%d",
			 (int)getpid(), names);
}

static bool meet_here(int n)
{
	struct part p[MOST];

	parts_make(p, n, 1, ENOUGH);
	at_a_socket(p, n);
	parts_run(p, n);
	return parts_have_sum(p, n);
}

/* Two ranks, a process each; one gets the report that the other belongs to another user. */
struct doubt {
	struct part p[2];
	int who;
	const char *why[2];
};

static int doubt(void *of, int index)
{
	struct doubt *d = of;

	if (index == d->who)
		peers_pretend((struct peers){ .other_user = true });
	part_start(d->p + index);
	part_end(d->p + index);
	return !part_failed(d->p + index, CCS_ETIMEOUT, d->why[index]);
}

static bool meet_in_doubt(int who, const char *why_0, const char *why_1)
{
	struct doubt d = { .who = who, .why = { why_0, why_1 } };

	parts_make(d.p, 2, 1, 2);
	at_a_socket(d.p, 2);
	return processes_run(2, doubt, &d);
}

static bool meet_twice_here(void)
{
	struct part p[3];

	parts_make(p, 2, 1, ENOUGH);
	at_a_socket(p, 2);
	p[2] = p[0];
	part_start(p + 0);
	usleep(200000);
	part_start(p + 2); /* another rank 0 */
	part_end(p + 2);
	part_start(p + 1);
	part_end(p + 0);
	part_end(p + 1);
	return parts_have_sum(p, 2) &&
	       part_failed(p + 2, CCS_ESYSTEM, "rank 0 cannot listen at @ccs-test-");
}

static void test_here(void)
{
	bool ok = true;

	for (int n = 2; n <= MOST; n++)
		ok = meet_here(n) && ok;
	say(ok, "2 to %d ranks meet at a socket of their host", MOST);
	say(meet_twice_here(), "... which one rank 0 has");
	say(meet_in_doubt(0, " that belong to another user (the last: process ", " in 2 s: "),
	    "... where another user's process gets no seat");
	say(meet_in_doubt(1, "did not come to @ccs-test-", " listens there, and this is user "),
	    "... and is no rank 0");
}

/* ---- secrets ------------------------------------------------------------------------- */

/* A listener there gets all data that a rank sends before anything is proved. */
static bool keep_the_secret(void)
{
	static const char secret[] = "open sesame";
	const struct wire_challenge c = { .head = wire_head(sizeof(c)) };
	int port = free_port(), listener = listen_on(port), fd;
	struct wire_hello w;
	struct part p[2];
	bool ok;

	parts_make(p, 2, port, 2);
	for (int r = 0; r < 2; r++) {
		snprintf(p[r].env.job, sizeof(p[r].env.job), "CCS_JOB_TOKEN=%s", secret);
		p[r].env.secret = true;
	}
	part_start(p + 1);
	fd = accept(listener, NULL, NULL);
	send(fd, &c, sizeof(c), MSG_NOSIGNAL);
	ok = recv(fd, &w, sizeof(w), MSG_WAITALL) == (ssize_t)sizeof(w) &&
	     !memmem(&w, sizeof(w), secret, strlen(secret)) &&
	     !strncmp(w.job, "CCS_JOB_TOKEN=#", 15) && strlen(w.job) == 23;
	close(listener);
	close(fd);
	part_end(p + 1);
	parts_run(p, 2); /* and it does for them */
	return ok && parts_have_sum(p, 2);
}

/* ---- strangers that come first ----------------------------------------------------- */

/* The intruder that disturbs a meeting, after rank 0 has come and before the other ranks do. It
 * returns when it has sent all its data. */
struct trouble {
	struct part *p;
	int port;
	int open[300]; /* connections that stay */
	int n;
	bool ok;
};
typedef void make_trouble(struct trouble *t);

static void test_trouble(make_trouble *act, const char *what)
{
	struct trouble t = { .port = free_port(), .ok = true };
	struct part p[3];
	bool ok;

	t.p = p;
	parts_make(p, 3, t.port, ENOUGH);
	part_start(p + 0);
	act(&t);
	part_start(p + 1);
	part_start(p + 2);
	for (int r = 0; r < 3; r++)
		part_end(p + r);
	ok = parts_have_sum(p, 3);
	say(ok && t.ok, "%s", what);
	for (int i = 0; i < t.n; i++)
		close(t.open[i]);
}

static void say_nothing(struct trouble *t)
{
	while (t->n < 10)
		t->open[t->n++] = connect_to(t->port);
}

static void say_nothing_in_crowds(struct trouble *t)
{
	while (t->n < 300)
		t->open[t->n++] = connect_to(t->port);
}

static void say_half_of_it(struct trouble *t)
{
	struct wire_hello w = hello_of(t->p + 1);

	for (; t->n < 10; t->n++)
		t->open[t->n] = say_to(t->port, &w, sizeof(w) / 10 * (size_t)t->n);
}

static void go_in_the_middle(struct trouble *t)
{
	struct wire_hello w = hello_of(t->p + 1);

	close(say_to(t->port, &w, sizeof(w) / 2));
	close(hello_to(t->port, w)); /* the seat is free again */
	close(connect_to(t->port));
}

/* The rest of the data is not read: the connection is reset. */
static void go_rudely(struct trouble *t)
{
	const struct linger at_once = { 1, 0 };
	struct wire_hello w = hello_of(t->p + 2);

	for (size_t n = 1; n <= sizeof(w); n += sizeof(w) - 1) {
		int fd = say_to(t->port, &w, n);

		setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		close(fd);
	}
}

static void shut_down_half(struct trouble *t)
{
	struct wire_hello w = hello_of(t->p + 1);
	int fd = hello_to(t->port, w);

	shutdown(fd, SHUT_WR); /* only the end of the stream matters */
	t->open[t->n++] = fd;
}

static void say_something_else(struct trouble *t)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	static const char zeros[4096];
	struct wire_hello w = hello_of(t->p + 1);

	t->open[t->n++] = say_to(t->port, text, sizeof(text));
	t->open[t->n++] = say_to(t->port, zeros, sizeof(zeros));
	w.head.magic[7] ^= 1;
	t->open[t->n++] = hello_to(t->port, w);
}

static void say_too_much(struct trouble *t)
{
	static const char more[100];
	int fd = hello_to(t->port, hello_of(t->p + 1));

	if (send(fd, more, sizeof(more), MSG_NOSIGNAL) < 0)
		perror("send");
	t->open[t->n++] = fd;
	usleep(50000);
}

static void be_of_another_version(struct trouble *t)
{
	struct wire_hello w = hello_of(t->p + 1);

	w.head.version = htonl(WIRE_VERSION + 1);
	t->ok = refused(say_to(t->port, &w, sizeof(w.head)), WIRE_REFUSED,
			"protocol version 3, not 4");
	w = hello_of(t->p + 1);
	strcpy(w.release, "9.9.9");
	t->ok = refused(hello_to(t->port, w), WIRE_REFUSED, "rank 1 with ccs 9.9.9") && t->ok;
	memset(w.release, 0x1b, sizeof(w.release)); /* no end, and nothing to print */
	t->ok = refused(hello_to(t->port, w), WIRE_REFUSED, "ccs ????????") && t->ok;
	w = hello_of(t->p + 1);
	w.card_bytes = htonl(0xffffffffu);
	t->ok = refused(hello_to(t->port, w), WIRE_REFUSED, "the same") && t->ok;
}

static void claim_a_huge_length(struct trouble *t)
{
	struct wire_hello w = hello_of(t->p + 1);

	w.head.bytes = htonl(0xffffffffu);
	t->ok = refused(say_to(t->port, &w, sizeof(w.head)), WIRE_REFUSED, "the same");
}

static void be_of_another_job(struct trouble *t)
{
	struct wire_hello w = hello_of(t->p + 1);

	strcpy(w.job, "TEST=elsewhere");
	t->ok = refused(say_to(t->port, &w, sizeof(w)), WIRE_ELSEWHERE, "with TEST=elsewhere");
	*w.job = '\0';
	t->ok = refused(say_to(t->port, &w, sizeof(w)), WIRE_ELSEWHERE, "without a name") && t->ok;
	memset(w.job, 'x', sizeof(w.job));
	t->ok = refused(say_to(t->port, &w, sizeof(w)), WIRE_ELSEWHERE, "xxxx") && t->ok;
}

/* A peer that does not know the job takes no seat and fails no rank, whatever it sends; nor does a
 * peer that replays data that it has received. */
static void prove_nothing(struct trouble *t)
{
	const struct wire_keys keys = keys_of(t->port);
	static const unsigned char nonce[WIRE_NONCE];
	struct wire_hello w = hello_of(t->p + 1);

	for (int failed = 0; failed < 2; failed++) {
		w.status = htonl(failed ? 4 : 0);
		memset(w.proof, 0, sizeof(w.proof));
		t->ok = refused(say_to(t->port, &w, sizeof(w)), WIRE_ELSEWHERE,
				"which it does not prove") &&
			t->ok;
		wire_prove(&keys, nonce, w.nonce, &w, sizeof(w)); /* of another call */
		t->ok = refused(say_to(t->port, &w, sizeof(w)), WIRE_ELSEWHERE,
				"which it does not prove") &&
			t->ok;
	}
}

/* One byte is another: each is proved. */
static void alter_a_hello(struct trouble *t)
{
	for (size_t at = sizeof(struct wire_head); at < sizeof(struct wire_hello); at += 61) {
		struct wire_hello w = hello_of(t->p + 1);
		int fd = connect_to(t->port);

		prove_hello(fd, t->port, &w);
		((unsigned char *)&w)[at] ^= 1;
		if (send(fd, &w, sizeof(w), MSG_NOSIGNAL) < 0)
			perror("send");
		t->ok = refused(fd, WIRE_ELSEWHERE, "another job meets there") && t->ok;
	}
}

static void count_differently(struct trouble *t)
{
	struct wire_hello w = hello_of(t->p + 2);

	w.nranks = htonl(5);
	t->ok = refused(hello_to(t->port, w), WIRE_REFUSED,
			"rank 2 was started as one of 5, but rank 0 as one of 3");
}

static void be_no_rank(struct trouble *t)
{
	static const uint32_t none[] = { 0, 3, 0x7fffffff, 0x80000000, 0xffffffff };
	struct wire_hello w = hello_of(t->p + 1);

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		w.rank = htonl(none[i]);
		t->ok = refused(hello_to(t->port, w), WIRE_REFUSED, "only ranks 1..2") && t->ok;
	}
}

/* A connection is dead, but rank 0 has had no notice of it: the process connects again. */
static void call_again(struct trouble *t)
{
	struct wire_hello w = hello_of(t->p + 1);
	int first = hello_to(t->port, w), again = hello_to(t->port, w);
	struct wire_answer a;
	char c;

	/* the old one is dropped for the new */
	t->ok = recv(first, &a, sizeof(a), MSG_WAITALL) == (ssize_t)sizeof(a) &&
		ntohl(a.kind) == WIRE_SEATED && recv(first, &c, 1, 0) == 0;
	close(first);
	close(again);
}

static void test_strangers(void)
{
	test_trouble(say_nothing, "ten callers that say nothing do not disturb");
	test_trouble(say_nothing_in_crowds, "... nor do 300");
	test_trouble(say_half_of_it, "... nor those that say half of it");
	test_trouble(go_in_the_middle, "... or go in the middle, or behind it");
	test_trouble(go_rudely, "... or reset their connection");
	test_trouble(shut_down_half, "... or shut down half of it");
	test_trouble(say_something_else, "... or speak another protocol");
	test_trouble(say_too_much, "... or say more than a hello");
	test_trouble(be_of_another_version, "callers of other versions are told");
	test_trouble(claim_a_huge_length, "... and those whose hello would be huge");
	test_trouble(be_of_another_job, "... and those of another job, or of none");
	test_trouble(prove_nothing, "... and those that do not prove theirs");
	test_trouble(alter_a_hello, "... and a hello that was altered on its way");
	test_trouble(count_differently, "... and those that count the ranks differently");
	test_trouble(be_no_rank, "... and those that are no rank");
	test_trouble(call_again, "a process that calls again keeps its seat");
}

/* ---- slow ones --------------------------------------------------------------------- */

struct drip {
	int port;
	struct wire_hello hello;
	size_t each;
	_Atomic bool stop;
};

static void *drip(void *arg)
{
	struct drip *d = arg;
	const char *p = (const char *)&d->hello;
	int fd = connect_to(d->port);
	size_t n = 0;

	prove_hello(fd, d->port, &d->hello);
	while (!d->stop && n < sizeof(d->hello)) {
		size_t k = sizeof(d->hello) - n < d->each ? sizeof(d->hello) - n : d->each;

		if (send(fd, p + n, k, MSG_NOSIGNAL) != (ssize_t)k)
			break;
		n += k;
		usleep(20000);
	}
	while (!d->stop)
		usleep(1000);
	close(fd);
	return NULL;
}

/* One drips so slowly that its time is over before its hello is; rank 2 comes then. */
static bool meet_drips(void)
{
	struct drip d = { .port = free_port(), .each = 1 };
	struct part p[3];
	pthread_t thread;

	parts_make(p, 3, d.port, 4);
	p[2].wait_ms = 2000;
	d.hello = hello_of(p + 1);
	part_start(p + 0);
	pthread_create(&thread, NULL, drip, &d);
	part_start(p + 1);
	part_start(p + 2);
	for (int r = 0; r < 3; r++)
		part_end(p + r);
	d.stop = true;
	pthread_join(thread, NULL);
	return parts_have_sum(p, 3);
}

/* A rank itself is slow, but not too slow. */
static bool meet_slow(void)
{
	struct drip d = { .port = free_port(), .each = 100 };
	struct part p[2];
	pthread_t thread;

	parts_make(p, 2, d.port, ENOUGH);
	d.hello = hello_of(p + 1);
	pthread_create(&thread, NULL, drip, &d);
	part_start(p + 0);
	part_end(p + 0);
	d.stop = true;
	pthread_join(thread, NULL);
	return part_has_sum(p + 0);
}

/* ---- the end of the time ----------------------------------------------------------- */

static bool holds_all(const char *text, const char *const *want)
{
	bool ok = true;

	for (; *want; want++)
		if (!strstr(text, *want)) {
			printf("# \"%s\" is not in: %s\n", *want, text);
			ok = false;
		}
	return ok;
}

/* All peers that were turned away, in one text. */
static bool tell_all(void)
{
	static const char *const want[] = {
		"rank 2 and 1 other did not come to 127.0.0.1:",
		" in 2 s; 8 callers were refused",
		"1 that did not identify themselves in time (the last: 127.0.0.1:",
		", 4 bytes in 0.5 s)",
		"1 that use another protocol",
		"1 that have another version of ccs",
		", rank 2 with ccs 7)",
		"1 that belong to another job",
		", TEST=other)",
		"1 that have a different number of ranks",
		", rank 2 was started as one of 9)",
		"1 that are not a rank of this job",
		", rank 77)",
		"1 that are a rank that is already connected",
		", rank 1)",
		"1 that closed the connection",
		", rank 3)",
		NULL
	};
	struct wire_hello w;
	struct part p[4];
	int port = free_port(), fd[8];

	parts_make(p, 4, port, 2);
	part_start(p + 0);
	part_start(p + 1);
	usleep(200000);
	fd[0] = say_to(port, WIRE_MAGIC, 4);
	fd[1] = say_to(port, "SSH-2.0", 7);
	w = hello_of(p + 2);
	strcpy(w.release, "7");
	fd[2] = hello_to(port, w);
	w = hello_of(p + 2);
	strcpy(w.job, "TEST=other");
	fd[3] = say_to(port, &w, sizeof(w));
	w = hello_of(p + 2);
	w.nranks = htonl(9);
	fd[4] = hello_to(port, w);
	w = hello_of(p + 2);
	w.rank = htonl(77);
	fd[5] = hello_to(port, w);
	w = hello_of(p + 1);
	fd[6] = hello_to(port, w);
	w = hello_of(p + 3);
	fd[7] = hello_to(port, w);
	close(fd[7]);
	for (int r = 0; r < 2; r++)
		part_end(p + r);
	for (int i = 0; i < 7; i++)
		close(fd[i]);
	return p[0].status == CCS_ETIMEOUT && holds_all(p[0].error, want) &&
	       part_failed(p + 1, CCS_ETIMEOUT, "rank 0: rank 2 and 1 other did not come");
}

static bool meet_nobody(void)
{
	struct part p[2];

	parts_make(p, 2, free_port(), 1);
	part_start(p + 1);
	part_end(p + 1);
	return part_failed(p + 1, CCS_ETIMEOUT, "rank 1 did not reach rank 0 at 127.0.0.1:") &&
	       part_failed(p + 1, CCS_ETIMEOUT, " in 1 s: Connection refused");
}

static bool meet_nowhere(void)
{
	struct part p[2];

	parts_make(p, 2, free_port(), 1);
	strcpy(p[1].env.address, "no.such.host.invalid:4000");
	part_start(p + 1);
	part_end(p + 1);
	return part_failed(p + 1, CCS_ETIMEOUT, "no.such.host.invalid: ");
}

static void test_time(void)
{
	say(meet_drips(), "a caller of a byte at a time holds nobody up");
	say(meet_slow(), "a rank whose hello comes in pieces is heard");
	say(tell_all(), "when time is up: who is missing, and who was turned away and why");
	say(meet_nobody(), "a rank 0 that does not come");
	say(meet_nowhere(), "a host that has no address");
}

int main(void)
{
	test_meeting();
	test_here();
	say(keep_the_secret(), "a job's secret is not told");
	test_strangers();
	test_time();
	return 0;
}
