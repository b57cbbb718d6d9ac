/*
 * The files that processes of one host share: rank 0 makes them, and passes them to the other
 * ranks. See procs.h.
 *
 * The files have no names (memfd_create(2)). Rank 0 listens on an abstract socket with a name
 * chosen by the system. A rank gets the name in the meeting (meet/group.h) or, for a split, from
 * the parent communicator; it connects, and receives the descriptors (SCM_RIGHTS). Neither end
 * trusts the other: the kernel reports the user of the process at the other end (SO_PEERCRED),
 * and a file is accepted only if it is this user's, has its size, and cannot shrink
 * (F_SEAL_SHRINK). So another user can neither get the memory, nor make a rank map a file that is
 * truncated later. O(ranks).
 */
#include "runtime/base/clock.h"
#include "runtime/base/peer.h"
#include "runtime/cpu/shm/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_NS 100000 /* wait for a caller before the table is checked again */

/* A message of one byte, with aligned room for the descriptors. */
struct parcel {
	_Alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(NFILES * sizeof(int))];
	char byte;
	struct iovec part;
	struct msghdr m; /* points into the other members */
};

static void parcel_begin(struct parcel *x)
{
	memset(x, 0, sizeof(*x));
	x->part = (struct iovec){ &x->byte, 1 };
	x->m = (struct msghdr){ .msg_iov = &x->part,
				.msg_iovlen = 1,
				.msg_control = x->control,
				.msg_controllen = sizeof(x->control) };
}

/* ---- making ------------------------------------------------------------------------------ */

static size_t table_bytes(int nranks)
{
	size_t n = (size_t)nranks;

	return sizeof(struct procs_table) + n * sizeof(struct procs_seat) +
	       n * n * sizeof(struct procs_pair);
}

static ccs_status map_table(struct procs *p, int nranks)
{
	void *at;

	p->table_bytes = table_bytes(nranks);
	at = mmap(NULL, p->table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->files[FILE_TABLE],
		  0);
	if (at == MAP_FAILED)
		return error_set(CCS_ENOMEM, "no memory for a table of %d ranks: %s", nranks,
				 strerror(errno));
	p->table = at;
	return CCS_OK;
}

static ccs_status make_files(struct procs *p, int nranks)
{
	static const char *const names[NFILES] = { "ccs table",	 "ccs fifos", "ccs lines",
						   "ccs fibers", "ccs data",  "ccs buffers" };

	for (int i = 0; i < NFILES; i++) {
		p->files[i] = memfd_create(names[i], MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (p->files[i] < 0 || fcntl(p->files[i], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL))
			return error_set(CCS_ESYSTEM, "no shared memory: %s", strerror(errno));
	}
	/* an empty seat takes no memory */
	return !ftruncate(p->files[FILE_TABLE], (off_t)table_bytes(nranks))
		       ? CCS_OK
		       : error_set(CCS_ENOMEM, "no shared memory for %d ranks: %s", nranks,
				   strerror(errno));
}

/* The system chooses a free name. */
static ccs_status open_door(struct procs *p)
{
	const struct sockaddr_un any = { .sun_family = AF_UNIX };

	p->door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->door < 0 ||
	    bind(p->door, (const struct sockaddr *)&any, offsetof(struct sockaddr_un, sun_path)) ||
	    listen(p->door, SOMAXCONN))
		return error_set(CCS_ESYSTEM, "no socket to share memory by: %s", strerror(errno));
	return CCS_OK;
}

ccs_status procs_files_make(struct procs *p, int nranks)
{
	ccs_status s;

	if (getrandom(&p->token, sizeof(p->token), 0) != (ssize_t)sizeof(p->token))
		return error_set(CCS_ESYSTEM, "no random number: %s", strerror(errno));
	s = make_files(p, nranks);
	if (!s)
		s = open_door(p);
	if (!s)
		s = map_table(p, nranks);
	if (!s)
		p->table->token = p->token;
	return s;
}

void procs_files_tell(const struct procs *p, struct procs_door *d)
{
	struct sockaddr_un at;
	socklen_t n = sizeof(at);

	memset(d, 0, sizeof(*d)); /* all of it, as all of it is sent */
	d->token = p->token;
	d->pid = p->table->seats[0].pid;
	if (!getsockname(p->door, (struct sockaddr *)&at, &n))
		memcpy(d->name, at.sun_path, sizeof(d->name));
}

/* ---- giving -------------------------------------------------------------------------------- */

/* Whether the process is a rank of this communicator. */
static bool may_enter(const struct world *w, int fd)
{
	struct ucred of;

	if (!peer_is_mine(fd, &of))
		return false;
	for (int i = 1; i < w->nranks; i++)
		if (cpu_of(w)->procs->table->seats[i].pid == of.pid)
			return true;
	return false;
}

/* False: too many descriptors of this user are in flight; some must arrive before. */
static bool send_files(const struct procs *p, int fd)
{
	struct parcel x;
	struct cmsghdr *c;
	ssize_t n;

	parcel_begin(&x);
	c = CMSG_FIRSTHDR(&x.m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(p->files));
	memcpy(CMSG_DATA(c), p->files, sizeof(p->files));
	n = sendmsg(fd, &x.m, MSG_NOSIGNAL);
	return n == 1 || errno != ETOOMANYREFS;
}

ccs_status procs_files_give(const struct world *w)
{
	struct procs *p = cpu_of(w)->procs;
	struct pollfd at = { .fd = p->caller >= 0 ? -1 : p->door, .events = POLLIN };
	const struct timespec wait = { 0, WAIT_NS };

	if (ppoll(&at, 1, &wait, NULL) > 0)
		p->caller = accept4(p->door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	else if (p->caller < 0)
		return CCS_OK;
	if (p->caller < 0)
		return errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS
			       ? CCS_OK
			       : error_set(CCS_ESYSTEM,
					   "rank 0 cannot pass its memory to the other ranks: %s",
					   strerror(errno));
	if (may_enter(w, p->caller) && !send_files(p, p->caller))
		return CCS_OK;
	close(p->caller);
	p->caller = -1;
	return CCS_OK;
}

/* ---- taking -------------------------------------------------------------------------------- */

/* Checks that the process that listens is still rank 0's. */
static ccs_status check_giver(int fd, const struct procs_door *d)
{
	struct ucred of;

	if (peer_is_mine(fd, &of) && of.pid == d->pid)
		return CCS_OK;
	return error_set(
		CCS_ESYSTEM,
		"the memory of rank 0 (process %d) cannot be shared: process %d of user %u "
		"has taken its place, and this is user %u: ranks on one host must be "
		"processes of one user",
		d->pid, (int)of.pid, (unsigned)of.uid, (unsigned)geteuid());
}

static ccs_status not_shared(const struct procs_door *d, const char *why)
{
	return error_set(CCS_ESYSTEM, "the memory of rank 0 (process %d) cannot be shared: %s",
			 d->pid, why);
}

/* Whether an interrupted call shall be repeated. */
static bool once_more(const struct procs *p, uint64_t begun)
{
	return errno == EINTR && (!p->patience || clock_ms() - begun < p->patience);
}

static ccs_status receive(struct procs *p, int fd, const struct procs_door *d)
{
	struct parcel x;
	uint64_t begun = clock_ms();
	struct cmsghdr *c;
	size_t got;
	ssize_t n;

	parcel_begin(&x);
	do
		n = recvmsg(fd, &x.m, MSG_CMSG_CLOEXEC);
	while (n < 0 && once_more(p, begun));
	if (n < 0)
		return not_shared(d, errno == EAGAIN ? "it does not answer" : strerror(errno));
	c = n ? CMSG_FIRSTHDR(&x.m) : NULL;
	got = c && c->cmsg_type == SCM_RIGHTS ? c->cmsg_len - CMSG_LEN(0) : 0;
	if (got && got <= sizeof(p->files))
		memcpy(p->files, CMSG_DATA(c), got);
	if (got == sizeof(p->files))
		return CCS_OK;
	return not_shared(d, n ? "no file descriptor is left (ulimit -n raises the limit)"
			       : "it has ended, or given up");
}

bool procs_file_holds(int file, uint64_t at, uint64_t bytes)
{
	struct stat st;

	return !fstat(file, &st) && at <= (uint64_t)st.st_size &&
	       bytes <= (uint64_t)st.st_size - at;
}

/* Whether a file is safe to map: it belongs to this user, and cannot shrink. */
static bool is_safe(int file)
{
	struct stat st;
	int seals = fcntl(file, F_GET_SEALS);

	return !fstat(file, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && seals >= 0 &&
	       seals & F_SEAL_SHRINK;
}

static ccs_status check_files(const struct procs *p, int nranks, const struct procs_door *d)
{
	for (int i = 0; i < NFILES; i++)
		if (!is_safe(p->files[i]))
			return not_shared(d, "it sent something other than fixed-size memory of "
					     "this user");
	return procs_file_holds(p->files[FILE_TABLE], 0, table_bytes(nranks))
		       ? CCS_OK
		       : not_shared(d, "it has a different number of ranks");
}

static ccs_status call_door(const struct procs *p, const struct procs_door *d, int *fd)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const struct timeval limit = { .tv_sec = p->patience / 1000,
				       .tv_usec = p->patience % 1000 * 1000 };
	uint64_t begun = clock_ms();
	int e;

	memcpy(at.sun_path, d->name, sizeof(d->name));
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return not_shared(d, strerror(errno));
	setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	do
		e = connect(*fd, (struct sockaddr *)&at,
			    offsetof(struct sockaddr_un, sun_path) + sizeof(d->name));
	while (e && once_more(p, begun));
	return e ? not_shared(d, strerror(errno)) : check_giver(*fd, d);
}

ccs_status procs_files_take(struct procs *p, int nranks, const struct procs_door *d)
{
	int fd;
	ccs_status s = call_door(p, d, &fd);

	p->token = d->token;
	if (!s)
		s = receive(p, fd, d);
	if (fd >= 0)
		close(fd);
	if (!s)
		s = check_files(p, nranks, d);
	if (!s)
		s = map_table(p, nranks);
	if (!s && p->table->token != p->token)
		s = not_shared(d, "it has ended");
	return s;
}

/* ---- ending -------------------------------------------------------------------------------- */

void procs_door_close(struct procs *p)
{
	if (p->caller >= 0)
		close(p->caller);
	if (p->door >= 0)
		close(p->door);
	p->caller = p->door = -1;
}

void procs_files_close(struct procs *p)
{
	procs_door_close(p);
	if (p->table)
		munmap(p->table, p->table_bytes);
	for (int i = 0; i < NFILES; i++)
		if (p->files[i] >= 0)
			close(p->files[i]);
}
