/*
 * Ranks that are processes, on a system that refuses memory, descriptors, or any one call: what
 * fails in one rank fails in all, with the reason, or they go on without.
 *
 * usage: procs_refused_test DIRECTORY-OF-MODULES
 */
#include "tests/support/refuse.h"
#include "tests/support/team.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N = 4, LONG = 100003 };

/* ---- what the system refuses ----------------------------------------------------------------- */

/* A call that is refused to one rank, before it joins or after. */
struct refusal {
	const char *what;
	int number, error, which, rank;
	bool after;
	const char *text; /* of the failure in all; NULL: it works */
};

static const struct refusal refusals[] = {
	{ "memory without a name, on rank 0", SYS_memfd_create, ENOSYS, REFUSE_EACH, 0, false,
	  "no shared memory" },
	{ "memory without a name, on rank 1", SYS_memfd_create, ENOSYS, REFUSE_EACH, 1, false,
	  NULL },
	{ "room in the table's file", SYS_ftruncate, ENOSPC, REFUSE_EACH, 0, false,
	  "no shared memory for 3 ranks: No space left" },
	{ "random numbers", SYS_getrandom, ENOSYS, REFUSE_EACH, 0, false, "no random number" },
	{ "mapping the table, on rank 0", SYS_mmap, ENOMEM, REFUSE_FILES, 0, false, "memory" },
	/* rank 2 may find that rank 0 has given up */
	{ "mapping the table, on rank 1", SYS_mmap, ENOMEM, REFUSE_FILES, 1, false, "rank " },
	{ "descriptors of processes", SYS_pidfd_open, ENOSYS, REFUSE_EACH, 1, false, NULL },
	{ "looking at cores", SYS_sched_getaffinity, EPERM, REFUSE_EACH, 1, false, NULL },
	{ "reading other processes", SYS_process_vm_readv, EPERM, REFUSE_EACH, 1, false, NULL },
	{ "reading other processes, later", SYS_process_vm_readv, EPERM, REFUSE_EACH, 1, true,
	  "rank 1 cannot read the memory of rank" },
	{ "futexes", SYS_futex, ENOSYS, REFUSE_EACH, 1, true, NULL },
	{ "room for a call", SYS_fallocate, ENOSPC, REFUSE_EACH, 1, true, "out of memory" },
	{ "mapping memory for a call", SYS_mmap, ENOMEM, REFUSE_FILES, 2, true, "out of memory" },
};

enum { JOIN_SOON = 20000 };

/* The one for whom it is refused may say it in other words. */
static bool fails(struct member *m, const struct refusal *f, ccs_status s)
{
	member_tell(m, s);
	if (s && (strstr(ccs_error(), f->text) || (!f->after && m->rank == f->rank)))
		return true;
	printf("# rank %d: %s: %s, not %s\n", m->rank, ccs_status_name(s), s ? ccs_error() : "",
	       f->text);
	return false;
}

static bool go_without(struct member *m)
{
	const struct refusal *f = m->of;
	struct ccs_module *ring = team_module("ring_allreduce");
	struct holdings before = holdings_now();
	int32_t *x = calloc(LONG, sizeof(*x));
	uint64_t begun = now_ms();
	bool ok = true;
	ccs_status s;

	if (m->rank == f->rank && !f->after)
		ok = refuse_call(f->number, f->error, f->which);
	s = member_join(m);
	if (f->after) /* and now all know who can read whom */
		ok = !s && member_sums(m, ring, x, 1) && member_meet(m, 1);
	if (m->rank == f->rank && f->after)
		ok = ok && refuse_call(f->number, f->error, f->which);
	if (f->text && !f->after)
		ok = fails(m, f, s) && !m->comm && ok;
	else
		ok = is(s, CCS_OK, NULL, "ccs_comm_init_procs") && ok;
	if (f->text && f->after)
		ok = fails(m, f, member_sum(m, ring, x, LONG)) &&
		     is(member_sum(m, ring, x, 1), CCS_EABORTED, f->text, "the next") && ok;
	if (!f->text)
		ok = ok && member_sums(m, ring, x, 10) && member_sums(m, ring, x, LONG) &&
		     member_sums(m, ring, x, 500);
	ccs_comm_free(m->comm);
	m->comm = NULL;
	ok = holdings_same(&before) && ok && now_ms() - begun < JOIN_SOON;
	ccs_module_free(ring);
	free(x);
	return ok;
}

static void test_refusals(void)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		struct refusal f = refusals[i];
		uint64_t begun = now_ms();

		say(team_run(3, go_without, &f), "the system refuses %s", f.what);
		if (getenv("VERBOSE"))
			printf("# %d ms\n", (int)(now_ms() - begun));
	}
}

/* Without its descriptor a process's end is still seen. */
static bool die_unseen(struct member *m)
{
	struct ccs_module *ring = team_module("ring_allreduce");
	int32_t x = 1;
	bool ok = m->rank != 0 || refuse_call(SYS_pidfd_open, EMFILE, REFUSE_EACH);

	ok = member_joins(m) && member_sums(m, ring, &x, 1) && member_meet(m, 1) && ok;
	if (m->rank == 1)
		_exit(0);
	ok = ok && is(member_sum(m, ring, &x, 1), CCS_EABORTED, "rank 1 (process ", "a call");
	ccs_module_free(ring);
	return ok;
}

/* ---- limits ------------------------------------------------------------------------------------- */

/* So many descriptors more, and not one. */
static bool limit_files(int more)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = (rlim_t)(holdings_now().files - 3 + more); /* ., .. and the directory */
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

/* As before: who checks for leaks needs some. */
static void limit_nothing(unsigned what)
{
	struct rlimit limit;

	getrlimit(what, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(what, &limit);
}

static bool join_with_few(struct member *m)
{
	const int *few = m->of;
	struct ccs_module *ring = team_module("ring_allreduce");
	struct holdings before = holdings_now();
	int32_t x = 1;
	uint64_t begun = now_ms();
	ccs_status s;
	bool ok = m->rank != few[0] || limit_files(few[1]);

	s = member_tell(m, member_join(m));
	m->told->number = s == CCS_OK;
	if (!s)
		ok = member_sums(m, ring, &x, 1) && ok;
	else
		ok = ok && !m->comm && *ccs_error();
	ccs_comm_free(m->comm);
	m->comm = NULL;
	if (m->rank == few[0])
		limit_nothing(RLIMIT_NOFILE);
	ccs_module_free(ring);
	return holdings_same(&before) && ok && now_ms() - begun < JOIN_SOON;
}

/* All of them join, or none. */
static bool joined_alike(const struct team *t, const int *few)
{
	bool alike = true;

	for (int r = 1; r < t->n; r++)
		alike = alike && t->told[r].number == t->told[0].number;
	for (int r = 0; !alike && r < t->n; r++)
		printf("# rank %d has %d descriptors more: rank %d: %s: %s\n", few[0], few[1], r,
		       ccs_status_name(t->told[r].status), t->told[r].text);
	return alike;
}

static void test_descriptors(void)
{
	for (int rank = 0; rank < 2; rank++) {
		bool ok = true;
		int joined = 0;

		for (int more = 0; more < 12; more++) {
			int few[] = { rank, more };
			struct team t = { .seconds = 1 };

			team_start(&t, 3, join_with_few, few);
			ok = team_end(&t, TEAM_ENOUGH) && joined_alike(&t, few) && ok;
			joined += t.told[0].number;
			team_free(&t);
		}
		say(ok && joined > 0 && joined < 12,
		    "few descriptors on rank %d: it fails in all, or in none", rank);
	}
}

/* The address space, as it is, and a little. */
static bool limit_memory(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	bool ok = f && fscanf(f, "%lu", &pages) == 1;
	struct rlimit limit = { .rlim_max = RLIM_INFINITY };

	if (f)
		fclose(f);
	limit.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + (512 << 10);
	return ok && !setrlimit(RLIMIT_AS, &limit);
}

static bool run_out_of_memory(struct member *m)
{
	struct ccs_module *bruck = team_module("bruck_all_to_all");
	size_t count = LONG, bytes = (size_t)m->n * count * 4;
	int32_t *x = malloc(bytes), *y = malloc(bytes);
	bool ok = member_joins(m);
	ccs_status s;

	memset(x, 1, bytes);
	memset(y, 1, bytes);
	ok = member_meet(m, 1) && ok;
	if (m->rank == 2)
		ok = limit_memory() && ok;
	s = ccs_run(bruck, x, y, count, CCS_INT32, CCS_SUM, 0, m->comm, NULL);
	limit_nothing(RLIMIT_AS);
	ok = ok && is(s, CCS_ENOMEM, "out of memory", "a call");
	ccs_comm_free(m->comm);
	m->comm = NULL;
	free(x);
	free(y);
	ccs_module_free(bruck);
	return ok;
}

static void test_limits(void)
{
	test_descriptors();
	say(team_run(N, run_out_of_memory, NULL), "no memory on one rank: it fails in all");
	say(team_run(3, die_unseen, NULL), "an end is seen without a descriptor, too");
}

int main(int argc, char **argv)
{
	setenv("MODULES", argc > 1 ? argv[1] : "build/tests/modules", 1);
	setenv("CCS_CROSS_MEMORY_DISABLE", "0", 1);
	test_refusals();
	test_limits();
	return 0;
}
