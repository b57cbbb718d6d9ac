/*
 * --show: one call, with inputs and results printed rank by rank, and every element checked.
 * Nothing is timed.
 *
 * A long buffer is cut to its first and last elements, a long list of ranks to its first and last
 * ranks. Each process converts its ranks' elements to text. If each rank is a process, rank 0
 * gathers the texts and prints. The call is out of place, so the inputs are still in the send
 * buffers after it. O(ranks x MOST x chunks), plus the check.
 */
#include "runtime/ccrun/bench.h"
#include "runtime/ccrun/values/elements.h"
#include "runtime/ccrun/values/fill.h"
#include "runtime/ccrun/values/chunk_sizes.h"

#include <stdlib.h>
#include <string.h>

/* Up to MOST elements of a buffer are all shown; of more, the first FIRST and the last LAST.
 * Likewise ranks. */
enum { FIRST = 8, LAST = 4, MOST = 16, FIRST_RANKS = 16, LAST_RANKS = 4, MOST_RANKS = 24 };
enum { WIDTH = 24 }; /* bytes of an element's text, with its NUL */

enum when { BEFORE, AFTER, WHENS };

/* The shown elements of a rank. */
struct shown {
	char text[WHENS][MOST][WIDTH];
};

/* How many of `n` are shown; and, below, the index of the i-th of these. */
static size_t count_of(size_t n, size_t most, size_t first, size_t last)
{
	return n <= most ? n : first + last;
}

static size_t number_of(size_t i, size_t n, size_t most, size_t first, size_t last)
{
	return n <= most || i < first ? i : n - last - first + i;
}

static size_t elements(const struct row *r, uint32_t rank, enum when when)
{
	return sizes_elements(&r->check, rank, when == AFTER);
}

/* ---- one rank ------------------------------------------------------------------------- */

/* The shown elements of a rank's buffer as text; "-" for a result that is not promised. */
static void pick(const struct row *r, uint32_t rank, enum when when, const void *from,
		 struct shown *to)
{
	const struct check *c = &r->check;
	size_t n = elements(r, rank, when), many = count_of(n, MOST, FIRST, LAST);

	for (size_t i = 0; i < many; i++) {
		size_t at = number_of(i, n, MOST, FIRST, LAST);
		const unsigned char *p = (const unsigned char *)from + at * c->format.size;

		if (when == BEFORE || check_promises(c, rank, at))
			element_text(c, p, to->text[when][i], WIDTH);
		else
			snprintf(to->text[when][i], WIDTH, "-");
	}
}

/* The shown elements by rank, which the caller frees; complete only where rank 0 runs. NULL: *s has
 * the reason. */
static struct shown *gather(const struct bench *b, const struct row *r, ccs_status *s)
{
	const struct home *at = b->at;
	struct shown *all = calloc((size_t)at->ranks, sizeof(*all)), *mine;

	*s = home_agree(at, all ? CCS_OK : ccs_error_set(CCS_ENOMEM, "out of memory"));
	for (int i = at->first; !*s && i < at->first + at->local; i++) {
		mine = all + i;
		pick(r, (uint32_t)i, BEFORE, b->send[i], mine);
		pick(r, (uint32_t)i, AFTER, b->recv[i], mine);
	}
	if (!*s && at->local < at->ranks) {
		struct shown own = all[at->first];

		*s = ccs_comm_gather(at->comm[at->first], &own, all, sizeof(own));
	}
	if (!*s)
		return all;
	free(all);
	return NULL;
}

/* ---- all ranks ------------------------------------------------------------------------ */

static int widest(const struct shown *all, size_t ranks, enum when when)
{
	size_t most = 1;

	for (size_t r = 0; r < ranks; r++)
		for (size_t i = 0; i < MOST; i++)
			if (strlen(all[r].text[when][i]) > most)
				most = strlen(all[r].text[when][i]);
	return (int)most;
}

static void print_rank(FILE *out, const struct shown *x, size_t rank, size_t n, enum when when,
		       int width)
{
	size_t many = count_of(n, MOST, FIRST, LAST);

	fprintf(out, "  rank %3zu ", rank);
	for (size_t i = 0; i < many; i++) {
		if (i == FIRST && many < n)
			fprintf(out, "  ... %zu more ...", n - many);
		fprintf(out, " %*s", width, x->text[when][i]);
	}
	fputc('\n', out);
}

/* Prints the names of the buffers with inputs (BEFORE) or with results (AFTER). */
static void print_names(FILE *out, const struct check *c, enum when when)
{
	const char *before = "";

	for (int i = 0; i < c->nbuffers; i++) {
		if (c->buffers[i].direction == (when == BEFORE ? CCS_OUT : CCS_IN))
			continue;
		fprintf(out, "%s%s", before, c->buffers[i].name);
		before = ", ";
	}
}

static void print_values(FILE *out, const struct row *r, const struct shown *all, enum when when)
{
	static const char *const titles[] = { "before: sendbuff", "after: recvbuff" };
	size_t ranks = (size_t)r->check.of.nranks, n = elements(r, 0, when);
	size_t many = count_of(ranks, MOST_RANKS, FIRST_RANKS, LAST_RANKS);
	int width = widest(all, ranks, when);

	fprintf(out, "\n%s (", titles[when]);
	print_names(out, &r->check, when);
	if (r->check.sizes)
		fputs(")\n", out);
	else
		fprintf(out, "), %zu element%s per rank\n", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < many; i++) {
		size_t rank = number_of(i, ranks, MOST_RANKS, FIRST_RANKS, LAST_RANKS);

		if (i == FIRST_RANKS && many < ranks)
			fprintf(out, "  ... %zu more ranks ...\n", ranks - many);
		print_rank(out, all + rank, rank, elements(r, (uint32_t)rank, when), when, width);
	}
}

/* Whether a shown result is not promised. */
static bool has_open(const struct shown *all, size_t ranks)
{
	for (size_t r = 0; r < ranks; r++)
		for (size_t i = 0; i < MOST; i++)
			if (!strcmp(all[r].text[AFTER][i], "-"))
				return true;
	return false;
}

static void print_all(const struct bench *b, const struct row *r, const struct shown *all,
		      const struct result *x)
{
	const struct check *c = &r->check;
	char scalar[WIDTH];

	fprintf(b->out, "%s: %s, %d ranks, count %zu of %s", ccs_module_schedule(b->m),
		ccs_module_contract(b->m), c->of.nranks, c->count, c->format.name);
	if (c->numbers)
		fprintf(b->out, ", %s", redop_name(c->op));
	if (c->numbers && c->op == OP_PREMUL) {
		element_text(c, r->scalar, scalar, sizeof(scalar));
		fprintf(b->out, " by %s", scalar);
	}
	if (r->root >= 0)
		fprintf(b->out, ", root %d", r->root);
	if (c->sizes)
		fprintf(b->out, "; sizes: %s", b->o->sizes ? b->o->lengths : "chosen by ccrun");
	if (c->fill)
		fprintf(b->out, "; inputs: %s", c->expression);
	fputc('\n', b->out);
	print_values(b->out, r, all, BEFORE);
	print_values(b->out, r, all, AFTER);
	if (has_open(all, (size_t)c->of.nranks))
		fputs("  (-: the contract promises nothing for it)\n", b->out);
	fprintf(b->out, "\nwrong elements: %zu%s\n", x->wrong, x->wrong ? "" : " OK");
}

ccs_status show_row(struct bench *b, const struct row *r, struct result *result)
{
	struct shown *all;
	ccs_status s;

	(void)buffers_place(b, r, false); /* every module can run out of place */
	s = measure_check(b, r, result);
	if (s)
		return s;
	all = gather(b, r, &s);
	if (all && b->out)
		print_all(b, r, all, result);
	free(all);
	return s;
}
