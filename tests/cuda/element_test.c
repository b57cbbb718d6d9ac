/*
 * Narrow floats on a GPU: what NVRTC makes of cuda/device/element.h for it, executed (fake_cuda/
 * ptx.h), gives the CPU's bits. Of float8 all pairs of patterns are combined and scaled, of the
 * others all patterns with some: those at the ends of their ranges, and drawn ones. All patterns
 * are divided. Older GPUs have no conversions of float8, newer ones do: one of each; with --long
 * all types on all of them. Controls: instructions that round to another type, or subtract, are
 * found out. With --long it says how many instructions a thread takes for 16 bytes. usage: element_test [--long]
 */
#include "runtime/base/load/nvrtc.h"
#include "runtime/cpu/core/reduce.h"
#include "tests/fake_cuda/ptx.h"
#include "tests/support/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char device_source[];

/* By the kernel: units of x and y, into `to`. */
struct job {
	uint64_t x, y, to;
	uint32_t units, how, by, reserved;
};

enum { SCALE = 4, DIVIDE = 5 };

static const char kernel[] =
	"\n#line 1 \"element_test\"\n"
	"struct job { const ccs_vec *x, *y; ccs_vec *to; uint32_t units, how, by, reserved; };\n"
	"template <uint32_t op> CCS_FN ccs_vec made(const ccs_vec &x, const ccs_vec &y)\n"
	"{ return ccs_whole<ccs_type, op, ccs_type::has_pairs>::combine(x, y); }\n"
	"CCS_KERNEL ccs_kernel(const job j)\n"
	"{\n"
	"	for (uint32_t i = threadIdx.x; i < j.units; i += blockDim.x)\n"
	"		switch (j.how) {\n"
	"		case 0: j.to[i] = made<0>(j.x[i], j.y[i]); break;\n"
	"		case 1: j.to[i] = made<1>(j.x[i], j.y[i]); break;\n"
	"		case 2: j.to[i] = made<2>(j.x[i], j.y[i]); break;\n"
	"		case 3: j.to[i] = made<3>(j.x[i], j.y[i]); break;\n"
	"		case 4: j.to[i] = ccs_scale16(j.x[i], j.y[i]); break;\n"
	"		case 5: j.to[i] = ccs_divide16(j.x[i], j.by); break;\n"
	"		}\n"
	"}\n";

static void fail(const char *why)
{
	printf("Bail out! %s\n", why);
	exit(1);
}

/* ---- one type, one GPU ------------------------------------------------------------------- */

struct trial {
	ccs_dtype type;
	size_t size, n;			  /* bytes; patterns */
	unsigned char *x, *y, *gpu, *cpu; /* [n] of them */
	struct ptx *code;
};

/* The second text instead of the first one, which is as long. */
struct change {
	const char *from, *to;
};

static void replace(char *text, const struct change *c)
{
	bool any = false;

	for (char *at = text; (at = strstr(at, c->from)); at += strlen(c->from)) {
		memcpy(at, c->to, strlen(c->to));
		any = true;
	}
	if (!any)
		fail("what a control replaces is not there");
}

/* `change`: in the PTX; NULL: none. */
static struct ptx *compiled(const struct nvrtc *n, ccs_dtype type, int arch,
			    const struct change *change)
{
	char of[32], why[200], *text = malloc(strlen(device_source) + sizeof(kernel));
	const char *defines[] = { of, "CCS_OP=0", "CCS_PROTO=0", "CCS_THREADS=32" };
	struct nvrtc_job job = { .name = "element_test.cu",
				 .source = text,
				 .arch = { arch, 0 },
				 .defines = defines,
				 .ndefines = 4,
				 .ptx = true };
	struct nvrtc_output out;
	struct ptx *p;

	snprintf(of, sizeof(of), "CCS_TYPE=%u", (unsigned)type);
	if (!text)
		fail("out of memory");
	strcat(strcpy(text, device_source), kernel);
	if (!nvrtc_compile(n, &job, &out))
		fail(out.log ? out.log : "out of memory");
	if (change)
		replace(out.data, change);
	p = ptx_read(out.data, why, sizeof(why));
	if (!p)
		fail(why);
	free(text);
	free(out.data);
	free(out.log);
	return p;
}

/* Returns the instructions of a thread for a unit. */
static double by_gpu(const struct trial *t, uint32_t how, uint32_t by)
{
	struct job job = { .x = (uintptr_t)t->x,
			   .y = (uintptr_t)t->y,
			   .to = (uintptr_t)t->gpu,
			   .units = (uint32_t)(t->n * t->size / 16),
			   .how = how,
			   .by = by };
	struct ptx_range ranges[] = { { job.x, t->n * t->size },
				      { job.y, t->n * t->size },
				      { job.to, t->n * t->size } };
	struct ptx_launch l = { .code = t->code,
				.blocks = 1,
				.threads = 32,
				.params = &job,
				.bytes = sizeof(job),
				.ranges = ranges,
				.nranges = 3,
				.fail = fail,
				.patience = 60 };
	struct ptx_counts most, least;

	ptx_run(&l, &most, &least);
	return (double)most.instructions * l.threads / job.units;
}

static void by_cpu(const struct trial *t, uint32_t how, uint32_t by)
{
	const struct reduce *r = reduce_plain.types[t->type];
	size_t bytes = t->n * t->size;

	if (how < SCALE)
		r->combine[how](t->cpu, t->x, t->y, t->n);
	for (size_t i = 0; how == SCALE && i < bytes; i += t->size)
		r->scale(t->cpu + i, t->x + i, t->y + i, 1);
	if (how == DIVIDE) {
		memcpy(t->cpu, t->x, bytes);
		r->divide(t->cpu, t->n, by);
	}
}

/* Returns how many differ; prints the first. */
static unsigned long differing(const struct trial *t, uint32_t how, uint32_t by,
			       unsigned long before)
{
	unsigned long n = 0;

	by_gpu(t, how, by);
	by_cpu(t, how, by);
	for (size_t i = 0; i < t->n * t->size; i += t->size) {
		if (!memcmp(t->gpu + i, t->cpu + i, t->size))
			continue;
		if (!before && !n)
			printf("# %s, %s %u: %x and %x give %x, not %x\n", ccs_dtype_name(t->type),
			       how == SCALE    ? "scale"
			       : how == DIVIDE ? "divide"
					       : ccs_redop_name((ccs_redop)how),
			       by, t->x[i] | (t->size > 1) * t->x[i + t->size - 1] << 8,
			       t->y[i] | (t->size > 1) * t->y[i + t->size - 1] << 8,
			       t->gpu[i] | (t->size > 1) * t->gpu[i + t->size - 1] << 8,
			       t->cpu[i] | (t->size > 1) * t->cpu[i + t->size - 1] << 8);
		n++;
	}
	return n;
}

static void put(unsigned char *to, size_t size, unsigned bits)
{
	to[0] = (unsigned char)bits;
	if (size > 1)
		to[1] = (unsigned char)(bits >> 8);
}

/* x: all patterns, in their order. y: one for all; or, of 8 bits, all of them with all of x. */
static void fill(const struct trial *t, unsigned y)
{
	for (size_t i = 0; i < t->n; i++) {
		put(t->x + i * t->size, t->size, (unsigned)i);
		put(t->y + i * t->size, t->size, t->size == 1 ? (unsigned)(i >> 8) : y);
	}
}

/* Random pairs with exponents near one another, so that sums must be rounded. */
static void draw(const struct trial *t, struct rng *r, unsigned mantissa)
{
	for (size_t i = 0; i < t->n; i++) {
		unsigned x = (unsigned)rng_below(r, 0x10000);
		unsigned far = (unsigned)rng_below(r, 2 * (int)mantissa + 6) << mantissa;

		put(t->x + i * t->size, t->size, x);
		put(t->y + i * t->size, t->size,
		    ((x & 0x7fffu) > far ? x - far : x) ^
			    ((unsigned)rng_below(r, 0x10000) & 0x80ffu));
	}
}

static unsigned long trials(const struct trial *t, bool more, struct rng *r, bool control)
{
	static const unsigned special[] = { 0x0000, 0x8000, 0x0001, 0x3f80, 0x3c00, 0x7f7f,
					    0x7bff, 0x7f80, 0x7c00, 0x7fff, 0xff80, 0x0080 };
	unsigned long wrong = control; /* then none is printed */
	size_t n = t->size == 1 ? 1 : more ? sizeof(special) / sizeof(*special) : 3;

	for (size_t k = 0; k < n; k++) {
		fill(t, special[more ? k : (k * 5 + (size_t)rng_below(r, 5)) % 12]);
		for (uint32_t how = 0; how < DIVIDE; how++)
			wrong += differing(t, how, 0, wrong);
	}
	for (size_t k = 0; t->size > 1 && k < (more ? 64 : 1); k++) {
		draw(t, r, t->type == CCS_FLOAT16 ? 10 : 7);
		for (uint32_t how = 0; how < DIVIDE; how++)
			wrong += differing(t, how, 0, wrong);
	}
	fill(t, 0);
	for (uint32_t by = 2; by < (more ? 9 : 4); by++)
		wrong += differing(t, DIVIDE, by, wrong);
	return wrong - control;
}

/* ---- all --------------------------------------------------------------------------------- */

/* How many elements differ. */
static unsigned long run(const struct nvrtc *n, ccs_dtype type, int arch,
			 const struct change *change, bool more, struct rng *r)
{
	struct trial t = { .type = type, .size = ccs_dtype_size(type), .n = 65536 };
	unsigned char *memory = aligned_alloc(16, 4 * t.n * t.size);
	unsigned long wrong;

	if (!memory)
		fail("out of memory");
	t.x = memory;
	t.y = t.x + t.n * t.size;
	t.gpu = t.y + t.n * t.size;
	t.cpu = t.gpu + t.n * t.size;
	t.code = compiled(n, type, arch, change);
	wrong = trials(&t, more, r, change != NULL);
	if (more && !change)
		printf("# sum %.0f, maximum %.0f, scale %.0f instructions for 16 bytes\n",
		       by_gpu(&t, CCS_SUM, 0), by_gpu(&t, CCS_MAX, 0), by_gpu(&t, SCALE, 0));
	ptx_free(t.code);
	free(memory);
	return wrong;
}

static bool same(const struct nvrtc *n, ccs_dtype type, int arch, bool more, struct rng *r)
{
	unsigned long wrong = run(n, type, arch, NULL, more, r);

	printf("%sok - %s on sm_%d has the CPU's bits\n", wrong ? "not " : "", ccs_dtype_name(type),
	       arch);
	if (wrong)
		printf("# %lu differ\n", wrong);
	return !wrong;
}

static bool found_out(const struct nvrtc *n, ccs_dtype type, struct change change, struct rng *r)
{
	unsigned long wrong = run(n, type, 90, &change, false, r);

	printf("%sok - %s instead of %s is found out\n", wrong ? "" : "not ", change.to,
	       change.from);
	return wrong;
}

int main(int argc, char **argv)
{
	static const int archs[] = { 80, 90, 100 };
	static const struct {
		ccs_dtype type;
		int briefly[2];
	} types[] = { { CCS_FLOAT8E4M3, { 80, 90 } },
		      { CCS_FLOAT8E5M2, { 100, 0 } },
		      { CCS_BFLOAT16, { 90, 0 } },
		      { CCS_FLOAT16, { 80, 0 } } };
	bool more = argc > 1 && !strcmp(argv[1], "--long"), ok = true;
	const char *real = getenv("CCS_TEST_NVRTC"); /* as in support/lib.sh */
	struct rng r = { 1 };
	struct nvrtc nvrtc;
	char why[300];

	if (!real || !*real)
		unsetenv("CCS_NVRTC");
	else
		setenv("CCS_NVRTC", real, 1);
	if (!nvrtc_open(&nvrtc, why, sizeof(why))) {
		printf("skip - narrow floats of kernels: %s\n", why);
		return 0;
	}
	for (size_t k = 0; k < sizeof(types) / sizeof(*types); k++)
		for (size_t a = 0; a < sizeof(archs) / sizeof(*archs); a++)
			if (more || archs[a] == types[k].briefly[0] ||
			    archs[a] == types[k].briefly[1])
				ok &= same(&nvrtc, types[k].type, archs[a], more, &r);
	ok &= found_out(&nvrtc, CCS_FLOAT8E4M3,
			(struct change){ "satfinite.e4m3x2.f16x2", "satfinite.e5m2x2.f16x2" }, &r);
	ok &= found_out(&nvrtc, CCS_FLOAT16, (struct change){ "add.rn.f16x2 ", "sub.rn.f16x2 " },
			&r);
	nvrtc_close(&nvrtc);
	return !ok;
}
