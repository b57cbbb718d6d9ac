/*
 * Counts how often persistent collectives run. A run is a start, which gets a request but neither
 * communicator nor collective. So requests are recorded when MPI_..._init makes them, on the rank
 * that counts for the communicator, in a hash table by handle. MPI_Request_free, which alone ends
 * a persistent request, removes them. Without persistent requests, as in most programs, a start
 * reads one counter. O(1 + requests / STARTS) a start.
 */
#include "runtime/preload/preload.h"

#include <stdlib.h>

struct started {
	struct started *next;
	MPI_Request request;
	enum form form;
};

static struct started **chain(struct preload *p, MPI_Request request)
{
	return p->started + handle_bits((uintptr_t)request) % STARTS;
}

/* The link to the request's record, or to the end of its chain. */
static struct started **place(struct preload *p, MPI_Request request)
{
	struct started **at = chain(p, request);

	while (*at && (*at)->request != request)
		at = &(*at)->next;
	return at;
}

void starts_of(enum form form, MPI_Comm comm, MPI_Request request)
{
	struct preload *p = preload_get();
	struct held *h = p ? held_of(p, comm) : NULL;
	struct started **at;

	if (!h || !h->counts)
		return;
	pthread_mutex_lock(&p->lock);
	at = place(p, request);
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		p->nstarted += *at != NULL;
	}
	if (*at) {
		(*at)->request = request;
		(*at)->form = form;
	}
	pthread_mutex_unlock(&p->lock);
}

void starts_count(int n, const MPI_Request *requests)
{
	struct preload *p = preload_get();

	if (!p || !p->nstarted || !requests)
		return;
	pthread_mutex_lock(&p->lock);
	for (int i = 0; i < n; i++) {
		const struct started *s = *place(p, requests[i]);

		if (s)
			p->forms[s->form][PERSISTENT]++;
	}
	pthread_mutex_unlock(&p->lock);
}

void starts_end(const MPI_Request *request)
{
	struct preload *p = preload_get();
	struct started **at, *s;

	if (!p || !p->nstarted || !request)
		return;
	pthread_mutex_lock(&p->lock);
	at = place(p, *request);
	s = *at;
	if (s) {
		*at = s->next;
		p->nstarted--;
	}
	pthread_mutex_unlock(&p->lock);
	free(s);
}

void starts_free(struct preload *p)
{
	for (unsigned i = 0; i < STARTS; i++)
		while (p->started[i]) {
			struct started *next = p->started[i]->next;

			free(p->started[i]);
			p->started[i] = next;
		}
}

/* ---- MPI's functions ------------------------------------------------------------------------- */

#pragma GCC visibility push(default)

int MPI_Start(MPI_Request *request)
{
	starts_count(1, request);
	return PMPI_Start(request);
}

int MPI_Startall(int n, MPI_Request *requests)
{
	starts_count(n, requests);
	return PMPI_Startall(n, requests);
}

int MPI_Request_free(MPI_Request *request)
{
	starts_end(request);
	return PMPI_Request_free(request);
}

#pragma GCC visibility pop
