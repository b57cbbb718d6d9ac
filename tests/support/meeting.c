/* See meeting.h. */
#include "tests/support/meeting.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- ranks ---------------------------------------------------------------------------- */

static ccs_status make(void *of, const void *cards, void *answer)
{
	const struct part *p = of;
	struct sum s = { 0 };

	if (p->unwilling)
		return error_set(CCS_ENOPLAN, "no answer today");
	for (int r = 0; r < p->env.nranks; r++) {
		uint32_t card;

		memcpy(&card, (const char *)cards + (size_t)r * sizeof(card), sizeof(card));
		s.all += card;
		if (r == 1)
			s.of_one = card;
	}
	memcpy(answer, &s, sizeof(s));
	return CCS_OK;
}

static void *attend(void *arg)
{
	struct part *p = arg;
	const struct group_meeting m = {
		.card = &p->card,
		.card_bytes = sizeof(p->card),
		.answer = &p->sum,
		.answer_bytes = sizeof(p->sum),
		.make = make,
		.of = p,
	};

	usleep(p->wait_ms * 1000);
	if (p->here)
		error_set(p->here, "%s", p->text);
	p->status = group_meet(&p->env, &m, p->here);
	snprintf(p->error, sizeof(p->error), "%s", p->status ? ccs_error() : "");
	return NULL;
}

static uint32_t card_of(int rank)
{
	return (uint32_t)rank * 7 + 3;
}

void parts_make(struct part *p, int n, int port, unsigned seconds)
{
	for (int r = 0; r < n; r++) {
		p[r] = (struct part){
			.env = { .rank = r, .nranks = n, .launcher = "test", .seconds = seconds },
			.card = card_of(r),
			.status = CCS_ENOMEM,
		};
		snprintf(p[r].env.address, sizeof(p[r].env.address), "127.0.0.1:%d", port);
		snprintf(p[r].env.job, sizeof(p[r].env.job), "TEST=%d", port);
	}
}

void part_start(struct part *p)
{
	if (pthread_create(&p->thread, NULL, attend, p)) {
		perror("pthread_create");
		exit(2);
	}
}

void part_end(struct part *p)
{
	pthread_join(p->thread, NULL);
}

bool part_has_sum(const struct part *p)
{
	uint64_t all = 0;

	for (int r = 0; r < p->env.nranks; r++)
		all += card_of(r);
	if (!p->status && p->sum.all == all &&
	    p->sum.of_one == (p->env.nranks > 1 ? card_of(1) : 0))
		return true;
	printf("# rank %d: %s: %s (sum %llu)\n", p->env.rank, ccs_status_name(p->status), p->error,
	       (unsigned long long)p->sum.all);
	return false;
}

bool part_failed(const struct part *p, ccs_status want, const char *text)
{
	if (p->status == want && strstr(p->error, text))
		return true;
	printf("# rank %d: %s, not %s with \"%s\": %s\n", p->env.rank, ccs_status_name(p->status),
	       ccs_status_name(want), text, p->error);
	return false;
}

void parts_run(struct part *p, int n)
{
	for (int r = 0; r < n; r++)
		part_start(p + r);
	for (int r = 0; r < n; r++)
		part_end(p + r);
}

bool parts_have_sum(const struct part *p, int n)
{
	bool ok = true;

	for (int r = 0; r < n; r++)
		ok = part_has_sum(p + r) && ok;
	return ok;
}

/* ---- strangers ---------------------------------------------------------------------------- */

int connect_to(int port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((unsigned short)port),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	while (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		usleep(1000);
		fd = socket(AF_INET, SOCK_STREAM, 0);
	}
	return fd;
}

int listen_on(int port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((unsigned short)port),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 64)) {
		perror("listen");
		exit(2);
	}
	return fd;
}

struct wire_hello hello_of(const struct part *p)
{
	struct wire_hello w = {
		.head = wire_head(sizeof(w)),
		.release = CCS_VERSION,
		.self = { 1, 2, 3, 4 },
		.rank = htonl((uint32_t)p->env.rank),
		.nranks = htonl((uint32_t)p->env.nranks),
		.card_bytes = htonl(sizeof(p->card)),
	};

	memcpy(w.job, p->env.job, sizeof(w.job));
	memcpy(w.card, &p->card, sizeof(p->card));
	return w;
}

int say_to(int port, const void *data, size_t n)
{
	int fd = connect_to(port);

	if (send(fd, data, n, MSG_NOSIGNAL) != (ssize_t)n)
		perror("send");
	return fd;
}

/* As parts_make has it. */
struct wire_keys keys_of(int port)
{
	struct group_env env = { .rank = 0 };
	struct wire_keys k;

	snprintf(env.job, sizeof(env.job), "TEST=%d", port);
	wire_keys(&k, &env);
	return k;
}

void prove_hello(int fd, int port, struct wire_hello *w)
{
	const struct wire_keys k = keys_of(port);
	struct wire_challenge c = { .head = wire_head(0) };

	if (recv(fd, &c, sizeof(c), MSG_WAITALL) != (ssize_t)sizeof(c))
		perror("recv");
	wire_prove(&k, c.nonce, w->nonce, w, sizeof(*w));
}

int hello_to(int port, struct wire_hello w)
{
	int fd = connect_to(port);

	prove_hello(fd, port, &w);
	if (send(fd, &w, sizeof(w), MSG_NOSIGNAL) != (ssize_t)sizeof(w))
		perror("send");
	return fd;
}

/* Until rank 0 has hung up: what it said, and whether that was a whole answer. */
static bool hear(int fd, struct wire_answer *a)
{
	struct wire_challenge c;
	size_t got = 0;
	ssize_t k;

	memset(a, 0, sizeof(*a));
	if (recv(fd, &c, sizeof(c), MSG_PEEK | MSG_WAITALL) == (ssize_t)sizeof(c) &&
	    c.head.bytes == wire_head(sizeof(c)).bytes) /* it has not been read yet */
		recv(fd, &c, sizeof(c), MSG_WAITALL);
	while (got < sizeof(*a) && (k = recv(fd, (char *)a + got, sizeof(*a) - got, 0)) > 0)
		got += (size_t)k;
	close(fd);
	return got == sizeof(*a);
}

bool refused(int fd, enum wire_kind kind, const char *text)
{
	struct wire_answer a;
	bool whole = hear(fd, &a);

	if (whole && ntohl(a.kind) == kind && strstr(a.text, text))
		return true;
	printf("# %s answer of kind %u, not %u with \"%s\": %.300s\n", whole ? "an" : "half an",
	       ntohl(a.kind), kind, text, a.text);
	return false;
}
