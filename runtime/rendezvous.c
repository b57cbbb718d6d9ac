/*
 * Rendezvous: arriving, comparing, waiting. See rendezvous.h.
 *
 * In: attendees, perhaps with a mistake to report. Out: one success or failure for all ranks, each
 * with the text of its own mistake. In one process the ranks' n-th rendezvous have one record: the
 * last to come does the work, and the last to leave frees the record, as all read the result there.
 * Processes have no record: each compares the gathered proposals.
 *
 * O(open rendezvous) for a rank, plus O(ranks) and the work for the last, or for a process.
 */
#include "runtime/rendezvous.h"

#include "runtime/base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rendezvous, if all ranks are in this process. */
struct rendezvous {
	uint64_t seq;
	int arrived, inside; /* ranks that have come; that have not yet left */
	bool over;
	ccs_status status;
	char text[CCS_TEXT];
	struct rendezvous *next;
	struct attendee *of[]; /* [nranks]; NULL: it has not come */
};

static const char *kind_name(const struct proposal *p)
{
	static const char *const names[NMEET] = { "ccs_comm_split", "ccs_comm_group",
						  "ccs_mesh_slice", "ccs_barrier" };

	return names[p->kind];
}

struct proposal proposal_of(enum rendezvous_kind kind, const int *list, uint32_t n)
{
	struct proposal p = { .kind = kind, .n = n, .hash = HASH_START };

	for (uint32_t i = 0; i < n; i++)
		p.hash = hash_fnv1a(p.hash, list + i, sizeof(*list));
	for (uint32_t i = 0; i < n && i < PROPOSAL_LIST; i++)
		p.list[i] = list[i];
	return p;
}

/* ---- comparing --------------------------------------------------------------------------- */

/* Adds a group's ranks; or, of a slice, the lengths of its mesh, -1, and its dimensions. */
static void add_list(struct text *t, const struct proposal *p)
{
	const char *between = p->kind == MEET_MESH ? " x " : ", ";

	text_add(t, p->kind == MEET_MESH ? "slices " : "gives %u ranks: ", p->n);
	for (uint32_t i = 0; i < p->n && i < PROPOSAL_LIST; i++) {
		bool turn = p->list[i] < 0 && p->kind == MEET_MESH;

		if (turn) {
			text_add(t, " along ");
			between = ", ";
			continue;
		}
		text_add(t, "%s%d", i && p->list[i - 1] != -1 ? between : "", p->list[i]);
	}
	if (p->n > PROPOSAL_LIST)
		text_add(t, ", ...");
}

static ccs_status lists_differ(const struct proposal *x, const struct proposal *y, int rank)
{
	struct text t = { .len = 0 };

	text_add(&t, "the ranks' lists differ: rank 0 ");
	add_list(&t, x);
	text_add(&t, "; rank %d ", rank);
	add_list(&t, y);
	return error_set(CCS_EINVAL, "%s: %s", kind_name(x), t.buf);
}

/* Checks that all make the same call. (For processes world_gather does.) */
static ccs_status compare_kinds(const struct proposal *all, int n)
{
	for (int r = 1; r < n; r++)
		if (all[r].kind != all->kind)
			return error_set(
				CCS_EINVAL,
				"the ranks' calls differ: rank 0 calls %s; rank %d calls %s",
				kind_name(all), r, kind_name(all + r));
	return CCS_OK;
}

/* The first rank with wrong arguments; -1: none. */
static int first_wrong(const struct proposal *all, int n)
{
	for (int r = 0; r < n; r++)
		if (all[r].status)
			return r;
	return -1;
}

static ccs_status compare_lists(const struct proposal *all, int n)
{
	for (int r = 1; r < n; r++)
		if (all->n != all[r].n || all->hash != all[r].hash)
			return lists_differ(all, all + r, r);
	return CCS_OK;
}

/* ---- ranks of one process ------------------------------------------------------------------- */

static bool is_here(const struct world *w)
{
	return w->nlocal == w->nranks;
}

static ccs_status compare_here(struct world *w, struct attendee *const *of)
{
	struct proposal *all = calloc((size_t)w->nranks, sizeof(*all));
	ccs_status s;
	int wrong;

	if (!all)
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", w->nranks);
	for (int r = 0; r < w->nranks; r++)
		all[r] = of[r]->own;
	s = compare_kinds(all, w->nranks);
	wrong = s ? -1 : first_wrong(all, w->nranks);
	if (wrong >= 0)
		s = error_set((ccs_status)of[wrong]->own.status, "rank %d: %.1900s", wrong,
			      of[wrong]->why);
	if (!s)
		s = compare_lists(all, w->nranks);
	free(all);
	return s;
}

static struct rendezvous **find(struct world *w, uint64_t seq)
{
	struct rendezvous **m = &w->rendezvous;

	while (*m && (*m)->seq != seq)
		m = &(*m)->next;
	return m;
}

static void end_rendezvous(struct world *w, struct rendezvous *m, ccs_status s, const char *text)
{
	m->over = true;
	m->status = s;
	snprintf(m->text, sizeof(m->text), "%s", text);
	run_wake(w);
}

/* The last rank has come: compares, and does the work. */
static void conclude(struct world *w, struct rendezvous *m)
{
	ccs_status s = compare_here(w, m->of);

	if (!s)
		s = m->of[0]->way->here(w, m->of);
	end_rendezvous(w, m, s, s ? error_thread()->text : "");
}

static struct rendezvous *rendezvous_new(struct world *w, uint64_t seq)
{
	struct rendezvous *m =
		calloc(1, sizeof(*m) + (size_t)w->nranks * sizeof(struct attendee *));

	if (m)
		m->seq = seq;
	return m;
}

/* Without memory no rank can meet here, so the communicator dies. */
static void arrive(struct world *w, struct attendee *a)
{
	struct rendezvous **at = find(w, a->comm->meetings);

	if (w->dead)
		return;
	if (!*at)
		*at = rendezvous_new(w, a->comm->meetings);
	if (!*at) {
		run_fail_all(w, CCS_ENOMEM, "out of memory for a rendezvous");
		return;
	}
	a->comm->meetings++;
	a->at = *at;
	a->at->of[a->comm->rank] = a;
	a->at->inside++;
	w->arrivals++;
	if (++a->at->arrived == w->nranks)
		conclude(w, a->at);
}

static void depart(struct world *w, struct rendezvous *m)
{
	struct rendezvous **at = find(w, m->seq);

	if (--m->inside)
		return;
	*at = m->next;
	free(m);
}

static ccs_status await(struct world *w, struct attendee *a)
{
	struct vigil v = { 0 };
	ccs_status s;

	if (!a->at)
		return world_alive(w);
	while (!a->at->over && !w->dead)
		run_nap(w, &v);
	if (!a->at->over)
		rendezvous_fail(w, CCS_EABORTED, world_why(w));
	s = a->at->status;
	if (s && a->own.status)
		s = error_set((ccs_status)a->own.status, "%s", a->why);
	else if (s)
		error_set(s, "%s", a->at->text);
	depart(w, a->at);
	return s;
}

/* ---- ranks that are processes ------------------------------------------------------------ */

/* Processes with wrong arguments report them to all. */
static ccs_status share_mistakes(struct world *w, const struct attendee *a)
{
	if (a->own.status)
		error_set((ccs_status)a->own.status, "%s", a->why);
	return world_agree(w, (ccs_status)a->own.status);
}

static ccs_status compare_apart(struct world *w, struct attendee *a, struct proposal *all)
{
	ccs_status s;

	w->meets = true;
	s = world_gather(w, kind_name(&a->own), &a->own, all, sizeof(a->own));
	w->meets = false;
	if (!s && first_wrong(all, w->nranks) >= 0)
		s = share_mistakes(w, a);
	return s ? s : compare_lists(all, w->nranks);
}

/* Meets the other processes, and does this one's part. */
static ccs_status attend(struct world *w, struct attendee *a)
{
	struct proposal *all;
	ccs_status s = world_alive(w);

	if (s)
		return s;
	if (a->way->streams && a->way->streams(w))
		return a->way->apart(w, a, NULL);
	all = calloc((size_t)w->nranks, sizeof(*all));
	if (!all)
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", w->nranks);
	s = compare_apart(w, a, all);
	if (!s)
		s = a->way->apart(w, a, all);
	free(all);
	return s;
}

/* ---- calls ------------------------------------------------------------------------------- */

ccs_status rendezvous_here(const struct attendee *list)
{
	ccs_status s = CCS_OK;

	for (; list && !s; list = list->next)
		s = world_here(list->comm->world);
	return s;
}

void rendezvous_join(struct attendee *list)
{
	for (; list; list = list->next) {
		struct world *w = list->comm->world;

		if (!is_here(w))
			continue;
		pthread_mutex_lock(&w->lock);
		arrive(w, list);
		pthread_mutex_unlock(&w->lock);
	}
}

void rendezvous_wait(struct attendee *list, ccs_status *first)
{
	for (; list; list = list->next) {
		struct world *w = list->comm->world;
		char text[CCS_TEXT];
		ccs_status s;

		strcpy(text, error_thread()->text);
		pthread_mutex_lock(&w->lock);
		s = is_here(w) ? await(w, list) : attend(w, list);
		pthread_mutex_unlock(&w->lock);
		if (list->out)
			*list->out = s ? NULL : list->made;
		if (*first)
			error_set(*first, "%s", text);
		else
			*first = s;
	}
}

void rendezvous_drop(struct attendee *list)
{
	while (list) {
		struct attendee *next = list->next;

		free(list);
		list = next;
	}
}

static ccs_status record(struct thread_state *t, const struct attendee *a)
{
	struct attendee *copy = malloc(sizeof(*copy));

	if (!copy)
		return t->failed = error_set(CCS_ENOMEM, "out of memory for a call");
	*copy = *a;
	if (t->last_attendee)
		t->last_attendee->next = copy;
	else
		t->attendees = copy;
	t->last_attendee = copy;
	return CCS_OK;
}

ccs_status rendezvous_submit(struct attendee *a)
{
	struct thread_state *t = error_thread();
	ccs_status s = t->failed; /* in a group the first error wins */

	if (s)
		return s;
	if (t->depth)
		return record(t, a);
	rendezvous_join(a);
	rendezvous_wait(a, &s);
	return s;
}

/* ---- after the communicator has died -------------------------------------------------------- */

void rendezvous_fail(struct world *w, ccs_status s, const char *text)
{
	for (struct rendezvous *m = w->rendezvous; m; m = m->next)
		if (!m->over)
			end_rendezvous(w, m, s, text);
}

/* The first rank that has come, or that has not. */
static int first_of(const struct world *w, const struct rendezvous *m, bool has_come)
{
	for (int r = 0; r < w->nranks; r++)
		if ((m->of[r] != NULL) == has_come)
			return r;
	return -1;
}

bool rendezvous_report(const struct world *w, struct text *t)
{
	const struct rendezvous *m = w->rendezvous;
	int in;

	while (m && m->over)
		m = m->next;
	if (!m)
		return false;
	in = first_of(w, m, true);
	text_add(t, "rank %d has not called %s, as rank %d has", first_of(w, m, false),
		 kind_name(&m->of[in]->own), in);
	return true;
}

void rendezvous_forget(struct world *w)
{
	while (w->rendezvous) {
		struct rendezvous *next = w->rendezvous->next;

		free(w->rendezvous);
		w->rendezvous = next;
	}
}
