/*
 * A message that a process reads in its sender's memory, after the sender has failed, and has
 * written something else there: it is not told as received. Reading waits here for that.
 *
 * usage: late_read_test DIRECTORY-OF-MODULES
 */
#include "tests/support/team.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SENDER, RECEIVER, FAILING, N, COUNT = 50000, RIGHT = 7 };
enum { JOINED = 1, READING, RECEIVED }; /* the receiver's steps; before the first it may not read */
enum { FAILED = 1 };			/* the sender's */

/* The receiver, while its reading is to be late. */
static const struct member *late;

/* The C library's, before which the linker finds this one. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto,
			 const struct iovec *from, unsigned long nfrom, unsigned long flags)
{
	if (late) {
		member_step((struct member *)(uintptr_t)late, READING);
		member_await(late, SENDER, FAILED);
	}
	return syscall(SYS_process_vm_readv, pid, to, nto, from, nfrom, flags);
}

static bool sends(struct member *m, int32_t *x)
{
	ccs_status s;

	if (!member_await(m, RECEIVER, JOINED))
		return false;
	s = ccs_send(x, COUNT, CCS_INT32, RECEIVER, m->comm, NULL);
	memset(x, 0, COUNT * sizeof(*x));
	member_step(m, FAILED);
	return member_await(m, RECEIVER, RECEIVED) &&
	       is(s, CCS_ETIMEOUT, "no progress for 100 ms", "the sender");
}

static bool receives(struct member *m, int32_t *x)
{
	ccs_status s;

	member_step(m, JOINED);
	late = m;
	s = ccs_recv(x, COUNT, CCS_INT32, SENDER, m->comm, NULL);
	late = NULL;
	member_step(m, RECEIVED);
	return is(s, CCS_ETIMEOUT, "no progress for 100 ms", "the receiver");
}

static bool fails(struct member *m, struct ccs_module *ring, int32_t *x)
{
	if (!member_await(m, RECEIVER, READING))
		return false;
	ccs_comm_set_timeout(m->comm, 100);
	return is(member_sum(m, ring, x, 1), CCS_ETIMEOUT, "no progress", "a call of one rank");
}

static bool act(struct member *m)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	int32_t *x = malloc(COUNT * sizeof(*x));
	bool ok = ring && x && member_joins(m);

	for (int i = 0; x && i < COUNT; i++)
		x[i] = RIGHT;
	if (ok && m->rank == SENDER)
		ok = sends(m, x);
	else if (ok && m->rank == RECEIVER)
		ok = receives(m, x);
	else if (ok)
		ok = fails(m, ring, x);
	ccs_comm_free(m->comm);
	m->comm = NULL;
	ccs_module_free(ring);
	free(x);
	return ok;
}

int main(int argc, char **argv)
{
	setenv("MODULES", argc > 1 ? argv[1] : "build/tests/modules", 1);
	setenv("CCS_CROSS_MEMORY_DISABLE", "0", 1); /* read, whatever is quicker here */
	say(team_run(N, act, NULL), "a message that is read when its sender has failed fails, too");
	return 0;
}
