/*
 * How processes that know an address alone get one unique id: rank 0 listens there,
 * makes the id, and gives it to each of the others once. See group_env_id.
 *
 * In: who this process is, and HOST:PORT. Out: the id, or who did not come, or what
 * two processes disagree about. O(ranks) connections.
 *
 * NCCL has a way of its own, NCCL_COMM_ID: as its sources have it, it must be in the
 * environment during ncclGetUniqueId, and again on rank 0 during
 * ncclCommInitRank, which opens the port then; rank 0 of any other communicator of the
 * process would open it too, and changing the environment races with the threads of
 * whoever uses this library. So it is left alone.
 *
 * Anybody who reaches the port can get the id, as with NCCL's own: it is no secret,
 * and the hosts of a job are trusted.
 */
#include "runtime/group.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 300		/* that rank 0 and the others wait for one another */
#define PATIENCE 5		/* seconds for connecting, or for one message */
#define GRACE 2			/* seconds that a failure is told to who comes */
#define MAGIC "ccsmeet1"

/* Hosts may differ in their byte order. */
struct hello {
	char magic[8];
	uint32_t rank, nranks;
	struct cuda_uuid gpu;	/* zeros: unknown */
};

struct answer {
	char magic[8];
	uint32_t status;	/* minus a ccs_status */
	uint32_t shared;	/* ranks share a GPU */
	struct ccs_unique_id id;
	char text[500];		/* of the failure */
};

struct place {
	char host[240], port[8];
};

static void split(struct place *p, const char *address)
{
	const char *colon = strrchr(address, ':');
	size_t n = (size_t)(colon - address);

	if (*address == '[' && n > 2 && colon[-1] == ']') {	/* IPv6 */
		address++;
		n -= 2;
	}
	snprintf(p->host, sizeof(p->host), "%.*s", (int)n, address);
	snprintf(p->port, sizeof(p->port), "%s", colon + 1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double patience(void)
{
	const char *text = getenv("CCS_RENDEZVOUS_SECONDS");
	int n = text ? atoi(text) : 0;

	return n > 0 ? n : SECONDS;
}

/* Of connecting and sending, and of receiving. */
static void set_limits(int fd, double receiving)
{
	struct timeval t = { .tv_sec = PATIENCE };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	t.tv_sec = (time_t)receiving + 1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

static bool send_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t k = send(fd, p, n, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

/* How much has come until the end, or until nothing more does. */
static size_t receive(int fd, void *data, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = recv(fd, (char *)data + got, n - got, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		got += (size_t)k;
	}
	return got;
}

/* ---- rank 0 ------------------------------------------------------------------------------- */

static int listen_at(const struct sockaddr *address, socklen_t size)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, off = 0;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, address, size) == 0 && listen(fd, 1024) == 0)
		return fd;
	on = errno;
	close(fd);
	errno = on;
	return -1;
}

/* A number is taken as it is; behind a name, which often means 127.0.1.1 on its own
 * host, any of this host's addresses. */
static ccs_status open_port(const struct place *p, int *fd)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *found = NULL;
	unsigned short port = htons((unsigned short)atoi(p->port));
	bool here = strcmp(p->host, "localhost") == 0;

	if (getaddrinfo(here ? "127.0.0.1" : p->host, p->port, &hints, &found) == 0) {
		*fd = listen_at(found->ai_addr, found->ai_addrlen);
		freeaddrinfo(found);
	} else {
		struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = port };
		struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = port };

		*fd = listen_at((struct sockaddr *)&six, sizeof(six));
		if (*fd < 0 && errno != EADDRINUSE)
			*fd = listen_at((struct sockaddr *)&four, sizeof(four));
	}
	return *fd >= 0 ? CCS_OK : error_set(CCS_ESYSTEM, "rank 0 cannot listen at %s port %s: %s "
			"(CCS_RENDEZVOUS=HOST:PORT names another place)", p->host, p->port,
			strerror(errno));
}

/* What rank 0 knows. */
struct meeting {
	const struct group_env *env;
	struct ccs_unique_id id;
	ccs_status failed;	/* with `text`: everybody is told, for a while */
	char text[500];
	int *callers;		/* each rank's connection, or one of: */
	struct cuda_uuid *gpus;	/* each rank's */
	bool shared;
	int left;
};
enum { ABSENT = -1, TOLD = -2 };

static void fail(struct meeting *m, ccs_status s)
{
	if (m->failed)
		return;
	m->failed = s;
	snprintf(m->text, sizeof(m->text), "%.499s", ccs_error());
}

/* Which rank a caller says to be; 0: it is nobody of ours. */
static uint32_t check_hello(struct meeting *m, const struct hello *h)
{
	uint32_t rank = ntohl(h->rank), nranks = ntohl(h->nranks);

	if (memcmp(h->magic, MAGIC, sizeof(h->magic)))
		return 0;
	if (nranks != (uint32_t)m->env->nranks)
		fail(m, error_set(CCS_EINVAL, "rank %u was started as one of %u, but rank 0 as "
				  "one of %d", rank, nranks, m->env->nranks));
	else if (!rank || rank >= nranks || m->callers[rank] != ABSENT)
		fail(m, error_set(CCS_EINVAL, "two processes were started as rank %u", rank));
	return rank ? rank : nranks;
}

static ccs_status absent(const struct meeting *m)
{
	int missing = 0, first = 0;

	for (int r = m->env->nranks - 1; r > 0; r--)
		if (m->callers[r] == ABSENT) {
			missing++;
			first = r;
		}
	return error_set(CCS_ETIMEOUT, "rank %d%s did not come to %s in %.0f s", first,
			 missing > 1 ? " and others" : "", m->env->address, patience());
}

static void answer(const struct meeting *m, int fd)
{
	struct answer a = { .magic = MAGIC, .status = htonl((uint32_t)-(int)m->failed) };

	a.shared = htonl(m->shared);
	a.id = m->id;
	memcpy(a.text, m->text, sizeof(a.text));
	send_all(fd, &a, sizeof(a));
	close(fd);
}

static void answer_all(struct meeting *m)
{
	for (int r = 1; r < m->env->nranks; r++) {
		if (m->callers[r] < 0)
			continue;
		answer(m, m->callers[r]);
		m->callers[r] = TOLD;
	}
}

static void serve(struct meeting *m, int fd)
{
	bool failed = m->failed != CCS_OK;
	struct hello h;
	uint32_t rank;

	set_limits(fd, PATIENCE);
	rank = receive(fd, &h, sizeof(h)) == sizeof(h) ? check_hello(m, &h) : 0;
	if (!rank)
		close(fd);
	else if (m->failed)
		answer(m, fd);
	else {
		m->callers[rank] = fd;
		m->gpus[rank] = h.gpu;
	}
	if (rank)
		m->left--;
	if (m->failed && !failed)
		answer_all(m);
}

/* Until all have come, or time is up: nobody gets an id before all are there. After a
 * failure a little is left, so that who comes then need not wait in vain. */
static void serve_all(struct meeting *m, int port)
{
	double end = now() + patience();
	bool failed = false;

	while (m->left && now() < end) {
		struct pollfd p = { .fd = port, .events = POLLIN };
		int fd;

		if (m->failed && !failed) {
			failed = true;
			end = now() + GRACE;
		}
		if (poll(&p, 1, 100) <= 0)
			continue;
		fd = accept4(port, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			serve(m, fd);
	}
	if (m->left && !m->failed)
		fail(m, absent(m));
}

static bool shares(const struct meeting *m)
{
	const struct cuda_uuid unknown = { 0 };

	for (int a = 0; a < m->env->nranks; a++)
		for (int b = 0; b < a; b++)
			if (!memcmp(m->gpus + a, m->gpus + b, sizeof(unknown)) &&
			    memcmp(m->gpus + a, &unknown, sizeof(unknown)))
				return true;
	return false;
}

/* Before the first call of NCCL: it reads the environment once. */
static ccs_status tell_nccl(const struct nccl *n, const struct group_env *env, bool shared)
{
	return shared && env->local_nranks == env->nranks ? nccl_share_gpu(n, env->rank) : CCS_OK;
}

static ccs_status hold(struct meeting *m, const struct nccl *n, const struct place *p)
{
	int port;
	ccs_status s = open_port(p, &port);

	if (s)
		return s;
	serve_all(m, port);
	m->shared = !m->failed && shares(m);
	s = m->failed ? m->failed : tell_nccl(n, m->env, m->shared);
	if (!s)
		s = nccl_unique_id(n, &m->id);
	if (s)
		fail(m, s);
	answer_all(m);
	close(port);
	return m->failed ? error_set(m->failed, "%s", m->text) : CCS_OK;
}

static ccs_status give(const struct nccl *n, const struct group_env *env, const struct place *p,
		       const struct cuda_uuid *gpu, struct ccs_unique_id *id)
{
	struct meeting m = { .env = env, .left = env->nranks - 1 };
	ccs_status s;

	m.callers = malloc((size_t)env->nranks * sizeof(*m.callers));
	m.gpus = calloc((size_t)env->nranks, sizeof(*m.gpus));
	if (m.callers && m.gpus) {
		for (int r = 0; r < env->nranks; r++)
			m.callers[r] = ABSENT;
		m.gpus[0] = *gpu;
		s = hold(&m, n, p);
		*id = m.id;
	} else {
		s = error_set(CCS_ENOMEM, "out of memory");
	}
	free(m.callers);
	free(m.gpus);
	return s;
}

/* ---- the others ------------------------------------------------------------------------------ */

/* Once to each address of the host, until one answers; -1: none does. Rank 0 answers
 * when it has the id, which may take NCCL some time: who came asks once only. */
static int call_on(const struct place *p, double end, const char **why)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
	int e = getaddrinfo(p->host, p->port, &hints, &found), fd = -1;

	if (e) {
		*why = gai_strerror(e);
		return -1;
	}
	for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			continue;
		set_limits(fd, end > now() ? end - now() : 0);
		if (connect(fd, a->ai_addr, a->ai_addrlen)) {
			*why = strerror(errno);
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	return fd;
}

/* One of the others. */
struct caller {
	const struct nccl *nccl;
	const struct group_env *env;
	const struct cuda_uuid *gpu;
};

/* True: that was rank 0's answer, or that of somebody else altogether (*s). */
static bool ask(int fd, const struct caller *c, struct ccs_unique_id *id, ccs_status *s)
{
	struct hello h = {
		.magic = MAGIC, .rank = htonl((uint32_t)c->env->rank),
		.nranks = htonl((uint32_t)c->env->nranks), .gpu = *c->gpu,
	};
	struct answer a = { 0 };
	size_t got;

	if (!send_all(fd, &h, sizeof(h)))
		return false;
	got = receive(fd, &a, sizeof(a));
	if (got >= sizeof(a.magic) && memcmp(a.magic, MAGIC, sizeof(a.magic))) {
		*s = error_set(CCS_ESYSTEM, "somebody else than rank 0 listens at %s "
			       "(CCS_RENDEZVOUS=HOST:PORT names another place)",
			       c->env->address);
		return true;
	}
	if (got < sizeof(a))
		return false;
	a.text[sizeof(a.text) - 1] = '\0';
	*s = (ccs_status)-(int)ntohl(a.status);
	*s = *s ? error_set(*s, "rank 0: %s", a.text)
		: tell_nccl(c->nccl, c->env, ntohl(a.shared) != 0);
	*id = a.id;
	return true;
}

static ccs_status fetch(const struct caller *c, const struct place *p, struct ccs_unique_id *id)
{
	const struct group_env *env = c->env;
	double end = now() + patience();
	const char *why = "it does not answer";
	useconds_t pause = 10000;
	ccs_status s = CCS_OK;

	for (;;) {
		int fd = call_on(p, end, &why);
		bool answered = fd >= 0 && ask(fd, c, id, &s);

		if (fd >= 0)
			close(fd);
		if (answered)
			return s;
		if (now() >= end)
			return error_set(CCS_ETIMEOUT, "rank %d did not reach rank 0 at %s in "
					 "%.0f s: %s", env->rank, env->address, patience(), why);
		usleep(pause);
		pause = pause < 200000 ? pause * 2 : pause;
	}
}

ccs_status group_env_id(const struct nccl *n, const struct group_env *env,
			const struct cuda_uuid *gpu, struct ccs_unique_id *id)
{
	const struct cuda_uuid unknown = { 0 };
	const struct caller c = { n, env, gpu ? gpu : &unknown };
	struct place p;

	if (env->nranks == 1)
		return nccl_unique_id(n, id);
	split(&p, env->address);
	return env->rank ? fetch(&c, &p, id) : give(n, env, &p, c.gpu, id);
}
