/*
 * Ranks that are processes: exchanges between calls, arguments, buffers of the caller, forks,
 * signals.
 *
 * usage: procs_edge_test DIRECTORY-OF-MODULES
 */
#include "tests/support/gather.h"
#include "tests/support/processes.h"
#include "tests/support/rng.h"
#include "tests/support/team.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 4, LONG = 100003 };

/* ---- arguments --------------------------------------------------------------------------------- */

static void test_arguments(void)
{
	static const struct {
		const char *what;
		struct ccs_procs p;
		const char *text;
	} wrong[] = {
		{ "a negative rank", { -1, 2, "x", NULL, 1 }, "rank -1" },
		{ "a rank that is too high", { 2, 2, "x", NULL, 1 }, "rank 2 of 2" },
		{ "no ranks", { 0, 0, "x", NULL, 1 }, "of 0" },
		{ "less than none", { 0, -3, "x", NULL, 1 }, "of -3" },
		{ "more than there can be", { 0, 1 << 30, "x", NULL, 1 }, "of 1073741824" },
		{ "neither job nor address", { 0, 2, NULL, NULL, 1 }, "a name of their job" },
		{ "an address without a port", { 0, 2, "x", "nowhere", 1 }, "nowhere" },
		{ "a port that there is not", { 0, 2, "x", "127.0.0.1:65536", 1 }, "65536" },
	};
	struct ccs_procs fine = { 0, 1, "x", NULL, 1 };
	struct ccs_comm *c;

	says(ccs_comm_init_procs(NULL, &fine), CCS_EINVAL, "comm is NULL", "no place for it");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		c = (struct ccs_comm *)&fine;
		says(ccs_comm_init_procs(&c, &wrong[i].p), CCS_EINVAL, wrong[i].text,
		     wrong[i].what);
		say(!c, "... and no communicator");
	}
	says(ccs_comm_init_procs(&c, NULL), CCS_EINVAL, "no launcher's variables",
	     "NULL, without a launcher");
}

/* As if a launcher had set it. */
static bool join_by_environment(struct member *m)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", m->rank);
	setenv("RANK", text, 1);
	setenv("LOCAL_RANK", text, 1);
	snprintf(text, sizeof(text), "%d", m->n);
	setenv("WORLD_SIZE", text, 1);
	setenv("LOCAL_WORLD_SIZE", text, 1);
	setenv("CCS_JOB_TOKEN", m->team->job, 1);
	return is(ccs_comm_init_procs(&m->comm, NULL), CCS_OK, NULL, "by the environment") &&
	       member_works(m, 10);
}

static bool join_by_address(struct member *m)
{
	struct ccs_procs p = { m->rank, m->n, NULL, m->of, TEAM_ENOUGH };

	return is(ccs_comm_init_procs(&m->comm, &p), CCS_OK, NULL, "by address") &&
	       member_works(m, 10);
}

/* Without descriptor 0 the system gives it to the library. */
static bool join_without_stdin(struct member *m)
{
	struct holdings before;

	close(0);
	before = holdings_now();
	if (!member_joins(m) || !member_works(m, LONG))
		return false;
	ccs_comm_free(m->comm);
	m->comm = NULL;
	return holdings_same(&before);
}

static bool describe(struct member *m)
{
	char text[200];

	return member_joins(m) && ccs_comm_rank(m->comm) == m->rank &&
	       ccs_comm_size(m->comm) == m->n && ccs_comm_device(m->comm) == -1 &&
	       !ccs_comm_nccl(m->comm) &&
	       is(ccs_comm_check(m->comm), CCS_OK, NULL, "ccs_comm_check") &&
	       is(ccs_comm_describe(m->comm, text, sizeof(text)), CCS_OK, NULL, "describe") &&
	       strstr(text, "processes on this host's CPU") && text[0] == '0' + m->n;
}

/* One is enough for a communicator. */
static bool be_alone(void)
{
	struct ccs_procs p = { 0, 1, NULL, NULL, 1 };
	struct holdings before = holdings_now();
	struct ccs_comm *c = NULL;
	int x = 7, all = 0;
	bool ok = is(ccs_comm_init_procs(&c, &p), CCS_OK, NULL, "a communicator of one") &&
		  is(ccs_comm_gather(c, &x, &all, sizeof(x)), CCS_OK, NULL, "gather") && all == 7 &&
		  ccs_comm_agree(c, CCS_OK) == CCS_OK && ccs_comm_agree(c, CCS_ENOMEM) &&
		  ccs_comm_size(c) == 1;

	ccs_comm_free(c);
	return holdings_same(&before) && ok;
}

/* ---- permissions of a process, and resources that it leaves open ---------------------------- */

enum { UNASKED = -1 };

/* Who may trace this process: PR_SET_PTRACER's last argument. */
static long tracer;

int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_PTRACER) { /* also where the system knows nothing of that */
		tracer = a[0] == PR_SET_PTRACER_ANY ? 1 : (long)a[0];
		syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
		return 0;
	}
	return (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

static bool permit(struct member *m)
{
	const bool off = m->of != NULL;
	const long while_there = off ? UNASKED : 1, then = off ? UNASKED : 0;
	struct ccs_comm *child = NULL;
	bool ok;

	tracer = UNASKED;
	if (off)
		setenv("CCS_CROSS_MEMORY_DISABLE", "1", 1);
	ok = member_joins(m) && tracer == while_there && member_works(m, LONG) &&
	     is(ccs_comm_split(m->comm, 0, 0, &child), CCS_OK, NULL, "a split");
	ccs_comm_free(m->comm);
	ok = ok && tracer == while_there;
	m->comm = child;
	ok = ok && member_works(m, LONG);
	ccs_comm_free(child);
	m->comm = NULL;
	return ok && tracer == then;
}

/* Descriptors that a program which is started from here would have, too. */
static int inherited(void)
{
	int n = 0;

	for (int fd = 3; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) == 0;
	return n;
}

static bool close_on_exec(struct member *m)
{
	int before = inherited();
	struct ccs_comm *child = NULL;
	void *at = NULL;
	bool ok = member_joins(m) &&
		  is(ccs_mem_alloc(m->comm, LONG, &at), CCS_OK, NULL, "memory") &&
		  is(ccs_comm_split(m->comm, 0, 0, &child), CCS_OK, NULL, "a split") &&
		  member_works(m, LONG) && holdings_now().files > 12;

	ok = ok && inherited() == before;
	ccs_comm_free(child);
	return ok;
}

/* ---- reads that are short --------------------------------------------------------------------- */

/* Bytes that the system reads at a time of another process's memory; 0: as many as it is asked for. */
static size_t read_most;

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto,
			 const struct iovec *from, unsigned long nfrom, unsigned long flags)
{
	struct iovec less = *to;

	if (!read_most || to->iov_len <= read_most)
		return syscall(SYS_process_vm_readv, pid, to, nto, from, nfrom, flags);
	less.iov_len = read_most;
	return syscall(SYS_process_vm_readv, pid, &less, 1, from, 1, flags);
}

/* A message continues where the last read ended; and a call with an incomplete chunk fails. */
static bool read_shortly(struct member *m)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	int32_t *x = calloc(LONG, sizeof(*x)), *y = calloc(LONG, sizeof(*y));
	bool ok;

	setenv("CCS_CROSS_MEMORY_DISABLE", "0", 1);
	ok = member_joins(m) && member_sums(m, ring, x, 1); /* all know who can read whom */
	read_most = 1000;
	for (int i = 0; i < LONG; i++)
		x[i] = i * (m->rank + 1);
	if (m->rank == 0)
		ok = ok && is(ccs_send(x, LONG, CCS_INT32, 1, m->comm, NULL), CCS_OK, NULL, "send");
	if (m->rank == 1)
		ok = ok && is(ccs_recv(y, LONG, CCS_INT32, 0, m->comm, NULL), CCS_OK, NULL, "recv");
	for (int i = 0; m->rank == 1 && i < LONG; i++)
		ok = ok && y[i] == i;
	ok = ok && is(member_sum(m, ring, x, LONG), CCS_ESYSTEM, "cannot read the memory of rank",
		      "a call");
	free(x);
	free(y);
	ccs_module_free(ring);
	return ok;
}

/* ---- a split that one rank does not finish --------------------------------------------------- */

enum { SPLIT_MS = 700 };

/* Rank 1 does not take rank 0's data before the other ranks have given up. */
static const struct member *dawdles;

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	for (int r = 0; dawdles && r < dawdles->n; r++)
		if (r != dawdles->rank)
			member_await(dawdles, r, 2);
	return syscall(SYS_recvmsg, fd, m, flags);
}

static bool split_late(struct member *m)
{
	struct ccs_comm *child = NULL;
	ccs_status s;
	bool ok = member_joins(m);

	ccs_comm_set_timeout(m->comm, SPLIT_MS);
	dawdles = m->rank == 1 ? m : NULL;
	s = ccs_comm_split(m->comm, 0, 0, &child);
	member_tell(m, s);
	member_step(m, 2);
	dawdles = NULL;
	return ok && !child && s &&
	       (m->rank == 1 ||
		is(s, CCS_ETIMEOUT, "has not attached its memory within 700 ms", "a split"));
}

static void test_joining(void)
{
	char address[32];

	snprintf(address, sizeof(address), "127.0.0.1:%d", free_port());
	say(team_run(N, join_by_environment, NULL), "ranks that a launcher tells who they are");
	say(team_run(N, join_by_address, address), "... that know an address");
	say(team_run(3, join_without_stdin, NULL), "... that have no stdin");
	say(team_run(N, describe, NULL), "what is told of them");
	say(be_alone(), "one process");
	say(team_run(N, permit, NULL),
	    "others may trace a process as long as it has a communicator");
	say(team_run(N, permit, &(int){ 1 }), "... and not where they read nothing");
	say(team_run(2, read_shortly, NULL), "a read of another's memory that is short");
	say(team_run(N, split_late, NULL), "a split ends with the timeout that was set");
	say(team_run(N, close_on_exec, NULL),
	    "a program that a rank starts has none of its descriptors");
}

/* ---- exchanges between ranks ---------------------------------------------------------------- */

static ccs_status gather(void *comm, const void *mine, void *all, size_t each)
{
	return ccs_comm_gather(comm, mine, all, each);
}

static bool member_gathers(const struct member *m, size_t each)
{
	return gathers(gather, m->comm, m->rank, m->n, each);
}

/* Some fail, or none: all learn of the first other, and who failed hears itself. */
static bool agrees(const struct member *m, unsigned failing)
{
	bool here = failing >> m->rank & 1;
	char text[CCS_TEXT];
	int first = 0;
	ccs_status s;

	memset(text, 'x', sizeof(text)); /* as long as a text can be */
	snprintf(text, 100, "what happened to %d", m->rank);
	text[strlen(text)] = ' ';
	text[CCS_TEXT - 1] = 0;
	s = ccs_comm_agree(m->comm, here ? ccs_error_set(CCS_ENOMEM, "%s", text) : CCS_OK);
	if (!failing)
		return is(s, CCS_OK, NULL, "agreeing");
	while (!(failing >> first & 1))
		first++;
	snprintf(text, sizeof(text), here ? "what happened to %d" : "rank %d: what happened to ",
		 here ? m->rank : first);
	return s && (!here || s == CCS_ENOMEM) && strstr(ccs_error(), text);
}

static bool tell(struct member *m)
{
	static const size_t sizes[] = { 0, 1, 8, 2047, 2048, 2049, 4096, 4097, 10000, 3, 65536 };
	bool ok = member_joins(m);

	for (size_t i = 0; ok && i < sizeof(sizes) / sizeof(*sizes); i++)
		ok = member_gathers(m, sizes[i]);
	for (unsigned failing = 0; ok && failing < 1u << m->n; failing++)
		ok = agrees(m, failing) && member_gathers(m, failing) && member_works(m, failing);
	return ok && is(ccs_comm_check(m->comm), CCS_OK, NULL, "ccs_comm_check");
}

/* Rank 1 leaves, or does nothing, while the other ranks exchange. */
static bool tell_nobody(struct member *m)
{
	const bool *leaves = m->of;
	bool ok = member_joins(m) && member_gathers(m, 10);
	uint64_t begun;
	char x[4 * N];

	ccs_comm_set_timeout(m->comm, 300);
	if (m->rank == 1 && *leaves)
		_exit(0);
	ok = member_meet(m, 1) && ok;
	begun = now_ms();
	if (m->rank != 1)
		ok = ok &&
		     is(ccs_comm_gather(m->comm, "abc", x, 4),
			*leaves ? CCS_EABORTED : CCS_ETIMEOUT, "rank 1", "ccs_comm_gather") &&
		     is(ccs_comm_agree(m->comm, CCS_OK), CCS_EABORTED, "rank 1", "ccs_comm_agree");
	return member_meet(m, 2) && ok && now_ms() - begun < 20000;
}

/* The same, but no rank waits for the one that has left. */
static bool tell_the_rest(struct member *m)
{
	char x[4 * N];
	bool ok = member_joins(m) && member_gathers(m, 10);

	if (m->rank == 1)
		_exit(0);
	return ok &&
	       is(ccs_comm_gather(m->comm, "abc", x, 4), CCS_EABORTED, "rank 1 (process ",
		  "ccs_comm_gather") &&
	       is(ccs_comm_check(m->comm), CCS_EABORTED, "rank 1", "ccs_comm_check") &&
	       is(ccs_comm_agree(m->comm, CCS_ENOMEM), CCS_ENOMEM, NULL, "a failure of its own");
}

/* One rank passes more bytes than the rest, or agrees while the rest gather: all ranks get the
 * same error, and continue. */
static bool tell_otherwise(struct member *m)
{
	char x[N * 300] = { 0 };
	bool last = m->rank == N - 1, ok = member_joins(m);

	for (int more = 0; ok && more < 2; more++)
		ok = is(ccs_comm_gather(m->comm, "abcdefg", x, last ? 7u - (unsigned)more : 8),
			CCS_EINVAL,
			more ? "rank 3 calls ccs_comm_gather with 6 bytes"
			     : "rank 0 calls ccs_comm_gather with 8 bytes; rank 3",
			"other lengths") &&
		     member_gathers(m, 10);
	return ok &&
	       is(last ? ccs_comm_agree(m->comm, CCS_OK) : ccs_comm_gather(m->comm, "abc", x, 4),
		  CCS_EINVAL, "rank 0 calls ccs_comm_gather; rank 3 calls ccs_comm_agree",
		  "other calls") &&
	       member_gathers(m, 10);
}

static void test_telling(void)
{
	bool leaves = false;

	say(team_run(N, tell, NULL) && team_run(2, tell, NULL),
	    "processes gather, and agree on failures");
	say(team_run(N, tell_otherwise, NULL), "... and are told which of them differs");
	say(team_run(N, tell_nobody, &leaves), "... but for one that does not");
	say(team_run(N, tell_the_rest, NULL), "... or has left");
}

/* ---- buffers of ccs_mem_alloc ------------------------------------------------------------------ */

enum { MANY = 70 /* more than a process has regions */ };

static bool use_buffers(struct member *m)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	struct holdings before = holdings_now();
	void *buffer[MANY], *none;
	bool ok = member_joins(m);

	for (int i = 0; ok && i < MANY; i++)
		ok = is(ccs_mem_alloc(m->comm, (size_t)LONG * 4, buffer + i), CCS_OK, NULL,
			"ccs_mem_alloc");
	for (int i = 0; ok && i < MANY; i += 3)
		ok = member_sums(m, ring, buffer[i], LONG) &&
		     member_sums(m, ring, buffer[MANY - 1 - i], 3000);
	ok = ok && is(ccs_mem_free(m->comm, buffer[5]), CCS_OK, NULL, "ccs_mem_free") &&
	     is(ccs_mem_free(m->comm, buffer[5]), CCS_EINVAL, "not memory of the communicator",
		"... twice") &&
	     is(ccs_mem_free(m->comm, &ok), CCS_EINVAL, "not memory of the communicator",
		"... of others'") &&
	     is(ccs_mem_free(m->comm, NULL), CCS_OK, NULL, "... of nothing") &&
	     is(ccs_mem_alloc(m->comm, 0, &none), CCS_OK, NULL, "no bytes") && none &&
	     is(ccs_mem_alloc(m->comm, SIZE_MAX, &none), CCS_ENOMEM, NULL, "all bytes") &&
	     is(ccs_mem_alloc(m->comm, (size_t)1 << 46, &none), CCS_ENOMEM, "no shared memory of",
		"more than any machine has") &&
	     is(ccs_mem_alloc(NULL, 1, &none), CCS_EINVAL, NULL, "without a communicator") &&
	     is(ccs_mem_alloc(m->comm, 1, NULL), CCS_EINVAL, NULL, "without a place") &&
	     member_sums(m, ring, buffer[4], LONG);
	ccs_comm_free(m->comm);
	m->comm = NULL;
	ccs_module_free(ring);
	return holdings_same(&before) && ok;
}

static bool broadcast(struct member *m, const struct ccs_module *chain, int32_t *x, size_t count,
		      int value)
{
	for (size_t i = 0; i < count; i++)
		x[i] = m->rank ? -1 : value + (int)i;
	if (!is(ccs_run(chain, x, x, count, CCS_INT32, CCS_SUM, 0, m->comm, NULL), CCS_OK, NULL,
		"a broadcast"))
		return false;
	for (size_t i = 0; i < count; i++)
		if (x[i] != value + (int)i) {
			printf("# rank %d: element %zu of %zu is %d, not %d\n", m->rank, i, count,
			       x[i], value + (int)i);
			return false;
		}
	return true;
}

/* Buffers come and go with each call, while slower ranks are still in the one before: what they
 * read must be the call's. */
static bool change_buffers(struct member *m)
{
	struct ccs_module *chain = team_module("chain_broadcast");
	struct rng g = { 88172645463325252u }, own = { 88172645463325252u + (unsigned)m->rank };
	bool ok = member_joins(m);

	for (int i = 0; ok && i < 600; i++) {
		bool is_short = rng_below(&g, 3) > 0;
		size_t count = (size_t)(is_short ? 1 + rng_below(&g, 50)
						 : 20000 + rng_below(&g, 3) * 20000);
		void *x = NULL;

		if (m->rank && rng_below(&own, 5) == 0)
			usleep((unsigned)rng_below(&own, 300));
		ok = is(ccs_mem_alloc(m->comm, count * 4, &x), CCS_OK, NULL, "ccs_mem_alloc") &&
		     broadcast(m, chain, x, count, i) &&
		     is(ccs_mem_free(m->comm, x), CCS_OK, NULL, "ccs_mem_free");
	}
	ccs_module_free(chain);
	return ok;
}

/* Rank 0 gives up and gets its buffer back: rank 1, which comes late, must not take the buffer's
 * new contents for the message. */
static bool come_late(struct member *m)
{
	const bool *own = m->of;
	struct ccs_module *chain = team_module("chain_broadcast");
	size_t bytes = (size_t)LONG * 4;
	void *x = NULL;
	ccs_status s;
	bool ok = member_joins(m) &&
		  (*own ? !ccs_mem_alloc(m->comm, bytes, &x) : !!(x = malloc(bytes)));

	ok = ok && broadcast(m, chain, x, LONG, 5) && member_meet(m, 1);
	ccs_comm_set_timeout(m->comm, m->rank ? 30000 : 200);
	if (m->rank)
		ok = ok && member_await(m, 0, 2);
	s = ccs_run(chain, x, x, LONG, CCS_INT32, CCS_SUM, 0, m->comm, NULL);
	ok = ok && is(s, CCS_ETIMEOUT, "rank 1 has not called", m->rank ? "too late" : "in vain");
	memset(x, 0, bytes);
	member_step(m, 2);
	if (*own)
		ccs_mem_free(m->comm, x);
	else
		free(x);
	ccs_module_free(chain);
	return ok;
}

static void test_buffers(void)
{
	bool own = true, others = false;

	for (int copies = 0; copies < 2; copies++) {
		if (copies)
			setenv("CCS_CROSS_MEMORY_DISABLE", "1", 1);
		say(team_run(3, use_buffers, NULL), "%d buffers that the communicator made%s", MANY,
		    copies ? ", with CCS_CROSS_MEMORY_DISABLE=1" : "");
		say(team_run(3, change_buffers, NULL), "... others in each call");
		say(team_run(2, come_late, &own), "... of a call that has failed");
	}
	setenv("CCS_CROSS_MEMORY_DISABLE", "0", 1);
	say(team_run(2, come_late, &others), "a buffer of one's own, of a call that has failed");
}

/* ---- forks ---------------------------------------------------------------------------------- */

/* What a child may do with the communicator, and what not. */
static int be_child(void *of, int index)
{
	static const char text[] = "was forked from the one that made the communicator";
	struct member *m = of;
	int32_t x = 1;
	char all[4 * N];
	void *p;
	bool ok = ccs_comm_rank(m->comm) == m->rank && ccs_comm_size(m->comm) == m->n &&
		  is(ccs_comm_check(m->comm), CCS_EABORTED, text, "ccs_comm_check") &&
		  is(ccs_comm_gather(m->comm, "abc", all, 4), CCS_EABORTED, text, "gather") &&
		  is(ccs_comm_agree(m->comm, CCS_OK), CCS_EABORTED, text, "agree") &&
		  is(ccs_mem_alloc(m->comm, 10, &p), CCS_EABORTED, text, "ccs_mem_alloc");
	struct ccs_module *ring = team_module("ring_allreduce");

	ok = ok && is(member_sum(m, ring, &x, 1), CCS_EABORTED, text, "a call");
	if (index == 0)
		ccs_comm_free(m->comm);
	ok = ok && (index || holdings_now().maps == 0);
	ccs_module_free(ring);
	return ok ? 0 : 1;
}

static bool have_children(struct member *m)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	struct holdings before = holdings_now();
	void *x = NULL;
	bool ok = member_joins(m) && !ccs_mem_alloc(m->comm, (size_t)LONG * 4, &x);

	for (int i = 0; ok && i < 3; i++)
		ok = member_sums(m, ring, x, LONG) && processes_run(2, be_child, m) &&
		     member_sums(m, ring, x, LONG) && member_gathers(m, 100);
	ok = ok && is(ccs_mem_free(m->comm, x), CCS_OK, NULL, "ccs_mem_free");
	ccs_comm_free(m->comm);
	m->comm = NULL;
	ccs_module_free(ring);
	return holdings_same(&before) && ok;
}

/* A child that lives longer does not keep its parent's seat. */
static bool leave_a_child(struct member *m)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	int32_t x = 1;
	bool ok = member_joins(m) && member_sums(m, ring, &x, 1) && member_meet(m, 1);

	if (m->rank == 1) {
		if (!fork()) {
			usleep(3000000);
			_exit(0);
		}
		_exit(0);
	}
	return ok && is(member_sum(m, ring, &x, 1), CCS_EABORTED, "rank 1 (process ", "a call") &&
	       (ccs_module_free(ring), true);
}

/* ---- groups and signals ------------------------------------------------------------------------ */

/* Calls on two communicators, in another order on each rank. */
static bool cross(struct member *m)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	struct member other = *m;
	bool ok = member_joins(m) && member_joins(&other);

	for (int i = 0; ok && i < 50; i++) {
		int32_t x = 1, y = 10;

		ccs_group_start();
		if (m->rank % 2)
			member_sum(m, ring, &x, 1);
		member_sum(&other, ring, &y, 1);
		if (m->rank % 2 == 0)
			member_sum(m, ring, &x, 1);
		ok = is(ccs_group_end(), CCS_OK, NULL, "a group") && x == m->n && y == 10 * m->n;
	}
	ccs_comm_free(other.comm);
	ccs_module_free(ring);
	return ok;
}

static void do_nothing(int signal)
{
	(void)signal;
}

/* As a profiler does. Each call needs more memory than those before. */
static bool be_interrupted(struct member *m)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction on = { .sa_handler = do_nothing };
	bool ok;

	sigaction(SIGALRM, &on, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	ok = member_joins(m);
	for (size_t count = 1; ok && count < 3000000; count = count * 3 + 1)
		ok = member_works(m, count) && member_gathers(m, count % 5000);
	setitimer(ITIMER_REAL, &never, NULL);
	return ok;
}

static void test_processes(void)
{
	say(team_run(3, have_children, NULL), "processes that fork");
	say(team_run(3, leave_a_child, NULL), "... and end before their children");
	say(team_run(2, cross, NULL) && team_run(3, cross, NULL),
	    "groups over two communicators, in any order");
	say(team_run(3, be_interrupted, NULL), "signals all the time");
}

int main(int argc, char **argv)
{
	setenv("MODULES", argc > 1 ? argv[1] : "build/tests/modules", 1);
	setenv("CCS_CROSS_MEMORY_DISABLE", "0", 1);
	test_arguments();
	test_joining();
	test_telling();
	test_buffers();
	test_processes();
	return 0;
}
