/*
 * The files that processes share: rank 0 gives them only to the right processes, all other ranks
 * take them only from rank 0, and check them before they map anything. Other users are simulated:
 * this program alters the system's data about the other end, or about a file.
 *
 * usage: procs_files_test
 */
#include "runtime/cpu/shm/procs.h"
#include "tests/support/peers.h"
#include "tests/support/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what the system says, altered ---------------------------------------------------------- */

static struct pretence {
	struct peers peer;
	bool unsealed;
	int too_many; /* number of times that too many descriptors are in flight */
} now;

static void pretend(struct pretence p)
{
	now = p;
	peers_pretend(p.peer);
}

int fcntl(int fd, int command, ...)
{
	va_list ap;
	long argument;

	va_start(ap, command);
	argument = va_arg(ap, long);
	va_end(ap);
	if (command == F_ADD_SEALS && now.unsealed)
		return 0;
	return (int)syscall(SYS_fcntl, fd, command, argument);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	if (now.too_many > 0) {
		now.too_many--;
		errno = ETOOMANYREFS;
		return -1;
	}
	return syscall(SYS_sendmsg, fd, m, flags);
}

/* ---- two processes -------------------------------------------------------------------------- */

enum { N = 2, PATIENCE = 20000 };

/* A communicator, as far as files go. */
struct end {
	struct world w;
	struct cpu e;
	struct procs p;
	struct procs_mapped mapped[N * (PROCS_REGIONS + 1)];
};

static void end_make(struct end *x, int rank)
{
	memset(x, 0, sizeof(*x));
	x->w.nranks = N;
	x->w.first = rank;
	x->w.state = &x->e;
	x->e.procs = &x->p;
	x->e.world = &x->w;
	x->p.patience = PATIENCE;
	x->p.door = x->p.caller = -1;
	x->p.mapped = x->mapped;
	for (int i = 0; i < NFILES; i++)
		x->p.files[i] = -1;
}

static void end_free(struct end *x)
{
	procs_unmap(&x->p, N);
	procs_files_close(&x->p);
}

static bool closes_on_exec(int fd)
{
	return syscall(SYS_fcntl, fd, F_GETFD) == FD_CLOEXEC;
}

struct taking {
	struct pretence giver, taker;
	int nranks;
	bool stranger;	 /* the taker is no rank */
	const char *why; /* it fails so; NULL: it has the files */
};

/* Runs in a separate process. */
static bool take(const struct taking *t, const struct procs_door *d)
{
	static struct end x;
	ccs_status s;
	bool ok;

	pretend(t->taker);
	end_make(&x, 1);
	s = procs_files_take(&x.p, t->nranks, d);
	ok = is(s, t->why ? CCS_ESYSTEM : CCS_OK, t->why, "taking");
	for (int i = 0; i < NFILES && !s; i++)
		ok = ok && closes_on_exec(x.p.files[i]) && x.p.files[i] >= 0;
	ok = ok && (s || x.p.table->token == d->token);
	end_free(&x);
	return ok;
}

static bool takes(const struct taking *t)
{
	static struct end x;
	struct procs_door d;
	int status = 0;
	pid_t child, over;
	bool ok;

	pretend(t->giver);
	end_make(&x, 0);
	if (!is(procs_files_make(&x.p, N), CCS_OK, NULL, "making"))
		return false;
	x.p.table->seats[0].pid = getpid();
	procs_files_tell(&x.p, &d);
	ok = closes_on_exec(x.p.door);
	fflush(NULL);
	child = fork();
	if (!child) {
		while (!atomic_load(&x.p.table->failing)) /* its number is in the table */
			;
		ok = take(t, &d);
		fflush(stdout);
		_exit(!ok);
	}
	x.p.table->seats[1].pid = t->stranger ? 1 : child;
	atomic_store(&x.p.table->failing, 1);
	while (!(over = waitpid(child, &status, WNOHANG)))
		ok = !procs_files_give(&x.w) && ok;
	end_free(&x);
	pretend((struct pretence){ 0 });
	return ok && over == child && !status;
}

static bool may_take(struct taking t)
{
	t.nranks = t.nranks ? t.nranks : N;
	return takes(&t);
}

static void test_taking(void)
{
	const char *ended = "it has ended, or given up", *taken = "has taken its place";
	const char *unsafe = "other than fixed-size memory of this user";

	say(may_take((struct taking){ 0 }), "a rank takes the files, and none outlives an exec");
	say(may_take((struct taking){ .giver.too_many = 5 }),
	    "... when others have as many under way as may be");
	say(may_take((struct taking){ .giver.peer.other_user = true, .why = ended }),
	    "another user's process gets none");
	say(may_take((struct taking){ .stranger = true, .why = ended }),
	    "... nor does one that is no rank");
	say(may_take((struct taking){ .taker.peer.other_user = true, .why = taken }),
	    "what another user gives is not taken");
	say(may_take((struct taking){ .taker.peer.pid = 1, .why = taken }),
	    "... nor what another process does");
	say(may_take((struct taking){ .taker.peer.other_owner = true, .why = unsafe }),
	    "... nor another user's file");
	say(may_take((struct taking){ .giver.unsealed = true, .why = unsafe }),
	    "... nor one that may be cut off");
	say(may_take((struct taking){ .nranks = 1000, .why = "a different number of ranks" }),
	    "... nor a table that is too short");
}

/* ---- regions -------------------------------------------------------------------------------- */

/* Where a region is, as its seat says. */
static unsigned char *find(struct end *x, uint64_t in_file, uint64_t bytes, uint64_t birth)
{
	x->p.table->seats[1].regions[0] = (struct procs_region){ 1 << 20, bytes, birth, in_file };
	return procs_place(&x->p, 1, 1 << 20, 1);
}

static void test_regions(void)
{
	static struct end x;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned char *at;
	void *own = NULL;
	struct stat st;
	bool ok;

	end_make(&x, 0);
	ok = !procs_files_make(&x.p, N);
	x.p.own = x.p.table->seats;
	ok = ok && !procs_alloc(&x.w, 3 * page, &own);
	memset(own, 7, 3 * page);
	at = find(&x, page, 2 * page, 1);
	say(ok && at && at[2 * page - 1] == 7, "a region is mapped where its seat says");
	say(!find(&x, 2 * page, 2 * page, 2) && !find(&x, 4 * page, 1, 3) &&
		    !find(&x, UINT64_MAX - page + 1, 2 * page, 4) && !find(&x, 0, UINT64_MAX, 5),
	    "... but not beyond the file's end");
	ok = !ftruncate(x.p.files[FILE_BUFFERS], 0);
	say(!ok && errno == EPERM, "... which stays where it is");
	origin_set(&x.w.origin);
	procs_release(&x.w, own, 3 * page);
	ok = !fstat(x.p.files[FILE_BUFFERS], &st) && !st.st_blocks;
	say(ok && st.st_size == (off_t)(3 * page), "what is freed takes no memory");
	ok = !procs_alloc(&x.w, page, &own) && x.p.own->regions[0].in_file == 3 * page;
	say(ok, "... and its place in the file is not used again");
	procs_release(&x.w, own, page);
	end_free(&x);
	origin_free(&x.w.origin);
}

int main(void)
{
	test_taking();
	test_regions();
	return 0;
}
