/*
 * Communicators of some ranks of a parent: ccs_comm_split, ccs_comm_group.
 *
 * In: every rank's colour and key (for a group by a list: one colour, and the place in the list),
 * gathered at a rendezvous of the parent. Out: one world for each colour, with an engine of the
 * parent's kind that shares nothing with it, so that parent and child may be freed in any order;
 * or a failure in all ranks of the parent, which remains usable.
 *
 * Where ranks are processes, the new ranks meet through gathers of the parent: rank 0 of each new
 * communicator publishes an invitation in the form that its engine needs (engine.h), the other
 * ranks of that communicator join, and all ranks of the parent agree on the result.
 * O(ranks log ranks) a process.
 */
#include "runtime/split/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank of the parent, and its place in the child. */
struct member {
	int color, key, rank;
};

static int by_place(const void *x, const void *y)
{
	const struct member *a = x, *b = y;

	if (a->color != b->color)
		return a->color < b->color ? -1 : 1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* The ranks of one colour. */
struct subset {
	int color, n;
	int *ranks; /* [n] of the parent, in their order */
};

/* The members from `at` on that have one colour. */
static bool subset_make(struct subset *s, const struct member *at, const struct member *end)
{
	*s = (struct subset){ .color = at->color };
	while (at + s->n < end && at[s->n].color == s->color)
		s->n++;
	s->ranks = calloc((size_t)s->n, sizeof(*s->ranks));
	for (int i = 0; s->ranks && i < s->n; i++)
		s->ranks[i] = at[i].rank;
	return s->ranks != NULL;
}

static ccs_status no_memory(int n)
{
	return error_set(CCS_ENOMEM, "out of memory for a communicator of %d ranks", n);
}

static void inherit(struct world *child, const struct world *parent)
{
	child->timeout = parent->timeout;
	child->kernels_end = parent->kernels_end;
	child->threads = parent->threads;
	child->idle = parent->idle;
	child->idle_of = parent->idle_of;
	child->late = parent->late;
	child->late_of = parent->late_of;
}

/* Makes the child's invitation, if the engine needs one. */
static ccs_status invite(struct world *w, struct world *child, struct branch *b)
{
	const struct processes_engine *e = w->engine->processes;

	return e && e->invite ? e->invite(w, child, b) : CCS_OK;
}

/* ---- all ranks in this process ------------------------------------------------------------- */

static ccs_status make_here(struct world *w, const struct subset *sub, struct attendee *const *of)
{
	struct ccs_comm **made = calloc((size_t)sub->n, sizeof(struct ccs_comm *));
	struct branch b = { .ranks = sub->ranks, .color = sub->color };
	ccs_status s = made ? comm_new(made, sub->n) : no_memory(sub->n);

	if (!s) {
		inherit(made[0]->world, w);
		s = invite(w, made[0]->world, &b);
		if (!s)
			s = w->engine->branch(w, made[0]->world, &b);
		if (s)
			comm_drop(made, sub->n);
	}
	for (int i = 0; i < sub->n && !s; i++)
		of[sub->ranks[i]]->made = made[i];
	free(made);
	return s;
}

static ccs_status split_here(struct world *w, struct attendee *const *of)
{
	struct member *m = calloc((size_t)w->nranks, sizeof(*m)), *end = m + w->nranks;
	ccs_status s = m ? CCS_OK : no_memory(w->nranks);
	struct subset sub;

	for (int r = 0; m && r < w->nranks; r++)
		m[r] = (struct member){ of[r]->own.color, of[r]->own.key, r };
	if (m)
		qsort(m, (size_t)w->nranks, sizeof(*m), by_place);
	for (struct member *at = m; !s && at < end; at += sub.n) {
		s = subset_make(&sub, at, end) ? CCS_OK : no_memory(sub.n);
		if (!s && sub.color != CCS_NO_COLOR)
			s = make_here(w, &sub, of);
		free(sub.ranks);
	}
	free(m);
	for (int r = 0; s && r < w->nranks; r++) {
		ccs_comm_free(of[r]->made);
		of[r]->made = NULL;
	}
	return s;
}

/* ---- a process a rank ------------------------------------------------------------------------ */

/* A process gives its status and invitation. */
struct offer {
	int32_t status;
	unsigned char invitation[INVITATION];
};

/* The subset that this process is in. */
static bool find_own(struct subset *sub, const struct proposal *all, int n, int rank)
{
	struct member *m = calloc((size_t)n, sizeof(*m));
	int at = 0;
	bool ok;

	for (int r = 0; m && r < n; r++)
		m[r] = (struct member){ all[r].color, all[r].key, r };
	if (!m)
		return false;
	qsort(m, (size_t)n, sizeof(*m), by_place);
	while (m[at].color != all[rank].color)
		at++;
	ok = subset_make(sub, m + at, m + n);
	free(m);
	return ok;
}

static int place_in(const struct subset *sub, int rank)
{
	int i = 0;

	while (sub->ranks[i] != rank)
		i++;
	return i;
}

/* Rank 0 of the new communicator publishes its invitation; all ranks agree whether all are
 * ready. */
static ccs_status exchange(struct world *w, struct branch *b, ccs_status here)
{
	struct offer own = { .status = here }, *all = calloc((size_t)w->nranks, sizeof(*all));
	bool wrong = false;
	ccs_status s;

	if (!all) /* it takes no part in the gather, so the other ranks time out */
		return no_memory(w->nranks);
	memcpy(own.invitation, b->invitation, sizeof(own.invitation));
	s = world_gather(w, "ccs_comm_split", &own, all, sizeof(own));
	for (int r = 0; !s && r < w->nranks; r++)
		wrong |= all[r].status != CCS_OK;
	if (!s && wrong)
		s = world_agree(w, here);
	if (!s && b->ranks)
		memcpy(b->invitation, all[b->ranks[0]].invitation, sizeof(b->invitation));
	free(all);
	return s;
}

/* `child` is NULL if this rank has no colour. */
static ccs_status enter_child(struct world *w, struct world *child, struct branch *b,
			      ccs_status here)
{
	ccs_status s = here;

	if (!s && child)
		s = invite(w, child, b);
	s = w->engine->processes->invite ? exchange(w, b, s) : world_agree(w, s);
	return s ? s : world_agree(w, w->engine->branch(w, child, b));
}

static ccs_status split_apart(struct world *w, struct attendee *a, const struct proposal *all)
{
	bool in = a->own.color != CCS_NO_COLOR;
	struct subset sub = { .color = a->own.color };
	struct branch b = { .color = a->own.color };
	ccs_status s = CCS_OK;

	if (in && !find_own(&sub, all, w->nranks, w->first))
		s = no_memory(w->nranks);
	if (in && !s)
		s = comm_new_rank(&a->made, sub.n, place_in(&sub, w->first));
	if (in && !s) {
		inherit(a->made->world, w);
		b.ranks = sub.ranks;
		b.rank = a->made->rank;
	}
	s = enter_child(w, a->made ? a->made->world : NULL, &b, s);
	free(sub.ranks);
	if (s && a->made) {
		a->made->world->dead = true; /* freeing it must not wait for other ranks */
		comm_drop(&a->made, 1);
	}
	return s;
}

/* ---- calls ------------------------------------------------------------------------------- */

static const struct rendezvous_way way = { .here = split_here, .apart = split_apart };

ccs_status split_submit(struct attendee *a, ccs_status wrong)
{
	a->way = &way;
	a->own.status = wrong;
	if (wrong)
		snprintf(a->why, sizeof(a->why), "%s", error_thread()->text);
	if (a->out)
		*a->out = NULL;
	return rendezvous_submit(a);
}

ccs_status split_enter(const struct ccs_comm *comm, const char *call)
{
	struct thread_state *t = error_thread();
	ccs_status s = t->failed;

	if (s)
		return s;
	s = comm ? world_here(comm->world)
		 : error_set(CCS_EINVAL, "%s: the communicator is NULL", call);
	if (s && t->depth)
		t->failed = s;
	return s;
}

ccs_status ccs_comm_split(struct ccs_comm *comm, int color, int key, struct ccs_comm **out)
{
	struct attendee a = { .comm = comm, .out = out };
	ccs_status s = split_enter(comm, "ccs_comm_split");

	if (s)
		return s;
	a.own = proposal_of(MEET_SPLIT, NULL, 0);
	a.own.color = color;
	a.own.key = key;
	if (!out)
		s = error_set(CCS_EINVAL, "ccs_comm_split: out is NULL");
	else if (color < 0 && color != CCS_NO_COLOR)
		s = error_set(CCS_EINVAL,
			      "ccs_comm_split: colour %d: a colour is 0 or more, or CCS_NO_COLOR",
			      color);
	return split_submit(&a, s);
}

/* Checks that each entry is a rank, without repeats. O(n + size). */
static ccs_status check_list(const char *call, const int *ranks, int n, int size)
{
	bool *seen = calloc((size_t)size, sizeof(*seen));
	ccs_status s = seen ? CCS_OK : no_memory(size);

	for (int i = 0; i < n && !s; i++) {
		if (ranks[i] < 0 || ranks[i] >= size)
			s = error_set(CCS_EINVAL,
				      "%s: entry %d of the list, %d, is not in the range 0 to %d",
				      call, i, ranks[i], size - 1);
		else if (seen[ranks[i]])
			s = error_set(CCS_EINVAL, "%s: rank %d is twice in the list", call,
				      ranks[i]);
		else
			seen[ranks[i]] = true;
	}
	free(seen);
	return s;
}

static ccs_status check_group(const char *call, const struct ccs_comm *comm, const int *ranks,
			      int n, struct ccs_comm *const *out)
{
	if (!out || !ranks)
		return error_set(CCS_EINVAL, "%s: %s is NULL", call, out ? "ranks" : "out");
	if (n < 1)
		return error_set(CCS_EINVAL, "%s: a group has at least one rank, not %d", call, n);
	return check_list(call, ranks, n, comm->world->nranks);
}

ccs_status ccs_comm_group(struct ccs_comm *comm, const int *ranks, int n, struct ccs_comm **out)
{
	struct attendee a = { .comm = comm, .out = out };
	ccs_status s = split_enter(comm, "ccs_comm_group");

	if (s)
		return s;
	s = check_group("ccs_comm_group", comm, ranks, n, out);
	a.own = proposal_of(MEET_GROUP, s ? NULL : ranks, s ? 0 : (uint32_t)n);
	a.own.color = CCS_NO_COLOR;
	for (int i = 0; !s && i < n; i++)
		if (ranks[i] == comm->rank) {
			a.own.color = 0;
			a.own.key = i;
		}
	return split_submit(&a, s);
}

/* ---- made by its members only -------------------------------------------------------------- */

static ccs_status check_members(const struct ccs_comm *comm, const int *ranks, int n,
				struct ccs_comm *const *out, int *place)
{
	static const char call[] = "ccs_comm_create_group";
	const struct processes_engine *e = comm->world->engine->processes;
	ccs_status s = check_group(call, comm, ranks, n, out);

	while (!s && *place < n && ranks[*place] != comm->rank)
		++*place;
	if (s)
		return s;
	if (*place == n)
		return error_set(CCS_EINVAL,
				 "%s: this process is rank %d, which is not in the list", call,
				 comm->rank);
	if (error_thread()->depth)
		return error_set(CCS_EINVAL, "%s cannot be called within a group", call);
	if (!e || !e->members)
		return error_set(
			CCS_EUNSUPPORTED,
			"%s: the ranks are not processes of MPI: use ccs_comm_group, which "
			"all ranks call",
			call);
	return CCS_OK;
}

ccs_status ccs_comm_create_group(struct ccs_comm *comm, const int *ranks, int n, int tag,
				 struct ccs_comm **out)
{
	struct branch b = { .ranks = ranks };
	ccs_status s = split_enter(comm, "ccs_comm_create_group");
	struct world *w, *child;

	if (s)
		return s;
	s = check_members(comm, ranks, n, out, &b.rank);
	if (out)
		*out = NULL;
	if (s)
		return s;
	s = comm_new_rank(out, n, b.rank);
	w = comm->world;
	child = *out ? (*out)->world : NULL;
	pthread_mutex_lock(&w->lock);
	if (child)
		inherit(child, w);
	if (!s)
		s = world_alive(w);
	s = w->engine->processes->members(w, child, &b, n, tag, s);
	pthread_mutex_unlock(&w->lock);
	if (s && child) {
		child->dead = true; /* freeing it must not wait for other ranks */
		comm_drop(out, 1);
	}
	return s;
}
