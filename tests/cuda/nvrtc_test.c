/*
 * Every schedule's kernels, compiled by NVRTC as ccc and libccs compile them.
 *
 * In: modules that hold their CUDA source. Required of each kernel: NVRTC prints
 * nothing, and the CUBIN is for the requested GPU and has the entry
 * ccs_kernel. Float32 sum on sm_90 also spills no register, by the assembler's
 * report. This is checked with NVRTC 13 only, since another version may spill elsewhere, and not for kernels
 * that find cells by a table (CCS_LAYOUTS), where the additional work is in no inner loop.
 *
 * Which kernels. All of them are schedules x protocols x GPUs x types x operators,
 * some thousands at about a second each. The short run takes each schedule once in each
 * protocol, on GPUs by turns, and on another GPU where that shows a pair for the first time.
 * Protocol, type and operator are chosen one kernel after the other, each time so that
 * most pairs are seen for the first time. It fails unless every (schedule, protocol),
 * (type, protocol), (operator, protocol), (type, GPU) and (operator, GPU) was seen.
 *
 * Spills. What a schedule adds to the header are kinds of operations, ccs_run<KIND>. The short
 * run has float32 sum on sm_90, in each protocol, of few schedules that have all kinds between
 * them, with as little text as can be. --long: of every schedule that reduces.
 *
 * How far they are compiled. The short run optimises one kernel of each protocol on each GPU
 * as users get it, and all kernels whose spills are counted. The rest are optimised
 * little: NVRTC's messages about a source are the same then, in a third of the time. A
 * kernel that shows no new pair only tests its schedule's text. That has no
 * assembly, and is compiled to PTX, in a quarter of that time: only the header has text that the
 * assembler could refuse, and the kernels of the pairs test the header.
 * --long: every schedule on all GPUs, each kernel as users get it.
 *
 * For LL a schedule adds nothing to the header. Hence two schedules may have the same text there;
 * texts are compared, and equal ones are compiled once for a key and GPU. A kernel that shows
 * nothing new is chosen from these. O(kernels x (kernels + keys)), without NVRTC's time.
 *
 * usage: nvrtc_test [--long | --full] MODULE.so...
 */
#include "runtime/cuda/device/args.h"
#include "runtime/plan/cells.h"
#include "runtime/plan/kernel.h"
#include "tests/support/kernel_code.h"
#include "tests/support/say.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NARCHS = 3, MAX_THREADS = 64 };
static const int ARCH[NARCHS] = { 80, 90, 100 };

enum depth { WHOLE, LITTLE, TEXT }; /* as users get it; optimised little; to PTX */

struct job {
	const char *source;
	int module; /* which; -1: a control */
	int arch;   /* of ARCH */
	struct kernel_key key;
	size_t same; /* the first job with this text, GPU and key: it is compiled for all */
	bool report; /* with the assembler's report: no spills */
	bool shows;  /* a pair for the first time */
	enum depth depth;
	char why[1500]; /* "": as it must be */
};

struct jobs {
	const struct nvrtc *nvrtc;
	struct job *v;
	size_t n, room;
	atomic_size_t next;
};

static int failed;

/* ---- one kernel ------------------------------------------------------------------- */

static void compile(const struct nvrtc *n, struct job *j)
{
	struct nvrtc_arch arch = { ARCH[j->arch], 0 };
	unsigned flags = (j->report ? KERNEL_REPORT : 0) | (j->depth != WHOLE ? KERNEL_QUICK : 0) |
			 (j->depth == TEXT ? KERNEL_PTX : 0);
	struct nvrtc_output o;

	if (kernel_compile(n, j->source, &j->key, arch, flags, &o)) {
		long spills = j->report ? kernel_code_spills(o.log) : 0;

		if (!kernel_code_right(&o, ARCH[j->arch], j->depth == TEXT, j->why, sizeof(j->why)))
			; /* it says so */
		else if (spills < 0)
			snprintf(j->why, sizeof(j->why), "NVRTC does not tell of spills");
		else if (spills)
			snprintf(j->why, sizeof(j->why), "it spills %ld bytes of registers",
				 spills);
	} else {
		snprintf(j->why, sizeof(j->why), "NVRTC refuses it: %.1400s",
			 o.log ? o.log : "out of memory");
	}
	free(o.data);
	free(o.log);
}

static void *compile_some(void *arg)
{
	struct jobs *q = arg;
	size_t i;

	while ((i = atomic_fetch_add(&q->next, 1)) < q->n)
		if (q->v[i].same == i)
			compile(q->nvrtc, q->v + i);
	return NULL;
}

static void compile_all(struct jobs *q)
{
	pthread_t threads[MAX_THREADS];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int n = 0;

	while (n < MAX_THREADS && n + 1 < cores &&
	       !pthread_create(&threads[n], NULL, compile_some, q))
		n++;
	compile_some(q);
	while (n)
		pthread_join(threads[--n], NULL);
	for (size_t i = 0; i < q->n; i++)
		memcpy(q->v[i].why, q->v[q->v[i].same].why, sizeof(q->v[i].why));
}

/* ---- kernels that are one ---------------------------------------------------------- */

static bool same_kernel(const struct job *a, const struct job *b)
{
	return a->arch == b->arch && a->report == b->report && a->key.type == b->key.type &&
	       a->key.op == b->key.op && a->key.protocol == b->key.protocol &&
	       a->key.protocol == CCS_LL && kernel_code_same_ll(a->source, b->source);
}

/* The first job that compiles what j asks for; q->n: none yet. */
static size_t find_same(const struct jobs *q, const struct job *j)
{
	size_t i = 0;

	while (i < q->n && !same_kernel(q->v + i, j))
		i++;
	return i;
}

static void add(struct jobs *q, const struct job *j)
{
	size_t same = find_same(q, j);

	if (q->n == q->room) {
		q->room = 2 * q->room + 64;
		q->v = realloc(q->v, q->room * sizeof(*q->v));
		if (!q->v)
			abort();
	}
	q->v[q->n] = *j;
	q->v[q->n++].same = same;
}

/* ---- which kernels ---------------------------------------------------------------- */

/* Which kernels are compiled. */
enum extent {
	SHORT, /* kernels that show something new, most of them optimised little */
	LONG,  /* for all GPUs, as users get them */
	FULL   /* every type and operator */
};

/* Pairs that were seen. */
struct seen {
	bool type_protocol[CCS_NDTYPES][CCS_NPROTOCOLS];
	bool op_protocol[KERNEL_NOPS][CCS_NPROTOCOLS];
	bool type_arch[CCS_NDTYPES][NARCHS];
	bool op_arch[KERNEL_NOPS][NARCHS];
	bool type_op[CCS_NDTYPES][KERNEL_NOPS];
	bool protocol[CCS_NPROTOCOLS]; /* of this module */
};

/* All keys of a module, one after the other: each number once. */
static bool key_at(const struct ccs_module *m, uint32_t i, struct kernel_key *k)
{
	*k = (struct kernel_key){ i / KERNEL_NOPS % CCS_NDTYPES, i % KERNEL_NOPS,
				  i / KERNEL_NOPS / CCS_NDTYPES, 0 };
	struct kernel_key real = kernel_key_of(m->head->flags, (ccs_dtype)k->type, k->op,
					       (enum ccs_protocol)k->protocol);
	return real.type == k->type && real.op == k->op;
}
enum { NKEYS = (int)(CCS_NDTYPES * KERNEL_NOPS * CCS_NPROTOCOLS) };

static bool reduces(const struct ccs_module *m)
{
	return m->head->flags & CCS_MODULE_REDUCES;
}

/* Whether its sums must do without spills. */
static bool has_sums(const struct ccs_module *m)
{
	return reduces(m) && !cells_laid_out(m);
}

/* Whether a kernel must. */
static bool looked_at(const struct nvrtc *n, const struct ccs_module *m, const struct job *j)
{
	return n->major == 13 && has_sums(m) && ARCH[j->arch] == 90 && j->key.type == CCS_FLOAT32 &&
	       j->key.op == CCS_SUM;
}

/* Pairs that must be seen, with their weights: 0, or MUST and more. */
enum { MUST = 30 };
static int new_pairs(const struct seen *s, const struct job *j)
{
	const struct kernel_key *k = &j->key;

	return 40 * !s->type_protocol[k->type][k->protocol] +
	       40 * !s->op_protocol[k->op][k->protocol] + MUST * !s->type_arch[k->type][j->arch] +
	       MUST * !s->op_arch[k->op][j->arch];
}

/* What must be seen (MUST or more); then what costs nothing, or little; then types with
 * operators. */
static int news(const struct seen *s, const struct jobs *q, const struct job *j)
{
	const struct kernel_key *k = &j->key;

	return 1000 * !s->protocol[k->protocol] + new_pairs(s, j) + 10 * (find_same(q, j) < q->n) +
	       5 * (k->protocol == CCS_LL) + !s->type_op[k->type][k->op];
}

static void see(struct seen *s, const struct kernel_key *k, int arch)
{
	s->protocol[k->protocol] = s->type_protocol[k->type][k->protocol] = true;
	s->op_protocol[k->op][k->protocol] = s->type_arch[k->type][arch] = true;
	s->op_arch[k->op][arch] = s->type_op[k->type][k->op] = true;
}

/* Adds a module's kernel for a GPU. */
static void add_key(struct jobs *q, const struct ccs_module *m, struct job *j, struct seen *s)
{
	j->report = looked_at(q->nvrtc, m, j);
	j->shows = new_pairs(s, j) > 0;
	see(s, &j->key, j->arch);
	add(q, j);
}

static void add_all_keys(struct jobs *q, const struct ccs_module *m, struct job j, struct seen *s)
{
	for (uint32_t i = 0; i < NKEYS; i++)
		if (key_at(m, i, &j.key))
			add_key(q, m, &j, s);
}

/* The key for this module and GPU that shows the most; returns how much (news). */
static int choose(const struct jobs *q, const struct ccs_module *m, const struct seen *s,
		  struct job j, struct kernel_key *best)
{
	int most = -1;

	for (uint32_t i = 0; i < NKEYS; i++) {
		if (!key_at(m, i, &j.key))
			continue;
		j.report = looked_at(q->nvrtc, m, &j);
		if (news(s, q, &j) > most) {
			most = news(s, q, &j);
			*best = j.key;
		}
	}
	return most;
}

/* Float32 sum on sm_90 in each protocol: they are looked at for spills. */
static void add_sums(struct jobs *q, const struct ccs_module *m, struct job j, struct seen *s)
{
	for (uint32_t p = 0; p < CCS_NPROTOCOLS; p++) {
		j.key = (struct kernel_key){ CCS_FLOAT32, CCS_SUM, p, 0 };
		add_key(q, m, &j, s);
	}
}

/* ---- kinds of operations -------------------------------------------------------------- */

/* What stands in ccs_run<KIND>: each once, up to its > */
enum { MAX_KINDS = 64 };
struct kinds {
	const char *v[MAX_KINDS];
	size_t n;
};

static bool has_kind(const struct kinds *k, const char *kind)
{
	for (size_t i = 0; i < k->n; i++)
		if (!strncmp(k->v[i], kind, strcspn(kind, ">") + 1))
			return true;
	return false;
}

/* Those, and a source's. */
static struct kinds with_kinds(struct kinds k, const char *source)
{
	static const char run[] = "ccs_run<";

	while ((source = strstr(source, run))) {
		source += sizeof(run) - 1;
		if (has_kind(&k, source))
			continue;
		if (k.n == MAX_KINDS)
			abort();
		k.v[k.n++] = source;
	}
	return k;
}

/* How many kinds the marked schedules have between them. */
static size_t count_kinds(struct ccs_module *const *m, int n, const bool *marks)
{
	struct kinds k = { 0 };

	for (int i = 0; i < n; i++)
		if (marks[i])
			k = with_kinds(k, m[i]->cuda);
	return k.n;
}

/* The marked schedule with the most text below that length; -1: none. */
static int next_shorter(struct ccs_module *const *m, int n, const bool *marks, size_t than)
{
	int best = -1;

	for (int i = 0; i < n; i++) {
		size_t len = strlen(m[i]->cuda);

		if (marks[i] && len < than && (best < 0 || len > strlen(m[best]->cuda)))
			best = i;
	}
	return best;
}

/* Marks schedules that reduce and together have all kinds: starting with all of them, leaves out the ones
 * with the most text as long as the rest have as many kinds. */
static void cover_kinds(struct ccs_module *const *m, int n, bool *marks)
{
	size_t all, than = SIZE_MAX;
	int i;

	for (i = 0; i < n; i++)
		marks[i] = has_sums(m[i]);
	all = count_kinds(m, n, marks);
	while ((i = next_shorter(m, n, marks, than)) >= 0) {
		marks[i] = false;
		marks[i] = count_kinds(m, n, marks) < all;
		than = marks[i] ? strlen(m[i]->cuda) : than;
	}
}

/* ---- all schedules -------------------------------------------------------------------- */

/* Says which of a table's cells were not seen. `skip`: a row that no kernel has. */
static void all_seen(const char *what, const bool *cells, int rows, int columns, int skip)
{
	int missing = 0;

	for (int i = 0; i < rows * columns; i++)
		missing += i / columns != skip && !cells[i];
	failed |= !say(!missing, "every %s is among them%s", what, missing ? ": no" : "");
}

/* A module's kernels for a GPU: all, or one, in the short run only if it shows something. */
static void add_keys(struct jobs *q, const struct ccs_module *m, struct job j, enum extent extent,
		     struct seen *s)
{
	if (extent == FULL)
		add_all_keys(q, m, j, s);
	else if (choose(q, m, s, j, &j.key) >= MUST || extent == LONG)
		add_key(q, m, &j, s);
}

/* Of each protocol on each GPU one kernel is optimised as users get it: one that is looked at for
 * spills anyway, or the one with the least text. */
static void optimise_little(struct jobs *q)
{
	size_t whole[CCS_NPROTOCOLS][NARCHS] = { 0 }; /* number + 1 */

	for (size_t i = 0; i < q->n; i++) {
		struct job *j = q->v + i;
		size_t *w = &whole[j->key.protocol][j->arch];
		const struct job *other = *w ? q->v + *w - 1 : NULL;

		j->depth = j->report ? WHOLE : j->shows ? LITTLE : TEXT;
		if (j->same == i && (!other || j->report ||
				     (!other->report && strlen(j->source) < strlen(other->source))))
			*w = i + 1;
	}
	for (size_t i = 0; i < CCS_NPROTOCOLS * NARCHS; i++)
		if (whole[i / NARCHS][i % NARCHS])
			q->v[whole[i / NARCHS][i % NARCHS] - 1].depth = WHOLE;
}

/* The kernels of schedule i; `sums`: some are looked at for spills. */
static void cover_one(struct jobs *q, const struct ccs_module *m, int i, bool sums,
		      enum extent extent, struct seen *s)
{
	struct job j = { .source = m->cuda, .module = i };

	memset(s->protocol, 0, sizeof(s->protocol));
	for (int k = 0; k < NARCHS; k++) {
		j.arch = (i + k) % NARCHS;
		if (!nvrtc_knows(q->nvrtc, (struct nvrtc_arch){ ARCH[j.arch], 0 }))
			continue;
		if (sums && ARCH[j.arch] == 90)
			add_sums(q, m, j, s);
		add_keys(q, m, j, extent, s);
	}
}

static void cover(struct jobs *q, struct ccs_module *const *m, int n, enum extent extent)
{
	bool *sums = calloc((size_t)n, sizeof(*sums));
	struct seen s = { 0 };
	int missing = 0;

	if (!sums)
		abort();
	cover_kinds(m, n, sums);
	for (int i = 0; i < n; i++) {
		cover_one(q, m[i], i, extent == LONG ? has_sums(m[i]) : extent == SHORT && sums[i],
			  extent, &s);
		for (uint32_t p = 0; p < CCS_NPROTOCOLS; p++)
			missing += !s.protocol[p];
	}
	free(sums);
	if (extent == SHORT)
		optimise_little(q);
	failed |= !say(!missing, "every schedule in each protocol is among the kernels");
	/* avg is a sum's kernel */
	all_seen("type in each protocol", &s.type_protocol[0][0], CCS_NDTYPES, CCS_NPROTOCOLS, -1);
	all_seen("operator in each protocol", &s.op_protocol[0][0], KERNEL_NOPS, CCS_NPROTOCOLS,
		 CCS_AVG);
	for (int a = 0; a < NARCHS; a++)
		if (!nvrtc_knows(q->nvrtc, (struct nvrtc_arch){ ARCH[a], 0 })) {
			printf("skip - sm_%d: this NVRTC, %d.%d, does not know it\n", ARCH[a],
			       q->nvrtc->major, q->nvrtc->minor);
			return;
		}
	all_seen("type on each GPU", &s.type_arch[0][0], CCS_NDTYPES, NARCHS, -1);
	all_seen("operator on each GPU", &s.op_arch[0][0], KERNEL_NOPS, NARCHS, CCS_AVG);
}

/* ---- results ------------------------------------------------------------------------ */

static void tell(const struct jobs *q, struct ccs_module *const *m, int n)
{
	size_t reports[CCS_NPROTOCOLS] = { 0 }, compiled[TEXT + 1] = { 0 };
	char key[80];

	for (int i = 0; i < n; i++) {
		int kernels = 0, bad = 0;

		for (size_t k = 0; k < q->n; k++) {
			const struct job *j = q->v + k;

			if (j->module != i)
				continue;
			kernels++;
			reports[j->key.protocol] += j->report;
			if (!*j->why)
				continue;
			kernel_key_text(&j->key, key, sizeof(key));
			if (++bad <= 3)
				printf("# sm_%d, %s: %s\n", ARCH[j->arch], key, j->why);
		}
		failed |= !say(kernels && !bad, "%s: %d kernels, without a word of NVRTC's",
			       ccs_module_schedule(m[i]), kernels);
	}
	for (size_t k = 0; k < q->n; k++)
		compiled[q->v[k].depth] += q->v[k].same == k;
	printf("# %zu kernels; compiled are %zu as users get them, %zu optimised little, %zu to PTX\n",
	       q->n, compiled[WHOLE], compiled[LITTLE], compiled[TEXT]);
	if (q->nvrtc->major != 13)
		printf("skip - spills: looked for with NVRTC 13 only; this is %d.%d\n",
		       q->nvrtc->major, q->nvrtc->minor);
	else
		failed |= !say(reports[CCS_SIMPLE] && reports[CCS_LL],
			       "of these were looked at for spills: %zu of Simple, %zu of LL",
			       reports[CCS_SIMPLE], reports[CCS_LL]);
}

/* What must not pass, compiled so far. Each is a module's source with something done to it. */
static void control(const struct nvrtc *n, enum depth depth, const char *what, const char *before,
		    const char *source, const char *after, const char *pattern)
{
	size_t len = strlen(before) + strlen(source) + strlen(after) + 1;
	struct job j = { .module = -1,
			 .arch = 1,
			 .report = depth == WHOLE,
			 .depth = depth,
			 .key = { CCS_FLOAT32, CCS_SUM, CCS_LL } };
	char *text = malloc(len);

	if (!text)
		abort();
	snprintf(text, len, "%s%s%s", before, source, after);
	j.source = text;
	compile(n, &j);
	failed |= !say(strstr(j.why, pattern), "control: %s is noticed", what);
	if (!strstr(j.why, pattern))
		printf("# said: %s\n", *j.why ? j.why : "nothing");
	free(text);
}

/* More floats than 64 registers hold. */
static const char SPILLS[] =
	"extern \"C\" __global__ void __launch_bounds__(1024) ccs_kernel(float *p, int n)\n"
	"{\n"
	"	float a[96];\n"
	"	for (int i = 0; i < 96; i++)\n"
	"		a[i] = p[i * 1024 + threadIdx.x];\n"
	"	for (int k = 0; k < n; k++)\n"
	"		for (int i = 0; i < 96; i++)\n"
	"			a[i] = a[i] * a[(i * 7 + 3) % 96] + p[k];\n"
	"	for (int i = 0; i < 96; i++)\n"
	"		p[i * 1024 + threadIdx.x] = a[i];\n"
	"}\n";

/* Kernels are one only where the compiler would see no difference. */
static void same_controls(const char *source)
{
	static const char only_simple[] = "#if CCS_PROTO == CCS_DEV_SIMPLE\nint x;\n#endif\n";
	size_t len = strlen(source) + sizeof(only_simple) + 100;
	char *text = malloc(len);

	if (!text)
		abort();
	snprintf(text, len, "%s%s", source, "int x;\n");
	failed |= !say(!kernel_code_same_ll(source, text),
		       "control: one line more is another text for LL");
	snprintf(text, len, "%s%s", source, only_simple);
	failed |= !say(!kernel_code_same_ll(source, text),
		       "control: ... also where a line says for which protocol");
	snprintf(text, len, "// of another name\n%s", strchr(source, '\n') + 1);
	failed |= !say(kernel_code_same_ll(source, text),
		       "control: ... but the schedule's name is not");
	free(text);
}

static void controls(const struct nvrtc *n, const char *source)
{
	static const char another[] = "#define ccs_kernel another\n";

	same_controls(source);
	control(n, TEXT, "a mistake in the source", "", source, "\nint f() { return }\n",
		"refuses it");
	control(n, TEXT, "a warning", "", source, "\nvoid f() { int unused; }\n", "NVRTC says");
	control(n, TEXT, "another entry", another, source, "", "PTX has no entry");
	control(n, LITTLE, "... in a CUBIN", another, source, "", "CUBIN has no entry");
	control(n, LITTLE, "what the assembler refuses", "", source,
		"\n__global__ void f() { asm(\"cvt.none.f32.f16 0;\"); }\n", "refuses it");
	control(n, WHOLE, "a kernel that spills", "", SPILLS, "", "it spills");
}

static enum extent extent_of(const char *option)
{
	if (!strcmp(option, "--full"))
		return FULL;
	return strcmp(option, "--long") ? SHORT : LONG;
}

int main(int argc, char **argv)
{
	enum extent extent = extent_of(argc > 1 ? argv[1] : "");
	char **files = argv + 1 + (extent != SHORT);
	int n = argc - 1 - (extent != SHORT);
	struct ccs_module **m = calloc((size_t)n + 1, sizeof(struct ccs_module *));
	struct nvrtc nvrtc;
	struct jobs q = { .nvrtc = &nvrtc };
	char why[800];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!m || !n)
		return 2;
	if (!nvrtc_open(&nvrtc, why, sizeof(why))) {
		printf("skip - kernels of every schedule, by NVRTC: %s\n", why);
		return 0;
	}
	printf("# NVRTC %d.%d, %s\n", nvrtc.major, nvrtc.minor, nvrtc.path);
	for (int i = 0; i < n; i++)
		if (ccs_module_load(&m[i], files[i]) || !m[i]->cuda) {
			failed |= !say(false, "%s has its source: %s", files[i], ccs_error());
			return 1;
		}
	cover(&q, m, n, extent);
	compile_all(&q);
	tell(&q, m, n);
	controls(&nvrtc, m[0]->cuda);
	for (int i = 0; i < n; i++)
		ccs_module_free(m[i]);
	nvrtc_close(&nvrtc);
	free(q.v);
	free(m);
	return failed;
}
