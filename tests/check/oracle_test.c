/*
 * The checker against the referee of support/oracle.c.
 *
 *   oracle_test random COUNT SEED   random programs of 2-5 ranks, slots 0-3
 *   oracle_test small STRIDE        every program of 2 ranks x up to 3 operations
 *                                   (each STRIDE-th: 1 is all)
 *   oracle_test spin COUNT SEED     deadlock verdicts against SPIN
 *
 * Programs go to `ccc check` many to a file (all schedules of a file are
 * checked); the answers come back as JSON and are told apart by their lines.
 */
#include "tests/support/random_program.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 200 };

/* ---- asking the compiler -------------------------------------------------------- */

struct answer {
	int codes;
	int min_slots;
	bool has_slots;
};

static const char *ccc;
static char dir[] = "/tmp/ccs-oracle-XXXXXX";

static int code_bit(const char *code)
{
	static const struct {
		const char *code;
		int bit;
	} row[] = {
		{ "E0301", ERR_301 }, { "E0302", ERR_302 }, { "E0303", ERR_303 },
		{ "E0304", ERR_304 }, { "E0401", ERR_401 }, { "E0402", ERR_402 },
		{ "E0403", ERR_403 }, { "E0404", ERR_404 }, { "E0405", ERR_405 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (!strcmp(row[i].code, code))
			return row[i].bit;
	return 1 << 20; /* a code that no such program may have */
}

static int slots_of(json_t *v)
{
	return json_is_integer(v) ? (int)json_integer_value(v) : -1;
}

static void read_answer(const char *line, const int *first, int n, struct answer *a)
{
	json_t *o = json_loads(line, 0, NULL);
	const char *severity = json_string_value(json_object_get(o, "severity"));
	const char *code = json_string_value(json_object_get(o, "code"));
	const char *schedule = json_string_value(json_object_get(o, "schedule"));
	int at = (int)json_integer_value(json_object_get(o, "line")), i = n - 1;

	if (severity && !strcmp(severity, "report") && schedule) {
		i = atoi(schedule + 1);
		a[i].min_slots = slots_of(json_array_get(json_object_get(o, "min_slots"), 0));
		a[i].has_slots = true;
	} else if (severity && !strcmp(severity, "error")) {
		while (i > 0 && first[i] > at)
			i--;
		a[i].codes |= code ? code_bit(code) : 1 << 21;
		if (code && !strcmp(code, "E0304")) {
			a[i].min_slots = slots_of(json_object_get(o, "min_slots"));
			a[i].has_slots = true;
		}
	}
	json_decref(o);
}

/* All programs of a batch have the same number of ranks. */
static bool compiler_judges(const struct o_program *p, int n, int slots, struct answer *a)
{
	char file[64], command[256], *line = NULL;
	int first[BATCH], at = 1, status;
	size_t cap = 0;
	FILE *f;

	snprintf(file, sizeof(file), "%s/batch.ccs", dir);
	f = fopen(file, "w");
	if (!f)
		return false;
	for (int i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p%d", i);
		first[i] = at;
		at += oracle_write(&p[i], name, f);
	}
	fclose(f);
	memset(a, 0, (size_t)n * sizeof(*a));
	snprintf(command, sizeof(command),
		 "%s check %s -n %d --slots %d --max-errors=0 "
		 "--diagnostics-format=json 2>&1 >/dev/null",
		 ccc, file, p->nranks, slots);
	f = popen(command, "r");
	if (!f)
		return false;
	while (getline(&line, &cap, f) > 0)
		read_answer(line, first, n, a);
	free(line);
	status = pclose(f);
	return WIFEXITED(status) && WEXITSTATUS(status) <= 1;
}

static bool agrees(const struct o_verdict *v, const struct answer *a)
{
	int matching = ERR_301 | ERR_302 | ERR_303;

	if (v->codes & matching) /* what else is reported must be true */
		return (a->codes & matching) == (v->codes & matching) &&
		       !(a->codes & ~v->codes & ~matching);
	if (v->codes & (ERR_304 | ERR_402)) {
		if (a->codes != v->codes)
			return false;
	} else if (v->codes & ERR_401) {
		if (!(a->codes & ERR_401) || (a->codes & (ERR_304 | ERR_402 | matching)))
			return false;
	} else if (a->codes != v->codes) {
		return false;
	}
	return !a->has_slots || a->min_slots == v->min_slots;
}

/* Judges a batch; prints and counts the disagreements. */
static int disagreements(struct o_program *p, int n, int slots)
{
	static struct answer a[BATCH];
	int bad = 0;

	if (n == 0)
		return 0;
	if (!compiler_judges(p, n, slots, a)) {
		printf("not ok - ccc failed on a batch; see %s\n", dir);
		return n;
	}
	for (int i = 0; i < n; i++) {
		struct o_verdict v = oracle_judge(&p[i], slots);

		if (agrees(&v, &a[i]))
			continue;
		bad++;
		printf("# slots %d: referee codes %x min %d, compiler codes %x min %d\n", slots,
		       v.codes, v.min_slots, a[i].codes, a[i].has_slots ? a[i].min_slots : -2);
		oracle_write(&p[i], "p0", stdout);
	}
	return bad;
}

static void result(const char *what, long n, int bad)
{
	printf("%s - %s: %ld programs, %d disagreements\n", bad ? "not ok" : "ok", what, n, bad);
}

/* ---- the three runs ------------------------------------------------------------------ */

static int run_random(struct rng *g, long count)
{
	static struct o_program batch[MAX_RANKS + 1][4][BATCH];
	int n[MAX_RANKS + 1][4] = { 0 }, bad = 0, bits = 0, clean = 0;
	struct o_program p;

	for (long i = 0; i < count; i++) {
		int slots = rng_below(g, 4), codes, r;

		do
			random_program(g, &p);
		while (p.nops == 0 || p.nops > 14);
		random_contract(g, &p, slots);
		r = p.nranks;
		codes = oracle_judge(&p, slots).codes;
		bits |= codes;
		clean += !codes;
		batch[r][slots][n[r][slots]++] = p;
		if (n[r][slots] == BATCH) {
			bad += disagreements(batch[r][slots], BATCH, slots);
			n[r][slots] = 0;
		}
	}
	for (int r = 2; r <= MAX_RANKS; r++)
		for (int s = 0; s < 4; s++)
			bad += disagreements(batch[r][s], n[r][s], s);
	result("random programs against exhaustive search", count, bad);
	/* The programs must be worth it: every code occurs, and many have none. */
	if (count >= 5000)
		printf("%s - random programs have every code (%03x), and %d of %ld none\n",
		       bits == 511 && clean > count / 20 ? "ok" : "not ok", bits, clean, count);
	return bad;
}

/* Program k of all with up to 3 operations: what each is, and how they are grouped. */
static bool nth_rank(struct o_program *p, int rank, int k)
{
	int shapes[] = { 1, 4, 16 * 2, 64 * 4 }, len = 0, grouping;
	struct o_stmt *t = p->stmts[rank];

	while (len < 4 && k >= shapes[len])
		k -= shapes[len++];
	if (len == 4)
		return false;
	grouping = len > 1 ? k % (len == 2 ? 2 : 4) : 0;
	k /= len == 3 ? 4 : len == 2 ? 2 : 1;
	p->nstmts[rank] = 0;
	memset(t, 0, sizeof(p->stmts[rank]));
	for (int i = 0; i < len; i++, k /= 4) {
		struct o_op o = { .kind = k % 4 < 2 ? SEND : RECV,
				  .peer = 1 - rank,
				  .channel = k % 2,
				  .lo = i % 2,
				  .n = 1 };

		if (i && (grouping >> (i - 1) & 1)) {
			t[p->nstmts[rank] - 1].form = STEP;
			t[p->nstmts[rank] - 1].ops[0][t[p->nstmts[rank] - 1].nops[0]++] = o;
		} else {
			t[p->nstmts[rank]].nops[0] = 1;
			t[p->nstmts[rank]++].ops[0][0] = o;
		}
	}
	return true;
}

static int run_small(int stride)
{
	static struct o_program batch[BATCH];
	int n = 0, bad = 0, slots = 0;
	long count = 0, k = 0;
	struct o_program p;

	memset(&p, 0, sizeof(p));
	p.nranks = 2;
	for (int i = 0; nth_rank(&p, 0, i); i++)
		for (int j = 0; nth_rank(&p, 1, j); j++) {
			if (k++ % stride)
				continue;
			oracle_flatten(&p);
			batch[n++] = p;
			count++;
			if (n == BATCH) {
				bad += disagreements(batch, n, slots++ % 4);
				n = 0;
			}
		}
	bad += disagreements(batch, n, 1);
	result("every program of 2 ranks x up to 3 operations", count, bad);
	return bad;
}

enum { SPIN_OPS = 12, SPIN_BATCH = 50 };

/* A search costs little and its compilation much: one for all programs of the batch. */
static bool spin_compiles(const struct o_program *p, const int *slots, int n)
{
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command), "%s/m.pml", dir);
	f = fopen(command, "w");
	if (!f)
		return false;
	oracle_promela(p, slots, n, f);
	fclose(f);
	snprintf(command, sizeof(command),
		 "cd %s && spin -a m.pml >/dev/null && cc -O0 -w -DSAFETY -o pan pan.c", dir);
	return !system(command);
}

/* What the search finds in that program of the model; -1: it has failed. */
static int spin_deadlocks(int program)
{
	char command[256], line[256];
	int errors = -1;
	FILE *f;

	snprintf(command, sizeof(command), "cd %s && WHICH=%d ./pan -m20000 -w16 2>&1", dir,
		 program);
	f = popen(command, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		char *at = strstr(line, "errors: ");

		if (at)
			errors = atoi(at + 8);
	}
	return pclose(f) == 0 ? errors : -1;
}

/* The next program that SPIN and the compiler can both judge, and its slots. */
static int spin_program(struct rng *g, struct o_program *p)
{
	int slots;

	do {
		slots = rng_below(g, MAX_SLOTS + 1);
		random_program(g, p);
	} while (p->nops < 4 || p->nops > SPIN_OPS || (oracle_judge(p, slots).codes & ~ERR_304));
	return slots;
}

/* Compares the verdicts; counts programs that get stuck. -1: something has failed. */
static int spin_disagreements(const struct o_program *p, const int *slots, int n, int *stuck)
{
	struct answer a;
	int bad = 0;

	if (!spin_compiles(p, slots, n))
		return -1;
	for (int i = 0; i < n; i++) {
		int errors = spin_deadlocks(i);

		if (errors < 0 || !compiler_judges(p + i, 1, slots[i], &a))
			return -1;
		*stuck += errors > 0;
		if ((errors > 0) == !!(a.codes & ERR_304))
			continue;
		bad++;
		printf("# slots %d: SPIN says %d errors\n", slots[i], errors);
		oracle_write(p + i, "p0", stdout);
	}
	return bad;
}

static int run_spin(struct rng *g, long count)
{
	static struct o_program batch[SPIN_BATCH];
	int slots[SPIN_BATCH], n, bad = 0, stuck = 0;

	if (system("spin -V >/dev/null 2>&1")) {
		puts("skip - SPIN as referee: spin is not installed");
		return 0;
	}
	for (long i = 0; i < count; i += n) {
		int more;

		for (n = 0; n < SPIN_BATCH && i + n < count; n++)
			slots[n] = spin_program(g, batch + n);
		more = spin_disagreements(batch, slots, n, &stuck);
		if (more < 0) {
			printf("not ok - spin or ccc failed; see %s\n", dir);
			return 1;
		}
		bad += more;
	}
	printf("%s - deadlock verdicts against SPIN: %ld programs (%d deadlock), %d disagreements\n",
	       bad || !stuck ? "not ok" : "ok", count, stuck, bad);
	return bad;
}

int main(int argc, char **argv)
{
	char command[64];
	struct rng g = { 88172645463325252u };
	int bad;

	ccc = getenv("CCC") ? getenv("CCC") : "build/bin/ccc";
	if (argc > 3)
		g.state = strtoull(argv[3], NULL, 0) * 2 + 1;
	if (argc < 3 || !mkdtemp(dir)) {
		fputs("usage: oracle_test random|small|spin COUNT [SEED]\n", stderr);
		return 2;
	}
	bad = !strcmp(argv[1], "random")  ? run_random(&g, atol(argv[2]))
	      : !strcmp(argv[1], "small") ? run_small(atoi(argv[2]))
					  : run_spin(&g, atol(argv[2]));
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (!bad && system(command))
		return 1;
	return bad != 0;
}
