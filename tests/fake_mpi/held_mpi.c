/*
 * A plug-in for MPI before the real one, $HELD_MPI, that knows which memory MPI has: of each message
 * that was started, until MPI has ended it. A test asks held_mpi() of it, and
 * says what MPI fails at (held_mpi.h). $HELD_STOPS is a rank that stands still for good at its 40th
 * message.
 */
#include "tests/fake_mpi/held_mpi.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { FAILED = 1 }; /* an error of MPI's, whichever */

struct given {
	const unsigned char *at;
	size_t bytes;
};

struct mpi_messages {
	struct mpi_messages *next;
	struct mpi_messages *real; /* NULL: freed, when MPI had not ended all */
	int room;
	struct given given[];
};

extern CCS_API struct mpi_calls ccs_mpi_calls;
struct held_faults held_faults;

static const struct mpi_calls *real;
static struct mpi_messages *all;
static int stops; /* messages until this process stands still; 0: it does not */

static void forget(struct mpi_messages *m)
{
	struct mpi_messages **at = &all;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	free(m);
}

static int is_held(const struct mpi_messages *m, int place)
{
	return m->given[place].bytes && (!m->real || real->busy(m->real, place));
}

int held_mpi(const void *at, size_t bytes)
{
	const unsigned char *first = at;
	int n = 0;

	for (const struct mpi_messages *m = all; m; m = m->next)
		for (int i = 0; i < m->room; i++)
			n += is_held(m, i) && m->given[i].at < first + bytes &&
			     first < m->given[i].at + m->given[i].bytes;
	return n;
}

static int messages_new(const struct mpi_world *w, int room, struct mpi_messages **out)
{
	struct mpi_messages *m = calloc(1, sizeof(*m) + (size_t)room * sizeof(m->given[0]));
	int e = m ? real->messages_new(w, room, &m->real) : 1;

	*out = NULL;
	if (e) {
		free(m);
		return e;
	}
	m->room = room;
	m->next = all;
	all = m;
	*out = m;
	return 0;
}

/* What was ended before stays known; of the rest it is not known which. */
static int messages_free(struct mpi_messages *m)
{
	int left;

	for (int i = 0; i < m->room; i++)
		if (!is_held(m, i))
			m->given[i].bytes = 0;
	left = real->messages_free(m->real);
	m->real = NULL;
	if (!left)
		forget(m);
	return left;
}

static int send(struct mpi_messages *m, int place, const void *from, size_t bytes, int rank,
		int tag)
{
	int e;

	if (stops && !--stops)
		raise(SIGSTOP);
	if (held_faults.sends && !--held_faults.sends)
		return FAILED;
	e = real->send(m->real, place, from, bytes, rank, tag);
	if (!e)
		m->given[place] = (struct given){ from, bytes };
	return e;
}

static int recv(struct mpi_messages *m, int place, void *to, size_t bytes, int rank, int tag)
{
	int e = real->recv(m->real, place, to, bytes, rank, tag);

	if (!e)
		m->given[place] = (struct given){ to, bytes };
	return e;
}

static int test(struct mpi_messages *m, const int **places, int *n)
{
	return real->test(m->real, places, n);
}

static int busy(const struct mpi_messages *m, int place)
{
	return held_faults.busy || real->busy(m->real, place);
}

static void cancel(struct mpi_messages *m)
{
	real->cancel(m->real);
}

static int open(int threads, struct mpi_world **w)
{
	const char *rank = getenv("HELD_STOPS");
	int e = real->open(threads, w);

	stops = !e && rank && atoi(rank) == real->rank(*w) ? 40 : 0;
	return e;
}

static int split(struct mpi_world *w, int color, int key, struct mpi_world **child)
{
	int e = real->split(w, color, key, child);

	if (e || !held_faults.split)
		return e;
	held_faults.split = false;
	if (*child)
		real->close(*child, MPICALLS_FAILED, 0);
	*child = NULL;
	return FAILED;
}

struct mpi_calls ccs_mpi_calls;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("HELD_MPI");
	void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	real = library ? dlsym(library, "ccs_mpi_calls") : NULL;
	if (!real || real->version != MPICALLS_VERSION) {
		fprintf(stderr, "held_mpi: HELD_MPI names no plug-in of this version: %s\n",
			library || !path ? "not so" : dlerror());
		return;
	}
	ccs_mpi_calls = *real;
	ccs_mpi_calls.open = open;
	ccs_mpi_calls.messages_new = messages_new;
	ccs_mpi_calls.messages_free = messages_free;
	ccs_mpi_calls.send = send;
	ccs_mpi_calls.recv = recv;
	ccs_mpi_calls.test = test;
	ccs_mpi_calls.busy = busy;
	ccs_mpi_calls.cancel = cancel;
	ccs_mpi_calls.split = split;
}
