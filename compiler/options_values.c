/*
 * The values of ccc's options, from text: lists of numbers, names, tables. Each reader belongs to a
 * row of the table of options (options.c); an invalid value is an error that names the valid ones.
 * O(text), and O(n log n) for n numbers.
 */
#include "compiler/options.h"

#include "runtime/base/size.h"
#include "runtime/plan/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_NUMBER_LIST 4096u

/* A decimal number of digits only, at `*s`, at most `most`. */
static bool number(const char **s, uint64_t most, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)**s))
		return false;
	*value = strtoull(*s, &end, 10);
	*s = end;
	return *value <= most;
}

bool options_number(const char *s, uint64_t most, uint64_t *value)
{
	return number(&s, most, value) && *s == '\0';
}

void options_add_text(struct command *c, struct texts *list, const char *text)
{
	ARENA_PUSH(&c->arena, list->v, list->n, list->cap) = text;
}

int options_output(struct command *c, const char *text)
{
	c->options.output = text;
	if (*text)
		return -1;
	return options_error("-o needs the name of a file");
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

int options_numbers(struct command *c, const char *takes, const char *text, uint64_t least,
		    uint64_t most, struct numbers *list)
{
	uint32_t *v = (uint32_t *)(uintptr_t)list->v;
	size_t n = list->n, cap = n, k = 0;

	for (const char *s = text;; s++) {
		uint64_t lo, hi;
		bool ok = number(&s, most, &lo);
		hi = lo;
		if (ok && s[0] == '.' && s[1] == '.') {
			s += 2;
			ok = number(&s, most, &hi);
		}
		if (ok && hi < lo)
			return options_error("%" PRIu64 "..%" PRIu64 " goes backwards: %" PRIu64
					     "..%" PRIu64 " is from %" PRIu64 " to %" PRIu64,
					     lo, hi, hi, lo, hi, lo);
		if (!ok || lo < least || n + (hi - lo + 1) > LIMIT_NUMBER_LIST ||
		    (*s != '\0' && *s != ','))
			return options_error("%s, not '%s'", takes, text);
		for (uint64_t i = lo; i <= hi; i++)
			ARENA_PUSH(&c->arena, v, n, cap) = (uint32_t)i;
		if (*s == '\0')
			break;
	}
	qsort(v, n, sizeof(*v), compare_numbers);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || v[i] != v[k - 1])
			v[k++] = v[i];
	*list = (struct numbers){ v, k };
	return -1;
}

int options_ranks(struct command *c, const char *text)
{
	if (!strcmp(text, "p")) /* mpirun's -np 4, as getopt reads it */
		return options_unknown("unknown option", "-np", NULL, 0);
	const char *takes =
		arena_printf(&c->arena,
			     "-n takes numbers of ranks from 1 to %u, such as 4, 2,4,8 or 2..16, "
			     "and at most %u of them",
			     LIMIT_RANKS, LIMIT_NUMBER_LIST);
	return options_numbers(c, takes, text, 1, LIMIT_RANKS, &c->options.ranks);
}

int options_slots(struct command *c, const char *text)
{
	const uint64_t most = 65536;
	uint64_t n = 0;

	if (strcmp(text, "nccl") != 0 && strcmp(text, "mpi") != 0 &&
	    !options_number(text, most, &n))
		return options_error("--slots takes a number from 0 to %" PRIu64
				     ", or nccl or mpi, which are 0, not '%s'",
				     most, text);
	c->options.slots = (uint32_t)n;
	c->options.slots_given = true;
	return -1;
}

int options_work(struct command *c, const char *text)
{
	static const char kinds[] = "FBIW"; /* enum pipe_kind */
	double *work = c->options.work;

	work[0] = work[1] = work[2] = work[3] = -1;
	for (const char *s = text;; s++) {
		const char *kind = *s ? strchr(kinds, *s) : NULL;
		char *end = NULL;
		double us = kind && s[1] == '=' && isdigit((unsigned char)s[2])
				    ? strtod(s + 2, &end)
				    : -1;

		if (!end || us > 1e12 || work[kind - kinds] >= 0 || (*end && *end != ','))
			return options_error(
				"--work takes the microseconds of a forward, and of the two halves of a "
				"backward, such as F=800,I=800,W=800, or of a whole one, B=1600, not '%s'",
				text);
		work[kind - kinds] = us;
		s = end;
		if (!*s)
			break;
	}
	for (int k = 0; k < 4; k++)
		work[k] = work[k] < 0 && k != 1 ? 1 : work[k];
	if (work[1] < 0)
		work[1] = work[2] + work[3];
	c->options.work_given = true;
	return -1;
}

int options_bytes(const char *option, const char *text, uint64_t *bytes)
{
	const char *s = text;

	if (!size_read(&s, bytes) && !*s)
		return -1;
	return options_error("%s takes bytes, such as 4194304, 512K or 4M, not '%s'", option, text);
}

static void add_setting(struct command *c, const char *name, int64_t value)
{
	struct options *o = &c->options;

	ARENA_PUSH(&c->arena, o->settings, o->nsettings, c->capsettings) =
		(struct setting){ .name = name, .value = value };
}

int options_define(struct command *c, const char *text)
{
	const char *eq = strchr(text, '=');
	char *end = NULL;
	bool ok = eq && (isalpha((unsigned char)*text) || *text == '_');

	for (const char *p = text; ok && p < eq; p++)
		ok = isalnum((unsigned char)*p) || *p == '_';
	errno = 0;
	long long value = ok ? strtoll(eq + 1, &end, 0) : 0;
	if (!ok || end == eq + 1 || *end || errno || isspace((unsigned char)eq[1]))
		return options_error("-D takes NAME=NUMBER, not '%s'", text);
	add_setting(c, arena_strndup(&c->arena, text, (size_t)(eq - text)), value);
	return -1;
}

int options_root(struct command *c, const char *text)
{
	uint64_t root;

	if (!options_number(text, LIMIT_RANKS - 1, &root))
		return options_error("--root takes a rank from 0 to %u, not '%s'", LIMIT_RANKS - 1,
				     text);
	add_setting(c, NULL, (int64_t)root);
	return -1;
}

const char *const options_targets[] = { "cpu", "cuda", NULL };

int options_target(struct command *c, const char *text)
{
	bool cuda = false;

	for (const char *s = text;; s++) {
		size_t n = strcspn(s, ",");
		if (n == 4 && !strncmp(s, "cuda", n))
			cuda = true;
		else if (n == 3 && !strncmp(s, "gpu", n))
			return options_wrong("--target: GPUs are 'cuda', not", text,
					     options_targets, 0);
		else if (n != 3 || strncmp(s, "cpu", n))
			return options_wrong("--target: there is no target", text, options_targets,
					     2);
		s += n;
		if (!*s)
			break;
	}
	c->options.cuda.asked = cuda;
	c->options.cuda.off = !cuda;
	return -1;
}

void options_add_arch(struct command *c, struct nvrtc_arch arch)
{
	struct cuda_options *o = &c->options.cuda;

	for (size_t i = 0; i < o->narchs; i++)
		if (o->archs[i].number == arch.number && o->archs[i].variant == arch.variant)
			return;
	ARENA_PUSH(&c->arena, o->archs, o->narchs, c->caparchs) = arch;
}

int options_arch(struct command *c, const char *text)
{
	c->options.cuda.asked = true;
	for (const char *s = text;; s++) {
		size_t n = strcspn(s, ",");
		struct nvrtc_arch arch;
		if (!nvrtc_arch_read(s, n, &arch))
			return options_wrong("--arch takes names such as sm_90, not", text, NULL,
					     0);
		options_add_arch(c, arch);
		s += n;
		if (!*s)
			return -1;
	}
}

/* Bits of the named ones; 0 if it is no name, and the nearest name in a message. */
static uint32_t named(const char *what, const char *text, size_t n, const char *const *names,
		      size_t count)
{
	char name[32];

	if (n == 3 && !strncmp(text, "all", n))
		return (1u << count) - 1;
	for (size_t i = 0; i < count; i++)
		if (strlen(names[i]) == n && !strncmp(text, names[i], n))
			return 1u << i;
	snprintf(name, sizeof(name), "%.*s", (int)n, text);
	options_wrong(what, name, names, count);
	return 0;
}

int options_kernels(struct command *c, const char *text)
{
	const char *types[CCS_NDTYPES], *ops[KERNEL_NOPS];

	c->options.cuda.asked = true;
	for (unsigned i = 0; i < CCS_NDTYPES; i++)
		types[i] = ccs_dtype_name((ccs_dtype)i);
	for (unsigned i = 0; i < KERNEL_NOPS; i++)
		ops[i] = kernel_op_name(i);
	for (const char *s = text;; s++) {
		size_t n = strcspn(s, ",:");
		uint32_t type = named("--kernels: there is no element type", s, n, types,
				      CCS_NDTYPES),
			 op = 1u << CCS_SUM;
		if (!type)
			return 2;
		s += n;
		if (*s == ':') {
			n = strcspn(++s, ",");
			op = named("--kernels: there is no operator", s, n, ops, KERNEL_NOPS);
			if (!op)
				return 2;
			s += n;
		}
		for (unsigned i = 0; i < CCS_NDTYPES; i++)
			if (type >> i & 1)
				c->options.cuda.ops[i] |= op;
		if (!*s)
			return -1;
	}
}

int options_protocols(struct command *c, const char *text)
{
	char why[256];

	if (choice_read(&c->protocols, text, why, sizeof(why))) {
		c->options.protocols = &c->protocols;
		return -1;
	}
	return options_error("--protocols takes a table such as 64K:ll,16M:simple/8,simple; %s",
			     why);
}

const char *const options_promises[] = { "same-bits=ranks", "same-bits=counts", NULL };

int options_require(struct command *c, const char *text)
{
	static const uint32_t bits[] = { REQUIRE_RANKS, REQUIRE_COUNTS };

	for (size_t i = 0; options_promises[i]; i++)
		if (!strcmp(text, options_promises[i])) {
			c->options.require |= bits[i];
			return -1;
		}
	return options_wrong("--require: unknown requirement", text, options_promises, 2);
}

int options_explain(struct command *c, const char *text)
{
	bool warning = toupper((unsigned char)*text) == 'W';
	uint64_t code;

	if (!options_number(text + (warning || toupper((unsigned char)*text) == 'E'), 9999,
			    &code) ||
	    !diag_code((int)code + (warning ? WARNING_CODES : 0)))
		return options_error("there is no error or warning '%s'; the codes are listed in "
				     "ccs(5) 7",
				     text);
	c->explain_code = (int)code + (warning ? WARNING_CODES : 0);
	return -1;
}
