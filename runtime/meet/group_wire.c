/*
 * Sockets and bytes of processes that meet. See group_wire.h. O(bytes); every wait ends
 * at a time that the caller gives.
 */
#include "runtime/meet/group_wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- texts and heads ---------------------------------------------------------------- */

void wire_place(struct wire_place *p, const char *address)
{
	const char *colon = strrchr(address, ':');
	size_t n = (size_t)(colon - address);

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
			 "%s: this process has no file descriptor left; it may have "
			 "%llu (ulimit -n raises that)",
			 what, (unsigned long long)most.rlim_cur);
}

/* ---- listening ------------------------------------------------------------------------ */

/* A peer whose host is gone without a word is noticed within a minute. */
static void keep_alive(int fd)
{
	int on = 1, idle = 20, every = 10, times = 3;

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
	keep_alive(fd);
	if (bind(fd, address, size) == 0 && listen(fd, 4096) == 0)
		return fd;
	e = errno;
	close(fd);
	errno = e;
	return -1;
}

static int listen_once(const struct wire_place *p)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *found = NULL;
	unsigned short port = htons((unsigned short)atoi(p->port));
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = port };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = port };
	bool here = strcmp(p->host, "localhost") == 0;
	int fd;

	if (getaddrinfo(here ? "127.0.0.1" : p->host, p->port, &hints, &found) == 0) {
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
		return "this host, where rank 0 is, has no such address: "
		       "CCS_RENDEZVOUS=HOST:PORT names another";
	if (e == EACCES)
		return "ports below 1024 need a privilege: CCS_RENDEZVOUS=HOST:PORT names another";
	return "CCS_RENDEZVOUS=HOST:PORT names another place";
}

ccs_status wire_listen(const struct wire_place *p, double end, int *fd)
{
	while ((*fd = listen_once(p)) < 0 && errno == EADDRINUSE && clock_seconds() < end)
		usleep(50000);
	if (*fd >= 0)
		return CCS_OK;
	if (wire_exhausted(errno))
		return wire_exhaustion(errno, "rank 0 cannot listen for the others");
	return error_set(CCS_ESYSTEM, "rank 0 cannot listen at %s port %s: %s (%s)", p->host,
			 p->port, strerror(errno), cure_of(errno));
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
	keep_alive(fd);
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
