/*
 * The report of a rank that has waited for CCS_MPI_TIMEOUT: one line on stderr with the call and
 * the missing ranks. The call goes on: as in MPI, a rank may come late without limit.
 *
 * ccs itself watches a call that has begun (ccs_comm_set_late). But the first call of a
 * communicator makes the communicator of ccs by MPI's collectives, which do not report missing
 * ranks. So the ranks first meet here: each rank reports to rank 0; after the timeout rank 0
 * sends the list of missing ranks to those present; at last it sends all ranks the message to go
 * on. O(ranks) messages, in a communicator of the whole job.
 */
#include "runtime/preload/preload.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SECONDS 10 /* without CCS_MPI_TIMEOUT */
#define TAG 1	   /* tally.c uses tag 0 */
#define EAGER 1000 /* polls before a rank sleeps between polls */
#define NAP_US 200

/* A message from rank 0 to another rank. */
struct word {
	int go;
	char late[WHY]; /* after a timeout: which ranks are missing; "": rank 0 is here */
};

/* A meeting of ranks, seen from one of them. */
struct gate {
	const struct held *h;
	const struct entry *entry;
	MPI_Comm job;
	MPI_Group own, all; /* ranks of the communicator, and of the job */
	unsigned ms;	    /* CCS_MPI_TIMEOUT; 0: none, or already reported */
	double begun;	    /* time by MPI_Wtime */
	unsigned looks;
};

bool late_read(unsigned *ms, char *why, size_t size)
{
	const char *text = getenv("CCS_MPI_TIMEOUT");
	char *end;
	unsigned long seconds;

	*ms = SECONDS * 1000;
	if (!text || !*text)
		return true;
	seconds = strtoul(text, &end, 10);
	*ms = (unsigned)seconds * 1000;
	if (*text >= '0' && *text <= '9' && !*end && seconds <= UINT_MAX / 1000)
		return true;
	snprintf(why, size, "CCS_MPI_TIMEOUT=%.40s is not a number of seconds", text);
	return false;
}

static void say(const struct held *h, const struct entry *e, const char *report)
{
	fprintf(stderr, "libccs-mpi: rank %d of %d: %s by %s: %s; the call continues\n", h->rank,
		h->size, collective_name(e->what), e->label, report);
	fflush(stderr);
}

void late_tell(void *of, const char *report)
{
	const struct held *h = of;

	say(h, h->entry, report);
}

/* ---- the first call of a communicator ---------------------------------------------------- */

#define NOT_MADE " has not made this call, the first of its communicator"

static int in_job(const struct gate *g, int rank)
{
	int number;

	PMPI_Group_translate_ranks(g->own, 1, &rank, g->all, &number);
	return number;
}

/* Whether the message has arrived. If not, yields. */
static bool look(struct gate *g, MPI_Request *of)
{
	int done = 0;

	PMPI_Test(of, &done, MPI_STATUS_IGNORE);
	if (!done && ++g->looks > EAGER)
		usleep(NAP_US);
	return done;
}

/* Whether the timeout has passed. True once. */
static bool is_late(struct gate *g)
{
	bool late = g->ms && PMPI_Wtime() - g->begun >= g->ms / 1000.0;

	if (late)
		g->ms = 0;
	return late;
}

/* On rank 0: whether the rank has come. It has received the messages of ranks below `next`. */
static bool has_come(const struct gate *g, int rank, int next)
{
	int any = 0;

	if (rank > next)
		PMPI_Iprobe(in_job(g, rank), TAG, g->job, &any, MPI_STATUS_IGNORE);
	return rank < next || any;
}

static void tell(const struct gate *g, int rank, const struct word *x)
{
	PMPI_Send(x, (int)sizeof(*x), MPI_BYTE, in_job(g, rank), TAG, g->job);
}

static void tell_late(const struct gate *g, int next, unsigned ms)
{
	struct word x = { .go = 0 };
	int len = snprintf(x.late, sizeof(x.late), "for %u ms rank %d", ms, next);

	for (int i = next + 1; i < g->h->size && len < WHY - 100; i++)
		if (!has_come(g, i, next))
			len += snprintf(x.late + len, WHY - (size_t)len, ", %d", i);
	snprintf(x.late + len, WHY - (size_t)len, NOT_MADE);
	say(g->h, g->entry, x.late);
	for (int i = 1; i < g->h->size; i++)
		if (has_come(g, i, next))
			tell(g, i, &x);
}

static void lead(struct gate *g)
{
	static const struct word here = { .go = 0 }, go = { .go = 1 };
	const unsigned ms = g->ms;
	MPI_Request of;

	for (int i = 1; i < g->h->size; i++) {
		PMPI_Isend(&here, (int)sizeof(here), MPI_BYTE, in_job(g, i), TAG, g->job, &of);
		PMPI_Request_free(&of);
	}
	for (int i = 1; i < g->h->size; i++) {
		PMPI_Irecv(NULL, 0, MPI_BYTE, in_job(g, i), TAG, g->job, &of);
		while (!look(g, &of))
			if (is_late(g))
				tell_late(g, i, ms);
	}
	for (int i = 1; i < g->h->size; i++)
		tell(g, i, &go);
}

static void follow(struct gate *g)
{
	const unsigned ms = g->ms;
	struct word x = { .go = 0 };
	MPI_Request here, word;
	char text[WHY];

	PMPI_Isend(NULL, 0, MPI_BYTE, in_job(g, 0), TAG, g->job, &here);
	while (!x.go) {
		PMPI_Irecv(&x, (int)sizeof(x), MPI_BYTE, in_job(g, 0), TAG, g->job, &word);
		while (!look(g, &word)) {
			if (!is_late(g))
				continue;
			snprintf(text, sizeof(text), "for %u ms rank 0" NOT_MADE, ms);
			say(g->h, g->entry, text);
		}
		if (*x.late)
			say(g->h, g->entry, x.late);
		g->ms = 0; /* rank 0 is here and reports from now on */
	}
	PMPI_Wait(&here, MPI_STATUS_IGNORE);
}

void late_meet(const struct preload *p, const struct held *h)
{
	struct gate g = {
		.h = h, .entry = h->entry, .job = p->job, .ms = p->timeout, .begun = PMPI_Wtime()
	};

	PMPI_Comm_group(p->job, &g.all);
	PMPI_Comm_group(h->comm, &g.own);
	if (h->rank)
		follow(&g);
	else
		lead(&g);
	PMPI_Group_free(&g.own);
	PMPI_Group_free(&g.all);
}
