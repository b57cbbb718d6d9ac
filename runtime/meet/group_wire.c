/*
 * Sockets and bytes of processes that meet. See group_wire.h. O(bytes); every wait ends
 * at a time that the caller gives.
 */
#include "runtime/meet/group_wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- texts and heads ---------------------------------------------------------------- */

void wire_place(struct wire_place *p, const char *address)
{
	const char *colon = strrchr(address, ':');
	size_t n = (size_t)(colon - address);

	*p = (struct wire_place){ .here = *address == '@' };
	if (p->here) {
		snprintf(p->host, sizeof(p->host), "%s", address + 1);
		return;
	}
	if (*address == '[' && n > 2 && colon[-1] == ']') { /* IPv6 */
		address++;
		n -= 2;
	}
	snprintf(p->host, sizeof(p->host), "%.*s", (int)n, address);
	snprintf(p->port, sizeof(p->port), "%s", colon + 1);
}

void wire_from(const struct sockaddr *a, socklen_t n, char text[WIRE_FROM])
{
	char host[48], port[8];

	if (getnameinfo(a, n, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(text, WIRE_FROM, "an unknown address");
	else
		snprintf(text, WIRE_FROM, "%s:%s", host, port);
}

struct wire_head wire_head(size_t bytes)
{
	struct wire_head h = {
		.version = htonl(WIRE_VERSION),
		.bytes = htonl((uint32_t)(bytes - sizeof(h))),
	};

	memcpy(h.magic, WIRE_MAGIC, sizeof(h.magic));
	return h;
}

bool wire_ours(const void *data, size_t got)
{
	return memcmp(data, WIRE_MAGIC, got < 8 ? got : 8) == 0;
}

void wire_clean(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\n') || *text == 127)
			*text = '?';
}

/* ---- proofs --------------------------------------------------------------------------- */

void wire_keys(struct wire_keys *k, const struct group_env *env)
{
	unsigned char mark[BLAKE2S_BYTES];
	struct blake2s b;

	blake2s_begin(&b, "ccs job", 7);
	blake2s_add(&b, env->job, strlen(env->job));
	blake2s_end(&b, k->job);
	memset(k->name, 0, sizeof(k->name));
	if (!env->secret) {
		snprintf(k->name, sizeof(k->name), "%s", env->job);
		return;
	}
	blake2s_begin(&b, k->job, sizeof(k->job));
	blake2s_add(&b, "mark", 4);
	blake2s_end(&b, mark);
	snprintf(k->name, sizeof(k->name), "%.*s=#%02x%02x%02x%02x", (int)strcspn(env->job, "="),
		 env->job, mark[0], mark[1], mark[2], mark[3]);
}

ccs_status wire_nonce(unsigned char nonce[WIRE_NONCE])
{
	return getrandom(nonce, WIRE_NONCE, 0) == WIRE_NONCE
		       ? CCS_OK
		       : error_set(CCS_ESYSTEM, "no random number: %s", strerror(errno));
}

static void code_of(const struct wire_keys *k, const unsigned char *of_rank_0,
		    const unsigned char *of_caller, const void *message, size_t n,
		    unsigned char code[BLAKE2S_BYTES])
{
	struct blake2s b;

	blake2s_begin(&b, k->job, sizeof(k->job));
	blake2s_add(&b, of_rank_0, WIRE_NONCE);
	blake2s_add(&b, of_caller, WIRE_NONCE);
	blake2s_add(&b, message, n - BLAKE2S_BYTES);
	blake2s_end(&b, code);
}

void wire_prove(const struct wire_keys *k, const unsigned char *of_rank_0,
		const unsigned char *of_caller, void *message, size_t n)
{
	code_of(k, of_rank_0, of_caller, message, n, (unsigned char *)message + n - BLAKE2S_BYTES);
}

bool wire_proves(const struct wire_keys *k, const unsigned char *of_rank_0,
		 const unsigned char *of_caller, const void *message, size_t n)
{
	unsigned char code[BLAKE2S_BYTES];

	code_of(k, of_rank_0, of_caller, message, n, code);
	return blake2s_same(code, (const unsigned char *)message + n - BLAKE2S_BYTES);
}

/* ---- descriptors ----------------------------------------------------------------------- */

bool wire_exhausted(int e)
{
	return e == EMFILE || e == ENFILE;
}

ccs_status wire_exhaustion(int e, const char *what)
{
	struct rlimit most = { 0 };

	if (e == ENFILE)
		return error_set(CCS_ESYSTEM,
				 "%s: this host has no file descriptor left "
				 "(/proc/sys/fs/file-max)",
				 what);
	getrlimit(RLIMIT_NOFILE, &most);
	return error_set(CCS_ESYSTEM,
			 "%s: this process has no file descriptor left; the limit is %llu (ulimit "
			 "-n raises it)",
			 what, (unsigned long long)most.rlim_cur);
}

/* ---- listening ------------------------------------------------------------------------ */

/* A peer on a host that has vanished is noticed within a minute, and each message is sent at once.
 * On one host neither is needed. */
static void keep_alive(int fd, int family)
{
	int on = 1, idle = 20, every = 10, times = 3;

	if (family == AF_UNIX)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
}

/* Callers get the listener's settings. */
static int listen_at(const struct sockaddr *address, socklen_t size)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, off = 0, e;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	keep_alive(fd, address->sa_family);
	if (bind(fd, address, size) == 0 && listen(fd, 4096) == 0)
		return fd;
	e = errno;
	close(fd);
	errno = e;
	return -1;
}

/* Of the abstract name space, which needs no file, and is gone with the socket. */
static socklen_t address_here(const struct wire_place *p, struct sockaddr_un *at)
{
	size_t n = strlen(p->host);

	*at = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = n < sizeof(at->sun_path) ? n : sizeof(at->sun_path) - 1;
	memcpy(at->sun_path + 1, p->host, n);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

static int listen_once(const struct wire_place *p)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *found = NULL;
	unsigned short port = htons((unsigned short)atoi(p->port));
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = port };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = port };
	bool loopback = strcmp(p->host, "localhost") == 0;
	struct sockaddr_un here;
	int fd;

	if (p->here)
		return listen_at((struct sockaddr *)&here, address_here(p, &here));
	if (getaddrinfo(loopback ? "127.0.0.1" : p->host, p->port, &hints, &found) == 0) {
		fd = listen_at(found->ai_addr, found->ai_addrlen);
		freeaddrinfo(found);
		return fd;
	}
	fd = listen_at((struct sockaddr *)&six, sizeof(six));
	if (fd < 0 && errno != EADDRINUSE && !wire_exhausted(errno))
		fd = listen_at((struct sockaddr *)&four, sizeof(four));
	return fd;
}

static const char *cure_of(int e)
{
	if (e == EADDRNOTAVAIL)
		return "this host, where rank 0 runs, does not have that address: set "
		       "CCS_RENDEZVOUS=HOST:PORT";
	if (e == EACCES)
		return "ports below 1024 need a privilege: set CCS_RENDEZVOUS=HOST:PORT";
	return "CCS_RENDEZVOUS=HOST:PORT selects another place";
}

ccs_status wire_listen(const struct wire_place *p, double end, int *fd)
{
	while ((*fd = listen_once(p)) < 0 && errno == EADDRINUSE && clock_seconds() < end)
		usleep(50000);
	if (*fd >= 0)
		return CCS_OK;
	if (wire_exhausted(errno))
		return wire_exhaustion(errno, "rank 0 cannot listen for the other ranks");
	return error_set(CCS_ESYSTEM, "rank 0 cannot listen at %s%s%s%s: %s (%s)",
			 p->here ? "@" : "", p->host, p->here ? "" : " port ", p->port,
			 strerror(errno), cure_of(errno));
}

/* ---- calling --------------------------------------------------------------------------- */

bool wire_wait(int fd, short events, double end)
{
	struct pollfd p = { .fd = fd, .events = events };
	double left;

	while ((left = end - clock_seconds()) > 0) {
		int n = poll(&p, 1, left > 1 ? 1000 : (int)(left * 1000) + 1);

		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
	}
	errno = ETIMEDOUT;
	return false;
}

int wire_find(const struct wire_place *p, struct wire_addresses *a)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	int e;

	*a = (struct wire_addresses){ .found = NULL };
	if (p->here) {
		a->one = (struct addrinfo){ .ai_family = AF_UNIX,
					    .ai_addr = (struct sockaddr *)&a->here,
					    .ai_addrlen = address_here(p, &a->here) };
		a->first = &a->one;
		return 0;
	}
	e = getaddrinfo(p->host, p->port, &hints, &a->found);
	a->first = e ? NULL : a->found;
	return e;
}

/* How a connection that was begun turned out: an errno. */
static int outcome(int fd, double end)
{
	int e = 0;
	socklen_t n = sizeof(e);

	if (!wire_wait(fd, POLLOUT, end))
		return errno;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n) ? errno : e;
}

int wire_connect(const struct addrinfo *a, double end)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), e = 0;

	if (fd < 0)
		return -1;
	keep_alive(fd, a->ai_family);
	if (connect(fd, a->ai_addr, a->ai_addrlen))
		e = errno == EINPROGRESS || errno == EINTR ? outcome(fd, end) : errno;
	if (!e)
		return fd;
	close(fd);
	errno = e;
	return -1;
}

bool wire_send(int fd, const void *data, size_t n, double end)
{
	const char *p = data;

	while (n) {
		ssize_t k = send(fd, p, n, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			if (!wire_wait(fd, POLLOUT, end))
				return false;
			continue;
		}
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

double group_limit(const struct group_env *env)
{
	return env->seconds ? env->seconds : GROUP_SECONDS;
}
