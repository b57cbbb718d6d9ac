/*
 * A plug-in for MPI of our own, without an MPI: one process, whose collectives copy. By
 * $FAKE_MPI it is what ccrun must notice:
 *
 *     wrong    the first byte of every result is changed
 *     open     MPI cannot be initialised
 *     call:N   the N-th call of a collective fails
 *     two      it has two processes
 *     counts   it takes no more than 100 elements
 *     version  its table is another version's
 */
#include "runtime/mpi/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mpi_world {
	int calls;
};

static const char *mode(void)
{
	const char *mode = getenv("FAKE_MPI");

	return mode ? mode : "";
}

static int open_world(int threads, struct mpi_world **w)
{
	(void)threads;
	*w = strcmp(mode(), "open") ? calloc(1, sizeof(**w)) : NULL;
	return *w ? 0 : 16;
}

static void close_world(struct mpi_world *w, int how, unsigned ms)
{
	(void)how;
	(void)ms;
	fprintf(stderr, "fake_mpi: closed after %d calls\n", w->calls);
	free(w);
}

static int rank_of(const struct mpi_world *w)
{
	(void)w;
	return 0;
}

static int size_of(const struct mpi_world *w)
{
	(void)w;
	return strcmp(mode(), "two") ? 1 : 2;
}

static void name_text(char *text, size_t size)
{
	snprintf(text, size, "Fake MPI 1.0");
}

static void error_text(int e, char *text, size_t size)
{
	snprintf(text, size, "error %d", e);
}

static int reduces(ccs_dtype type, ccs_redop op)
{
	return type == CCS_FLOAT32 && op == CCS_SUM;
}

static int copy(const struct mpi_world *w, const struct mpi_job *j)
{
	size_t bytes = j->count * ccs_dtype_size(j->type);
	int calls = ++((struct mpi_world *)(uintptr_t)w)->calls;

	if (!strncmp(mode(), "call:", 5) && calls == atoi(mode() + 5))
		return 17;
	if (j->send != j->recv)
		memcpy(j->recv, j->send, bytes);
	if (bytes && !strcmp(mode(), "wrong"))
		*(unsigned char *)j->recv ^= 0x55;
	return 0;
}

static const struct mpi_collective collectives[] = {
	{ "allreduce", copy },
	{ "broadcast", copy },
	{ NULL, NULL },
};

extern CCS_API struct mpi_calls ccs_mpi_calls;

struct mpi_calls ccs_mpi_calls = {
	.version = MPICALLS_VERSION,
	.collectives = collectives,
	.most = 1000000,
	.open = open_world,
	.close = close_world,
	.rank = rank_of,
	.size = size_of,
	.name = name_text,
	.error = error_text,
	.reduces = reduces,
};

__attribute__((constructor)) static void begin(void)
{
	ccs_mpi_calls.version += !strcmp(mode(), "version");
	if (!strcmp(mode(), "counts"))
		ccs_mpi_calls.most = 100;
}
