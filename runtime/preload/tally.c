/*
 * What ran where, and why: counted by rank 0 of each communicator, so that a call counts once,
 * and printed by rank 0 of the job, at its end. O(ways) a call that MPI runs.
 */
#include "runtime/preload/preload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tally_add(struct preload *p, enum collective what, const char *by, uint64_t calls)
{
	struct tally **t = &p->tallies;

	pthread_mutex_lock(&p->lock);
	while (*t && ((*t)->what < what || ((*t)->what == what && strcmp((*t)->by, by))))
		t = &(*t)->next;
	if (!*t || (*t)->what != what) {
		struct tally *more = calloc(1, sizeof(*more) + strlen(by) + 1);

		if (more) {
			more->next = *t;
			more->what = what;
			strcpy(more->by, by);
			*t = more;
		}
	}
	if (*t && (*t)->what == what)
		(*t)->calls += calls;
	pthread_mutex_unlock(&p->lock);
}

void tally_begin(struct preload *p)
{
	for (size_t i = 0; i < p->entries.n; i++)
		if (!p->entries.of[i].ranks)
			tally_add(p, p->entries.of[i].what, p->entries.of[i].label, 0);
}

void tally_free(struct preload *p)
{
	while (p->tallies) {
		struct tally *next = p->tallies->next;

		free(p->tallies);
		p->tallies = next;
	}
}

/* ---- telling rank 0 ---------------------------------------------------------------------- */

/* A tally, as it is sent. */
struct told {
	uint64_t calls;
	int32_t what;
	char by[WHY + 20];
};

static struct told *lines_of(const struct preload *p, size_t *n)
{
	struct told *lines;

	*n = 0;
	for (const struct tally *t = p->tallies; t; t = t->next)
		++*n;
	lines = calloc(*n + 1, sizeof(*lines));
	*n = 0;
	for (const struct tally *t = p->tallies; lines && t; t = t->next) {
		struct told *l = lines + (*n)++;

		l->calls = t->calls;
		l->what = (int32_t)t->what;
		snprintf(l->by, sizeof(l->by), "%s", t->by);
	}
	return lines;
}

static void add_lines(struct preload *p, const struct told *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		tally_add(p, (enum collective)lines[i].what, lines[i].by, lines[i].calls);
}

/* On rank 0: those of a rank. */
static void hear(struct preload *p, int rank, int bytes)
{
	struct told *lines = malloc((size_t)bytes);

	PMPI_Recv(lines, lines ? bytes : 0, MPI_BYTE, rank, 0, p->job, MPI_STATUS_IGNORE);
	if (lines)
		add_lines(p, lines, (size_t)bytes / sizeof(*lines));
	free(lines);
}

static void gather(struct preload *p, int rank, int size)
{
	size_t n;
	struct told *lines = lines_of(p, &n);
	int bytes = lines ? (int)(n * sizeof(*lines)) : 0;
	int *all = rank ? NULL : calloc((size_t)size, sizeof(*all));

	PMPI_Gather(&bytes, 1, MPI_INT, all, 1, MPI_INT, 0, p->job);
	if (rank && bytes)
		PMPI_Send(lines, bytes, MPI_BYTE, 0, 0, p->job);
	for (int i = 1; all && i < size; i++)
		if (all[i])
			hear(p, i, all[i]);
	free(all);
	free(lines);
}

/* ---- printing ---------------------------------------------------------------------------- */

static void print(const struct preload *p, FILE *f)
{
	if (!p->entries.n)
		fprintf(f, "libccs-mpi: CCS_MPI names no module: MPI runs all collectives\n");
	for (const struct tally *t = p->tallies; t; t = t->next)
		fprintf(f, "libccs-mpi: %s: %" PRIu64 " call%s by %s\n", collective_name(t->what),
			t->calls, t->calls == 1 ? "" : "s", t->by);
}

/* To CCS_MPI_REPORT: a file, or 0, nowhere. */
static void print_report(const struct preload *p)
{
	const char *where = getenv("CCS_MPI_REPORT");
	FILE *f = stderr;

	if (where && !strcmp(where, "0"))
		return;
	if (where && *where)
		f = fopen(where, "we");
	if (!f) {
		fprintf(stderr, "libccs-mpi: CCS_MPI_REPORT: %s cannot be written\n", where);
		f = stderr;
	}
	print(p, f);
	if (f != stderr)
		fclose(f);
	else
		fflush(f);
}

void tally_report(struct preload *p)
{
	int rank, size;

	PMPI_Comm_rank(p->job, &rank);
	PMPI_Comm_size(p->job, &size);
	for (size_t i = 0; i < p->entries.n; i++) {
		const struct entry *e = p->entries.of + i;

		if (!e->ranks || e->calls) /* of a tuning's rows those that ran */
			tally_add(p, e->what, e->label, e->calls);
	}
	for (int what = 0; what < COLLECTIVES; what++)
		if (p->unnamed[what])
			tally_add(p, (enum collective)what, TALLY_UNNAMED, p->unnamed[what]);
	gather(p, rank, size);
	if (!rank)
		print_report(p);
}
